#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows each rule refusing a bad example and accepting a good one."""

import os
import tempfile
import unittest

import link_check
import rules
import tree_check

ROOTS = {'proto', 'catalogue', 'net', 'server', 'worker', 'hooks', 'client',
         'tests'}
HEAD = '// SPDX-License-Identifier: Apache-2.0\n'


def violations(path, text):
    if not text.startswith('// SPDX'):
        text = HEAD + text
    return list(rules.check_all({path: text}, ROOTS))


class BadExamples(unittest.TestCase):
    # (why, path, text)
    CASES = [
        ('upward arrow', 'server/job/a.cc', '#include "server/fleet/f.h"\n'),
        ('job sees store', 'server/job/a.h',
         '#pragma once\n#include "server/store/s.h"\n'),
        ('schedule sees store', 'server/schedule/a.cc',
         '#include "server/store/s.h"\n'),
        ('store sees control', 'server/store/a.cc',
         '#include "server/control/c.h"\n'),
        ('server sees worker', 'server/control/a.cc',
         '#include "worker/link/l.h"\n'),
        ('client sees server', 'client/a.cc', '#include "server/job/job.h"\n'),
        ('agent sees engine', 'worker/agent/a.cc',
         '#include "worker/engine/loop/l.h"\n'),
        ('engine sees link', 'worker/engine/loop/a.cc',
         '#include "worker/link/l.h"\n'),
        ('engine sees hooks', 'worker/engine/loop/a.cc',
         '#include "hooks/h.h"\n'),
        ('hooks see link', 'hooks/a.cc', '#include "worker/link/l.h"\n'),
        ('engine sees protobuf', 'worker/engine/a.cc',
         '#include <google/protobuf/message.h>\n'),
        ('engine sees generated code', 'worker/engine/a.cc',
         '#include "epochd/v1/job.pb.h"\n'),
        ('engine sees grpc', 'worker/engine/a.cc',
         '#include <grpcpp/grpcpp.h>\n'),
        ('engine sees absl', 'worker/engine/a.cc',
         '#include "absl/status/status.h"\n'),
        ('hooks see absl', 'hooks/a.cc', '#include "absl/time/time.h"\n'),
        ('trainer sees grpc', 'worker/trainer/main.cc',
         '#include <grpcpp/server.h>\n'),
        ('server sees torch', 'server/api/a.cc',
         '#include <torch/torch.h>\n'),
        ('client sees ATen', 'client/a.cc', '#include <ATen/ATen.h>\n'),
        ('agent sees c10', 'worker/agent/a.cc',
         '#include <c10/util/Half.h>\n'),
        ('link sees torch', 'worker/link/a.cc', '#include <torch/types.h>\n'),
        ('API proto in control', 'server/control/a.cc',
         '#include "epochd/v1/job.pb.h"\n'),
        ('API proto in store', 'server/store/a.cc',
         '#include "proto/epochd/v1/job.pb.h"\n'),
        ('storage proto in api', 'server/api/a.cc',
         '#include "epochd/storage/v1/record.pb.h"\n'),
        ('storage proto in events', 'server/events/a.cc',
         '#include "proto/epochd/storage/v1/record.pb.h"\n'),
        ('grpc in control', 'server/control/a.cc',
         '#include <grpcpp/grpcpp.h>\n'),
        ('clock in job', 'server/job/a.cc', 'auto t = absl::Now();\n'),
        ('clock in fleet', 'server/fleet/a.cc',
         'auto t = std::chrono::steady_clock::now();\n'),
        ('lock in schedule', 'server/schedule/a.cc', 'absl::Mutex m;\n'),
        ('unknown folder', 'server/magic/a.cc', '\n'),
        ('vague folder', 'client/utils/a.cc', '\n'),
        ('too long', 'client/a.cc', '\n' * 701),
        ('no pragma once', 'client/a.h', '\n'),
        ('using namespace', 'client/a.h',
         '#pragma once\nusing namespace std;\n'),
        ('sleep', 'tests/client/a_test.cc',
         'std::this_thread::sleep_for(std::chrono::seconds(1));\n'),
        ('absl sleep', 'tests/client/a_test.cc',
         'absl::SleepFor(absl::Seconds(1));\n'),
        ('libc sleep', 'tests/client/a_test.cc', 'usleep(1000);\n'),
        ('detached thread', 'client/a.cc', 'std::thread([] {}).detach();\n'),
    ]

    def test_each_is_refused_once(self):
        for why, path, text in self.CASES:
            with self.subTest(why):
                found = violations(path, text)
                self.assertGreaterEqual(len(found), 1)
                self.assertTrue(found[0].startswith(path + ':'), found)

    def test_missing_licence_is_refused(self):
        for path in ['client/a.cc', 'net/CMakeLists.txt', 'proto/a.proto']:
            with self.subTest(path):
                self.assertEqual(
                    list(rules.check_form({path: 'x\n'})),
                    [f'{path}:1: no SPDX-License-Identifier: Apache-2.0'])

    def test_script_without_suffix_needs_a_licence(self):
        self.assertEqual(
            len(list(rules.check_form({'scripts/x': '#!/bin/sh\n'}))), 1)

    def test_second_transport_file_of_the_agent_is_refused(self):
        api = HEAD + '#include "epochd/v1/agent.pb.h"\n'
        one = {'worker/agent/transport.cc': api,
               'worker/agent/transport.h': HEAD + '#pragma once\n' + api}
        self.assertEqual(list(rules.check_all(one, ROOTS)), [])
        two = dict(one, **{'worker/agent/agent.cc': api})
        self.assertEqual(len(list(rules.check_all(two, ROOTS))), 2)


class GoodExamples(unittest.TestCase):
    CASES = [
        ('server/api/a.cc', '#include "epochd/v1/job.grpc.pb.h"\n'
         '#include "server/control/control.h"\n'),
        ('server/store/a.cc', '#include "epochd/storage/v1/record.pb.h"\n'
         '#include "server/job/job.h"\n'),
        ('server/schedule/a.cc', '#include "server/fleet/fleet.h"\n'
         '// Never calls absl::Now().\n'),
        ('worker/engine/loop/a.cc', '#include <torch/torch.h>\n'
         '#include "worker/engine/data/batch.h"\n'),
        ('hooks/a.cc', '#include "worker/engine/hook/hook.h"\n'),
        ('client/a.cc', '#include "net/channel.h"\n#include <vector>\n'),
        ('tests/worker/process/a_test.cc', 'Run("sleep 60");\n'),
    ]

    def test_each_is_accepted(self):
        for path, text in self.CASES:
            with self.subTest(path):
                self.assertEqual(violations(path, text), [])


class Components(unittest.TestCase):
    JOB_SPEC = ('## section\n\n### Monitor\n\n## loss\n\n### L1\n\nhelp\n\n'
                'Also called `MAE`, `l1`.\n\n### Huber\n\n## hook\n\n### EMA\n')

    def test_one_that_no_test_names_is_found(self):
        files = {'tests/a_test.cc': '"MAE" EMAHook', 'hooks/a.cc': '"EMA"',
                 'tests/rules/rules_test.py': 'Huber'}
        self.assertEqual(
            list(rules.check_components(files, self.JOB_SPEC)),
            ['docs/job-spec.md:1: no test names the loss Huber',
             'docs/job-spec.md:1: no test names the hook EMA'])
        files['tests/b_test.cc'] = '"Huber", "EMA"'
        self.assertEqual(list(rules.check_components(files, self.JOB_SPEC)),
                         [])


class Links(unittest.TestCase):
    LDD = ('\tlinux-vdso.so.1 (0x1)\n'
           '\tlibgrpc++.so.1.51 => /usr/lib/libgrpc++.so.1.51 (0x2)\n'
           '\tlibc.so.6 => /lib/libc.so.6 (0x3)\n')

    def test_refused_library_is_found(self):
        libraries = link_check.loaded_libraries(self.LDD)
        self.assertEqual(len(libraries), 3)
        self.assertEqual(
            link_check.refused_libraries(libraries, ['libtorch', 'libgrpc']),
            ['libgrpc++.so.1.51'])
        self.assertEqual(
            link_check.refused_libraries(libraries, ['libtorch']), [])


class Tree(unittest.TestCase):
    def test_sources_are_read_in_folders_named_data(self):
        with tempfile.TemporaryDirectory() as root:
            for path in ('worker/engine/data/a.cc', 'build/a.cc', 'data/a.py',
                         'examples/data/a.py', 'bench/data/a.py'):
                os.makedirs(os.path.join(root, os.path.dirname(path)))
                with open(os.path.join(root, path), 'w') as file:
                    file.write(HEAD)
            self.assertEqual(sorted(tree_check.load(root)),
                             ['bench/data/a.py', 'worker/engine/data/a.cc'])


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The engine from outside: find_package, examples/embed, examples/plugin."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('EPOCHD_BUILD', ROOT / 'build/release'))
CMAKE = os.environ.get('CMAKE', 'cmake')
BIN = BUILD / 'bin'


def run(*arguments, **options):
    return subprocess.run([str(a) for a in arguments], text=True,
                          capture_output=True, timeout=600, cwd=ROOT, **options)


class LibraryTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory(prefix='epl-')
        cls.addClassCleanup(cls.temp.cleanup)
        cls.folder = pathlib.Path(cls.temp.name)

    def done(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def build(self, source, package, *more):
        folder = self.folder / source.name
        self.done(CMAKE, '-S', source, '-B', folder, '-G', 'Ninja',
                  f'-Depochd_DIR={package}', *more)
        self.done(CMAKE, '--build', folder, '-j2')
        return folder

    def test_an_installed_engine_trains_in_a_program_of_60_lines(self):
        installed = self.folder / 'installed'
        for component in ('engine', 'dev'):
            self.done(CMAKE, '--install', BUILD, '--prefix', installed,
                      '--component', component)
        source = ROOT / 'examples/embed'
        self.assertLessEqual(
            len((source / 'main.cc').read_text().splitlines()), 60)
        folder = self.build(source, installed / 'lib/cmake/epochd')
        output = self.done(folder / 'embed', source / 'experiment.json',
                           self.folder / 'output')
        self.assertEqual(len(re.findall(r'^epoch \d+', output, re.M)), 10)
        best = re.search(r'^best val/accuracy ([0-9.]+)$', output, re.M)
        self.assertGreaterEqual(float(best[1]), 0.95)

    def test_a_prefix_without_libtorch_is_named(self):
        result = run(CMAKE, '-S', ROOT / 'examples/embed', '-B',
                     self.folder / 'none', f'-Depochd_DIR={BUILD}',
                     f'-DEPOCHD_PREFIX={self.folder}/nowhere')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"no LibTorch in '{self.folder}/nowhere'",
                      ' '.join(result.stderr.split()))

    def test_a_job_trains_by_the_runner_of_a_plugin(self):
        folder = self.build(ROOT / 'examples/plugin', BUILD)
        library = folder / 'libsharpness.so'
        catalogue = self.folder / 'catalogue.json'
        catalogue.write_text(self.done(BIN / 'epochd-trainer', '--plugins',
                                       library, '--catalogue'))
        self.assertIn('SharpnessRunner', json.dumps(
            json.loads(catalogue.read_text())))

        home = self.folder / 'home'
        environment = dict(os.environ, EPOCHD_HOME=str(home))
        job = ROOT / 'examples/plugin/job.yaml'
        output = self.done(BIN / 'epochctl', 'run', '--plugins', library,
                           '--catalogue', catalogue, job, env=environment)
        best = re.search(r'best val/accuracy ([0-9.]+)', output)
        self.assertGreaterEqual(float(best[1]), 0.95)
        scores = [line for path in home.glob('runs/**/metrics.jsonl')
                  for line in path.read_text().splitlines()]
        self.assertTrue(any('train/sharpness' in line for line in scores))

        # Without the plugin the same job is refused, with the field named.
        result = run(BIN / 'epochctl', 'run', job, env=environment)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('SharpnessRunner', result.stderr)
        self.assertIn('experiment.runner', result.stderr)

    def refused(self, library):
        result = run(BIN / 'epochd-trainer', '--plugins', library,
                     '--catalogue')
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertIn(str(library), result.stderr)
        return result.stderr

    def test_what_is_no_plugin_is_refused(self):
        self.assertIn('cannot open', self.refused(self.folder / 'missing.so'))
        broken = self.folder / 'broken.so'
        broken.write_bytes(b'\x7fELF and no more')
        self.refused(broken)
        self.assertIn('no EPOCHD_PLUGIN',
                      self.refused(self.foreign('none', 'int nothing;')))
        old = self.foreign(
            'old', 'const struct { const char* v; void* a; } '
            'epochd_plugin = {"0.0.1", 0};')
        self.assertIn('built for engine 0.0.1', self.refused(old))

    def foreign(self, name, code):
        source = self.folder / f'{name}.c'
        source.write_text(code)
        library = self.folder / f'{name}.so'
        self.done('cc', '-shared', '-fPIC', source, '-o', library)
        return library


if __name__ == '__main__':
    unittest.main(verbosity=2)

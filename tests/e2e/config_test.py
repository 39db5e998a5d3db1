# SPDX-License-Identifier: Apache-2.0
"""Job files of other systems, defaults and the schema, with the real catalogue."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import cluster as e2e

try:
    import jsonschema
    import yaml
except ImportError:  # not on every machine; the C++ tests check the same
    jsonschema = None

BLOCKS = sorted((e2e.ROOT / 'tests' / 'e2e' / 'srforge').glob('*.yaml'))
EXAMPLES = sorted((e2e.ROOT / 'examples').glob('*.yaml'))


def epochctl(*arguments):
    return subprocess.run([e2e.BIN / 'epochctl', *map(str, arguments)],
                          text=True, capture_output=True, timeout=300)


class ConfigTest(unittest.TestCase):

    def test_blocks_of_srforge_and_examples_load(self):
        self.assertGreaterEqual(len(BLOCKS), 2)
        for path in BLOCKS + EXAMPLES:
            with self.subTest(path=path.name):
                result = epochctl('validate', path)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_blocks_of_srforge_train_and_keep_what_they_were(self):
        for path in BLOCKS:
            with self.subTest(path=path.name), \
                    tempfile.TemporaryDirectory() as folder:
                result = epochctl('run', path, '--folder', folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                kept = list(pathlib.Path(folder).rglob('experiment.json'))
                self.assertEqual(len(kept), 1)
                again = epochctl('validate', kept[0], '--resolved', '-o',
                                 'json')
                self.assertEqual(json.loads(again.stdout)['experiment'],
                                 json.loads(kept[0].read_text())['experiment'])

    def test_a_resolved_file_resolves_to_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in BLOCKS + EXAMPLES:
                with self.subTest(path=path.name):
                    once = epochctl('validate', path, '--resolved')
                    self.assertEqual(once.returncode, 0, once.stderr)
                    # The name is the file's where none is given.
                    again = pathlib.Path(folder) / path.name
                    again.write_text(once.stdout)
                    twice = epochctl('validate', again, '--resolved')
                    self.assertEqual(once.stdout, twice.stdout)

    def test_faults_of_defaults_and_overrides_are_found_together(self):
        with tempfile.TemporaryDirectory() as folder:
            over = pathlib.Path(folder) / 'over.yaml'
            over.write_text(
                f'defaults: [{BLOCKS[-1]}]\n'
                'experiment:\n'
                '  monitor: {metric: val/acuracy}\n'
                '  metrics: [{type: Accuracy}]\n')
            result = epochctl('validate', over, '--set', 'data.trian=null',
                              '--set', 'optimizer.params.lr=fast')
            self.assertEqual(result.returncode, 7)
            self.assertIn(f'{over}:3:13: experiment.monitor.metric: no loss, ',
                          result.stderr)
            self.assertIn("did you mean 'val/accuracy'?", result.stderr)
            self.assertIn("there is no 'trian' in experiment.data, did you "
                          "mean 'train'?", result.stderr)
            self.assertIn('--set: experiment.optimizer.params.lr: expected a '
                          'number, got "fast"', result.stderr)

    def test_output_that_cannot_be_written_is_an_error(self):
        for command in (['completion', 'bash'], ['--help'],
                        ['validate', '--resolved', EXAMPLES[0]]):
            with open('/dev/full', 'w') as full:
                result = subprocess.run([e2e.BIN / 'epochctl', *command],
                                        text=True, stdout=full,
                                        stderr=subprocess.PIPE, timeout=300)
            self.assertEqual(result.returncode, 1, command)
            self.assertIn('cannot be written', result.stderr)

    def test_a_pipe_that_nobody_writes_to_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = pathlib.Path(folder) / 'pipe'
            os.mkfifo(pipe)
            job = pathlib.Path(folder) / 'job.yaml'
            job.write_text('defaults: [pipe]\ncommand: ["true"]\n')
            for path in (pipe, job):
                result = epochctl('validate', path)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn('nobody writes', result.stderr)

    def test_the_schema_is_one_and_accepts_what_validates(self):
        result = epochctl('schema', '--offline')
        self.assertEqual(result.returncode, 0, result.stderr)
        schema = json.loads(result.stdout)
        if jsonschema is None:
            print(f'jsonschema or yaml not installed: 0 of '
                  f'{len(BLOCKS + EXAMPLES)} files checked with it')
            return
        validator = jsonschema.Draft202012Validator
        validator.check_schema(schema)
        for path in BLOCKS + EXAMPLES:
            with self.subTest(path=path.name):
                errors = validator(schema).iter_errors(
                    yaml.safe_load(path.read_text()))
                self.assertEqual([error.message for error in errors], [])
        for bad in ({'experiment': {'model': {'type': 'MPL'}}},
                    {'command': ['a'], 'priority': 101},
                    {'command': ['a'], 'nmae': 'x'}, {'name': 'x'}):
            self.assertFalse(validator(schema).is_valid(bad), bad)


if __name__ == '__main__':
    unittest.main(verbosity=2)

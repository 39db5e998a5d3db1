# SPDX-License-Identifier: Apache-2.0
"""Documents that programs print are what the programs print now."""

import subprocess
import unittest

import cluster as e2e


class DocsTest(unittest.TestCase):

    def test_job_spec_is_the_catalogue(self):
        result = subprocess.run(
            [e2e.BIN / 'epochctl', 'catalogue', '--markdown'], text=True,
            capture_output=True, check=True, timeout=120)
        self.assertEqual(
            (e2e.ROOT / 'docs' / 'job-spec.md').read_text(), result.stdout,
            'run: epochctl catalogue --markdown > docs/job-spec.md')

    def test_help_and_version_of_every_program(self):
        for name in ('epochd', 'epochd-worker', 'epochd-trainer', 'epochctl'):
            for flag in ('--help', '--version'):
                with self.subTest(program=name, flag=flag):
                    result = subprocess.run([e2e.BIN / name, flag], text=True,
                                            capture_output=True, timeout=120)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertIn('xamples' if flag == '--help' else '0.',
                                  result.stdout)


if __name__ == '__main__':
    unittest.main(verbosity=2)

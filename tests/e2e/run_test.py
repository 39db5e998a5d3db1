# SPDX-License-Identifier: Apache-2.0
"""`epochctl run`: one command trains, tells where things are, leaves nothing."""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import cluster as e2e

DIGITS = e2e.ROOT / 'examples' / 'digits.yaml'
GAN = e2e.ROOT / 'examples' / 'digits_gan.yaml'


class RunTest(unittest.TestCase):

    def setUp(self):
        self.temp = tempfile.TemporaryDirectory(prefix='epd-')
        self.home = pathlib.Path(self.temp.name)
        self.addCleanup(self.temp.cleanup)
        self.environment = dict(os.environ, EPOCHD_HOME=str(self.home))

    def run_job(self, *arguments, timeout=300):
        return subprocess.run([e2e.BIN / 'epochctl', 'run', *arguments],
                              env=self.environment, text=True,
                              capture_output=True, timeout=timeout)

    def assert_nothing_left(self):
        e2e.wait_for(lambda: not e2e.processes_below(self.home),
                     'no process left')

    def accuracy(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        last = result.stdout.strip().splitlines()[-1]
        match = re.fullmatch(r'best val/accuracy ([0-9.]+) at epoch \d+', last)
        self.assertIsNotNone(match, last)
        return float(match[1])

    def test_digits_reach_097_for_five_seeds(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                result = self.run_job(DIGITS, '--set', f'seed={seed}')
                self.assertGreaterEqual(self.accuracy(result), 0.97)
        self.assert_nothing_left()

    def test_two_ranks_reach_the_same_with_identical_weights(self):
        result = self.run_job(DIGITS, '--set', 'resources.replicas=2')
        self.assertGreaterEqual(self.accuracy(result), 0.97)
        hashes = set()
        logs = list(self.home.glob('runs/*/**/rank-*.log')) + list(
            self.home.glob('runs/*/**/rank-*/log'))
        for log in logs:
            hashes |= set(re.findall(r'weights sha256 ([0-9a-f]{64})',
                                     log.read_text()))
        self.assertEqual(len(hashes), 1, [str(log) for log in logs])
        self.assert_nothing_left()

    def test_curves_are_drawn_and_files_are_where_it_says(self):
        result = self.run_job(DIGITS, '--plot')
        self.accuracy(result)
        self.assertIn('loss', result.stdout)
        paths = [pathlib.Path(p) for p in
                 re.findall(r'(/\S+)', result.stdout) if str(self.home) in p]
        self.assertGreaterEqual(len(paths), 3, result.stdout)
        for path in paths:
            self.assertTrue(path.exists(), path)

    def test_gan_writes_a_grid_of_samples_each_few_epochs(self):
        result = self.run_job(GAN)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        grids = list(self.home.glob('runs/**/*.png'))
        self.assertGreaterEqual(len(grids), 8)
        for grid in grids:
            self.assertEqual(grid.read_bytes()[:8], b'\x89PNG\r\n\x1a\n')
        self.assert_nothing_left()

    def test_gan_on_two_replicas_is_refused_naming_the_field(self):
        result = self.run_job(GAN, '--set', 'resources.replicas=2')
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertIn('resources.replicas', result.stderr)
        self.assert_nothing_left()

    def test_misspelt_parameters_are_refused_all_at_once_with_their_lines(self):
        text = DIGITS.read_text().replace('in_features', 'in_feature')
        text = text.replace('weight_decay', 'weight_decy')
        text = text.replace('data/', str(DIGITS.parent / 'data') + '/')
        file = self.home / 'bad.yaml'
        file.write_text(text)
        result = self.run_job(file)
        self.assertEqual(result.returncode, 7, result.stderr)
        for word, right in (('in_feature:', 'in_features'),
                            ('weight_decy:', 'weight_decay')):
            line = next(i for i, t in enumerate(text.splitlines(), 1)
                        if word in t)
            self.assertRegex(result.stderr,
                             rf'bad\.yaml:{line}:\d+: .*{right}')

    def test_a_failed_job_is_told_by_the_exit_code(self):
        file = self.home / 'fail.yaml'
        file.write_text('name: fail\ncommand: [sh, -c, "exit 3"]\n')
        self.assertEqual(self.run_job(file).returncode, 100)
        self.assert_nothing_left()

    def test_what_can_never_run_here_ends_with_the_reason(self):
        file = self.home / 'big.yaml'
        file.write_text('name: big\ncommand: ["true"]\n')
        result = self.run_job(file, '--set', 'resources.memory=900GiB')
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn('with 900 GiB of memory each, the present workers could '
                      'hold 0', result.stderr)
        result = self.run_job(file, '--plugins', 'nope.so')
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn('epochd-worker ended', result.stderr)
        self.assertIn('nope.so', result.stderr)
        self.assert_nothing_left()

    def events(self):
        """Files of all runs so far; one that is over may leave its own."""
        return set(self.home.glob('runs/**/rank-0/events.jsonl'))

    def assert_saved_where_it_stopped(self, attempt):
        """Its only checkpoint is whole, and not older than what it told."""
        last = attempt / 'checkpoints' / 'last'
        self.assertEqual(len(list(last.parent.glob('epoch-*'))), 1)
        manifest = json.loads((last / 'manifest.json').read_text())
        for name, file in manifest['files'].items():
            self.assertEqual(
                hashlib.sha256((last / name).read_bytes()).hexdigest(),
                file['sha256'])
        told = (attempt / 'metrics.jsonl').read_text().splitlines()
        self.assertGreaterEqual(manifest['about']['step'],
                                json.loads(told[-1])['step'])

    def test_a_signal_ends_everything_with_a_checkpoint(self):
        file = self.home / 'long.yaml'
        file.write_text(e2e.digits(epochs=100000, every='100000 epochs')
                        .replace('keep_best: 1', 'keep_best: 0'))
        earlier = set()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                told = self.events()
                process = subprocess.Popen(
                    [e2e.BIN / 'epochctl', 'run', file], text=True,
                    env=self.environment, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)

                def trains():
                    return any('epoch_finished' in events.read_text()
                               for events in self.events() - told)

                e2e.wait_for(trains, 'the first epoch')
                process.send_signal(number)
                printed, _ = process.communicate(timeout=180)
                self.assertEqual(process.returncode, code)
                self.assert_nothing_left()
                self.assertIn('CANCELLED', printed)
                self.assertRegex(printed, r'(?m)^checkpoints +\S+/checkpoints$')
                attempts = set(self.home.glob('runs/*/storage/*/attempt-1'))
                (attempt,) = attempts - earlier
                self.assert_saved_where_it_stopped(attempt)
                earlier = attempts


if __name__ == '__main__':
    unittest.main(verbosity=2)

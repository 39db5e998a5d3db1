# SPDX-License-Identifier: Apache-2.0
"""A coordinator whose disk is full. Needs to be allowed to mount a tmpfs."""

import subprocess
import unittest
import urllib.error
import urllib.request

import cluster as e2e


def ready(cluster):
    """(status, text) of /readyz."""
    try:
        with urllib.request.urlopen(f'http://{cluster.http}/readyz') as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class FullDiskTest(unittest.TestCase):

    def test_writes_are_refused_and_taken_again_when_there_is_room(self):
        with e2e.Cluster() as cluster:
            state = cluster.folder / 'state'
            state.mkdir()
            mounted = subprocess.run(
                ['mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', state],
                capture_output=True)
            if mounted.returncode != 0:
                self.skipTest('a tmpfs cannot be mounted')
            try:
                self.fill_and_free(cluster, state)
            finally:
                for name in list(cluster.programs):
                    cluster.stop(name)
                subprocess.run(['umount', state], check=True)

    def fill_and_free(self, cluster, state):
        cluster.start()
        running = cluster.submit(cluster.write('job.yaml', e2e.digits(
            epochs=12, batch_size=4, every='100 steps')))
        cluster.wait_state(running, 'JOB_STATE_RUNNING')
        self.assertEqual(ready(cluster)[0], 200)
        ballast = state / 'ballast'
        with open(ballast, 'wb', buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 12))
            except OSError:
                pass
        # Reused space of the write-ahead log may take some more.
        refused = e2e.wait_for(
            lambda: self.refusal(cluster), 'a submit that is refused')
        self.assertIn('full', refused)
        status, text = ready(cluster)
        self.assertEqual(status, 503)
        self.assertRegex(text, 'full|room')
        self.assertIn('nothing is accepted until the store takes writes again',
                      (cluster.folder / 'epochd.log').read_text())
        ballast.unlink()
        e2e.wait_for(lambda: ready(cluster)[0] == 200, 'ready again')
        later = cluster.submit(cluster.write('later.yaml', e2e.digits(
            epochs=2)))
        for job in (running, later):
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED', 180)
            self.assertEqual(done.get('num_restarts', 0), 0)
        sequences = [int(e['sequence']) for e in cluster.events(running)]
        self.assertEqual(sequences, list(range(1, len(sequences) + 1)))

    def refusal(self, cluster):
        """What a submit was refused with; None when it was not."""
        result = cluster.epochctl(
            'submit', cluster.write('more.yaml', e2e.digits(epochs=1)),
            check=False)
        return result.stderr if result.returncode != 0 else None


if __name__ == '__main__':
    unittest.main(verbosity=2)

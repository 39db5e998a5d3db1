# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, of the coordinator and of a worker.

Needs to be allowed to mount a tmpfs.
"""

import contextlib
import json
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


def fill(folder):
    """Writes a file until there is no room left; returns it."""
    ballast = folder / 'ballast'
    with open(ballast, 'wb', buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))
    return ballast


class FullDiskTest(unittest.TestCase):

    @contextlib.contextmanager
    def small_disk(self, cluster, name, size):
        """A folder of the cluster on a disk of its own."""
        folder = cluster.folder / name
        folder.mkdir()
        mounted = subprocess.run(
            ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', folder],
            capture_output=True)
        if mounted.returncode != 0:
            self.skipTest('a tmpfs cannot be mounted')
        try:
            yield folder
        finally:
            for program in list(cluster.programs):
                cluster.stop(program)
            subprocess.run(['umount', folder], check=True)

    def test_nothing_is_started_on_a_worker_whose_disk_is_full(self):
        with e2e.Cluster() as cluster, \
                self.small_disk(cluster, 'work-w0', '64m') as work:
            cluster.start_coordinator()
            cluster.start_worker('w0', 2, '--min-free-space', '16MiB')
            self.wait_worker(cluster, 'w0', 'WORKER_STATE_READY')
            first = cluster.submit(cluster.write('job.yaml', e2e.digits(
                epochs=2)))
            cluster.wait_state(first, 'JOB_STATE_SUCCEEDED')
            ballast = fill(work)
            worker = self.wait_worker(cluster, 'w0', 'WORKER_STATE_NOT_READY')
            self.assertRegex(worker['message'],
                             f"work folder '{work}' (cannot be written: No "
                             'space left on device|has 0 MiB free)')
            self.assertIn('NOT_READY',
                          cluster.epochctl('worker', 'list').stdout)
            job = cluster.submit(cluster.write('job.yaml', e2e.digits(
                epochs=2)))
            waiting = cluster.job(job)
            self.assertEqual(waiting['state'], 'JOB_STATE_QUEUED')
            self.assertIn(f"w0 is not ready: work folder '{work}'",
                          waiting['message'])
            cluster.start_worker('w1')
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
            self.assertEqual([a['ranks'][0]['worker']
                              for a in done['attempts']], ['workers/w1'])
            ballast.unlink()
            self.wait_worker(cluster, 'w0', 'WORKER_STATE_READY')

    def test_a_start_that_a_full_disk_fails_is_made_elsewhere(self):
        with e2e.Cluster() as cluster, \
                self.small_disk(cluster, 'work-w0', '64m') as work:
            cluster.start_coordinator()
            cluster.start_worker('w0', 2, '--min-free-space', '16MiB')
            self.wait_worker(cluster, 'w0', 'WORKER_STATE_READY')
            cluster.start_worker('w1')
            self.wait_worker(cluster, 'w1', 'WORKER_STATE_READY')
            # w0 comes first. It may notice before it is given the job.
            fill(work)
            job = cluster.submit(cluster.write('job.yaml', e2e.digits(
                epochs=2)))
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
            self.assertEqual(done.get('num_restarts', 0), 0)
            *failed, last = done['attempts']
            self.assertEqual(last['ranks'][0]['worker'], 'workers/w1')
            self.assertLessEqual(len(failed), 1)
            for attempt in failed:
                self.assertEqual(attempt['reason'],
                                 'ATTEMPT_REASON_START_FAILED')
                self.assertIn('work folder', attempt['message'])

    def test_full_storage_sends_a_job_elsewhere_and_uses_up_no_restart(self):
        with e2e.Cluster() as cluster, \
                self.small_disk(cluster, 'storage-w0', '1m') as storage:
            fill(storage)
            cluster.start_coordinator()
            cluster.start_worker('w0', storage=storage)
            self.wait_worker(cluster, 'w0', 'WORKER_STATE_READY')
            cluster.start_worker('w1')
            self.wait_worker(cluster, 'w1', 'WORKER_STATE_READY')
            job = cluster.submit(cluster.write('job.yaml', e2e.digits(
                epochs=2)))
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
            self.assertEqual(done.get('num_restarts', 0), 0)
            failed, last = done['attempts']
            self.assertEqual(failed['ranks'][0]['worker'], 'workers/w0')
            self.assertEqual(failed['reason'], 'ATTEMPT_REASON_START_FAILED')
            self.assertIn(f'storage: "{storage}', failed['message'])
            self.assertEqual(last['ranks'][0]['worker'], 'workers/w1')

    def wait_worker(self, cluster, name, state):
        """The worker, once it is in that state."""

        def reached():
            result = cluster.epochctl('worker', 'get', name, '-o', 'json',
                                      check=False)
            if result.returncode != 0:
                return None
            worker = json.loads(result.stdout)
            return worker if worker['state'] == state else None

        return e2e.wait_for(reached, f'{name} in {state}')

    def test_writes_are_refused_and_taken_again_when_there_is_room(self):
        with e2e.Cluster() as cluster, \
                self.small_disk(cluster, 'state', '16m') as state:
            self.fill_and_free(cluster, state)

    def fill_and_free(self, cluster, state):
        cluster.start()
        running = cluster.submit(cluster.write('job.yaml', e2e.digits(
            epochs=12, batch_size=4, every='100 steps')))
        cluster.wait_state(running, 'JOB_STATE_RUNNING')
        self.assertEqual(ready(cluster)[0], 200)
        ballast = fill(state)
        # Reused space of the write-ahead log may take some more.
        refused = e2e.wait_for(
            lambda: self.refusal(cluster), 'a submit that is refused')
        self.assertIn('full', refused)
        status, text = ready(cluster)
        self.assertEqual(status, 503)
        self.assertRegex(text, 'full|room')
        e2e.wait_for(
            lambda: 'nothing is accepted until the store takes writes again'
            in (cluster.folder / 'epochd.log').read_text(), 'the log')
        ballast.unlink()
        e2e.wait_for(lambda: ready(cluster)[0] == 200, 'ready again')
        later = cluster.submit(cluster.write('later.yaml', e2e.digits(
            epochs=2)))
        for job in (running, later):
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
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

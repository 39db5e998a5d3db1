# SPDX-License-Identifier: Apache-2.0
"""R-26: a coordinator that goes on from an older copy of its state.

What it knows goes on; what came later is ended by the workers, not trusted.
"""

import contextlib
import shutil
import sqlite3
import unittest

import cluster as e2e


def command_job(name, folder):
    """A job that leaves its process id in folder/NAME.pid and waits."""
    return f'''
name: {name}
resources: {{replicas: 1, device: cpu, cpus: 1}}
command: [sh, -c, 'echo $$ >> {folder}/{name}.pid; exec sleep 1000']
'''


class BackupTest(unittest.TestCase):

    def test_workers_are_reconciled_with_a_restored_copy(self):
        with e2e.Cluster() as cluster:
            cluster.start()

            def start(name):
                job = cluster.submit(cluster.write(
                    f'{name}.yaml', command_job(name, cluster.folder)))
                cluster.wait_state(job, 'JOB_STATE_RUNNING')
                pid, = e2e.wait_for(
                    lambda: (cluster.folder / f'{name}.pid').exists() and
                    (cluster.folder / f'{name}.pid').read_text().split(),
                    'its process')
                return job, int(pid)

            known, known_pid = start('known')
            state = cluster.folder / 'state'
            with contextlib.closing(sqlite3.connect(
                    state / 'epochd.db')) as source, contextlib.closing(
                        sqlite3.connect(cluster.folder / 'copy.db')) as copy:
                source.backup(copy)
            later, later_pid = start('later')
            cluster.stop('epochd')
            state.rename(cluster.folder / 'lost')
            state.mkdir(mode=0o700)
            shutil.copy(cluster.folder / 'lost' / 'token', state / 'token')
            (cluster.folder / 'copy.db').rename(state / 'epochd.db')
            cluster.start_coordinator()
            e2e.wait_for(lambda: not e2e.is_alive(later_pid),
                         'the end of what is not known')
            self.assertTrue(e2e.is_alive(known_pid))
            self.assertNotEqual(
                cluster.epochctl('job', 'get', later, check=False).returncode,
                0)
            job = cluster.job(known)
            self.assertEqual(len(job['attempts']), 1)
            self.assertEqual(job['state'], 'JOB_STATE_RUNNING')
            # The place of what was ended is free for others.
            third, _ = start('third')
            for job in (known, third):
                cluster.epochctl('job', 'cancel', job)
                cluster.wait_state(job, 'JOB_STATE_CANCELLED')


if __name__ == '__main__':
    unittest.main(verbosity=2)

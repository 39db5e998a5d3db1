# SPDX-License-Identifier: Apache-2.0
"""Faults of workers and nodes, each with what a user must then see."""

import json
import os
import signal
import unittest

import cluster as e2e


def command_job(script, extra=''):
    """A command job, as text; `script` is for sh."""
    quoted = script.replace("'", "''")
    return f'''
name: command
resources: {{replicas: 1, device: cpu, cpus: 1}}
{extra}
command: [sh, -c, '{quoted}']
'''


def last_attempt(job):
    return job['attempts'][-1]


class FaultTest(unittest.TestCase):

    def test_another_work_dir_starts_nothing_beside_what_may_run(self):
        with e2e.Cluster() as cluster:
            cluster.start()
            begun = cluster.folder / 'begun'
            # Each attempt looks whether one before it is still alive.
            script = (f'for pid in $(cat {begun} 2>/dev/null); do '
                      f'[ -d /proc/$pid ] && echo overlap >> {begun}.bad; '
                      f'done; echo $$ >> {begun}; exec sleep 1000')
            job = cluster.submit(cluster.write('job.yaml', command_job(
                script, 'restart: {max: 3, worker_lost_after: 15s}')))
            cluster.wait_state(job, 'JOB_STATE_RUNNING')
            e2e.wait_for(begun.exists, 'the first attempt')
            cluster.kill('w0')
            cluster.start_worker(
                'w0', work_dir=cluster.folder / 'work-emptied')
            e2e.wait_for(lambda: len(begun.read_text().split()) == 2,
                         'the second attempt')
            self.assertFalse((cluster.folder / 'begun.bad').exists())
            self.assertEqual(cluster.job(job)['attempts'][0]['reason'],
                             'ATTEMPT_REASON_WORKER_LOST')
            cluster.epochctl('job', 'cancel', job)
            cluster.wait_state(job, 'JOB_STATE_CANCELLED')

    def test_a_stopping_worker_is_not_given_its_own_job_again(self):
        with e2e.Cluster() as cluster:
            cluster.start_coordinator()
            cluster.start_worker('w0', 2, '--stop-attempts-on-exit')
            job = cluster.submit(cluster.write('job.yaml', e2e.digits(
                epochs=30, batch_size=4, every='100 steps')))
            cluster.wait_state(job, 'JOB_STATE_RUNNING')
            e2e.wait_for(lambda: cluster.has_saved(job), 'a checkpoint')
            self.assertEqual(cluster.stop('w0'), 0)
            stopped = cluster.wait_state(job, 'JOB_STATE_QUEUED')
            self.assertEqual(len(stopped['attempts']), 1)
            self.assertEqual(last_attempt(stopped)['reason'],
                             'ATTEMPT_REASON_STOPPED_WITH_CHECKPOINT')
            self.assertEqual(stopped.get('num_restarts', 0), 0)
            cluster.start_worker('w0')
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
            self.assertEqual(len(done['attempts']), 2)

    def test_a_silent_command_hangs(self):
        with e2e.Cluster() as cluster:
            cluster.start()
            job = cluster.submit(cluster.write('job.yaml', command_job(
                'echo working; exec sleep 1000',
                'restart: {max: 1, backoff: 1s}\nlimits: {hang_after: 2s}')))
            failed = cluster.wait_state(job, 'JOB_STATE_FAILED')
            self.assertEqual([a['reason'] for a in failed['attempts']],
                             ['ATTEMPT_REASON_HANG'] * 2)
            self.assertIn('no sign of life for 2s (limits.hang_after)',
                          failed['message'])

    def test_a_stopped_trainer_hangs_and_its_job_goes_on(self):
        with e2e.Cluster() as cluster:
            cluster.start()
            job = cluster.submit(cluster.write('job.yaml', e2e.digits(
                epochs=30, batch_size=4, every='100 steps',
                extra='limits: {hang_after: 5s}')))
            cluster.wait_state(job, 'JOB_STATE_RUNNING')
            rank, = e2e.wait_for(cluster.rank_processes, 'the rank')
            os.kill(rank, signal.SIGSTOP)
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
            self.assertEqual(done['attempts'][0]['reason'],
                             'ATTEMPT_REASON_HANG')
            self.assertFalse(e2e.is_alive(rank))

    # a rank whose packets go nowhere, as a stopped one's do.
    def test_a_rank_that_its_peers_do_not_hear_restarts_all_of_them(self):
        with e2e.Cluster() as cluster:
            cluster.start()
            text = e2e.digits(replicas=2, epochs=12, batch_size=4,
                              every='100 steps')
            job = cluster.submit(cluster.write('job.yaml', text +
                                               '  ddp: {timeout: 10s}\n'))
            cluster.wait_state(job, 'JOB_STATE_RUNNING')
            e2e.wait_for(lambda: cluster.has_saved(job), 'a checkpoint')
            folder = next(cluster.folder.glob('work-w0/attempts/*/rank-1'))
            rank, = e2e.children_of(e2e.read_json(
                folder / 'keeper.json')['pid'])
            os.kill(rank, signal.SIGSTOP)
            e2e.wait_for((folder.parent / 'rank-0' / 'exit.json').exists,
                         'the end of the rank that waits for the other')
            os.kill(rank, signal.SIGCONT)
            done = cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
            lost, _ = done['attempts']
            self.assertEqual(lost['reason'], 'ATTEMPT_REASON_RANK_LOST')
            self.assertEqual(done['num_restarts'], 1)
            self.assertIn('resumed_from', json.dumps(cluster.events(job)))

    def test_the_rank_that_died_is_the_cause_and_not_who_lost_it(self):
        with e2e.Cluster() as cluster:
            cluster.start(workers=2, cpus=1)
            job = cluster.submit(cluster.write('job.yaml', e2e.digits(
                replicas=2, epochs=1000, batch_size=4, every='100 steps')))
            cluster.wait_state(job, 'JOB_STATE_RUNNING')
            keeper = e2e.wait_for(
                lambda: [e2e.read_json(path) for path in cluster.folder.glob(
                    'work-w1/attempts/*/rank-1/keeper.json')], 'the keeper')[0]
            rank, = e2e.wait_for(lambda: e2e.children_of(keeper['pid']),
                                 'rank 1')
            os.kill(rank, signal.SIGKILL)
            ended = e2e.wait_for(
                lambda: [a for a in cluster.job(job)['attempts']
                         if a['state'] == 'ATTEMPT_STATE_ENDED'],
                'the end of the attempt')[0]
            self.assertEqual(ended['reason'], 'ATTEMPT_REASON_RANK_LOST')
            self.assertIn('rank 1', ended['message'])
            self.assertIn('killed by signal 9 (SIGKILL)', ended['message'])
            cluster.epochctl('job', 'cancel', job)
            cluster.wait_state(job, 'JOB_STATE_CANCELLED')

    def test_a_node_that_cannot_load_the_trainer_is_to_blame(self):
        with e2e.Cluster() as cluster:
            cluster.start_coordinator()
            trainer = cluster.write('trainer', f'''#!/bin/sh
case "$1" in --catalogue) exec {e2e.BIN.resolve()}/epochd-trainer "$@";; esac
echo 'error while loading shared libraries: libtorch.so' >&2
exit 127
''')
            trainer.chmod(0o755)
            cluster.start_worker('w0', 2, '--trainer', trainer)
            job = cluster.submit(cluster.write(
                'job.yaml',
                e2e.digits().replace('backoff: 1s', 'backoff: 10ms')))
            failed = cluster.wait_state(job, 'JOB_STATE_FAILED')
            self.assertEqual(failed['reason'], 'JOB_REASON_NOT_RESTARTABLE')
            self.assertEqual([a['reason'] for a in failed['attempts']],
                             ['ATTEMPT_REASON_START_FAILED'] * 6)
            self.assertEqual(failed.get('num_restarts', 0), 0)
            self.assertIn('cannot load the trainer', failed['message'])
            self.assertIn('libtorch.so', failed['message'])


if __name__ == '__main__':
    unittest.main(verbosity=2)

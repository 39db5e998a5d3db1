# SPDX-License-Identifier: Apache-2.0
"""Jobs at a running coordinator: repeats, cancel, logs, outcome, restarts."""

import signal
import subprocess
import unittest
import urllib.request
import uuid

import cluster as e2e

SLEEPER = '''
name: sleeper
command: [sh, -c, "echo started; trap '' TERM; sleep 1000 & wait; wait"]
'''


class JobTest(unittest.TestCase):

    def setUp(self):
        self.cluster = e2e.Cluster()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def test_the_same_request_id_gives_one_job(self):
        self.cluster.start(workers=0)
        file = self.cluster.write('job.yaml', e2e.digits())
        request = str(uuid.uuid4())
        first = self.cluster.submit(file, '--request-id', request)
        self.cluster.kill('epochd')
        self.cluster.start_coordinator()
        self.assertEqual(self.cluster.submit(file, '--request-id', request),
                         first)
        listed = self.cluster.epochctl('job', 'list', '-o', 'name').stdout
        self.assertEqual(listed.split(), [first])
        other = self.cluster.write('other.yaml', e2e.digits(epochs=3))
        refused = self.cluster.epochctl('submit', other, '--request-id',
                                        request, check=False)
        self.assertNotEqual(refused.returncode, 0)

    def test_a_waiting_job_says_why_and_can_be_cancelled(self):
        self.cluster.start(workers=0)
        job = self.cluster.submit(
            self.cluster.write('job.yaml', e2e.digits()))
        e2e.wait_for(lambda: self.cluster.job(job).get('reason') ==
                     'JOB_REASON_NO_WORKERS', 'the reason')
        self.cluster.epochctl('job', 'cancel', job)
        self.assertEqual(self.cluster.state(job), 'JOB_STATE_CANCELLED')

    def test_cancel_leaves_no_process_also_of_those_that_ignore_sigterm(self):
        self.cluster.start()
        file = self.cluster.write('job.yaml', e2e.digits(epochs=100000))
        for wait in ('', 'JOB_STATE_STARTING', 'JOB_STATE_RUNNING'):
            with self.subTest(cancelled_at=wait):
                job = self.cluster.submit(file)
                if wait:
                    self.cluster.wait_state(
                        job, {'JOB_STATE_STARTING', 'JOB_STATE_RUNNING'}
                        if wait == 'JOB_STATE_STARTING' else wait)
                self.cluster.epochctl('job', 'cancel', job)
                self.cluster.wait_state(job, 'JOB_STATE_CANCELLED')
                self.assertEqual(self.cluster.rank_processes(), [])
                watched = self.cluster.epochctl('watch', job, check=False)
                self.assertEqual(watched.returncode, 103)
        free = self.cluster.epochctl('worker', 'list', '-o', 'json').stdout
        self.assertNotIn('held_by', free)

    def test_logs_follow_to_the_last_line_and_tell_the_outcome(self):
        self.cluster.start()
        script = 'for i in 1 2 3; do echo line $i; done; printf last; exit {}'
        for code, outcome in ((0, 0), (3, 100)):
            with self.subTest(exit=code):
                job = self.cluster.submit(self.cluster.write(
                    'job.yaml',
                    f'name: talk\ncommand: [sh, -c, "{script.format(code)}"]'
                    '\nrestart: {max: 0}\n'))
                logs = self.cluster.epochctl('logs', '-f', job, check=False)
                self.assertEqual(logs.returncode, outcome, logs.stderr)
                self.assertEqual(logs.stdout.rstrip('\n'),
                                 'line 1\nline 2\nline 3\nlast')

    def test_a_job_that_does_not_say_how_often_saves_every_epoch(self):
        self.cluster.start()
        # No epoch but the first is the best.
        text = e2e.digits(epochs=3).replace(
            'checkpoints: {every: 1 epoch, keep_last: 3, keep_best: 1}', ''
        ).replace('lr: 0.003', 'lr: 0')
        self.assertNotIn('checkpoints', text)
        job = self.cluster.submit(self.cluster.write('job.yaml', text))
        self.cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
        saved = [event['checkpoint_saved']['checkpoint']['epoch']
                 for event in self.cluster.events(job)
                 if 'checkpoint_saved' in event]
        self.assertEqual([int(epoch) for epoch in saved], [1, 2, 3])

    def test_a_gang_waits_until_all_ranks_fit(self):
        self.cluster.start(workers=2, cpus=1)
        one = self.cluster.submit(self.cluster.write(
            'one.yaml', 'name: one\ncommand: [sleep, "1000"]\n'))
        self.cluster.wait_state(one, 'JOB_STATE_RUNNING')
        gang = self.cluster.submit(self.cluster.write(
            'gang.yaml', e2e.digits(replicas=2, epochs=2)))
        # Both workers may not have registered yet.
        e2e.wait_for(lambda: self.cluster.job(gang).get('reason') ==
                     'JOB_REASON_NO_FREE_DEVICES', 'a wait for devices')
        self.cluster.epochctl('job', 'cancel', one)
        done = self.cluster.wait_state(gang, 'JOB_STATE_SUCCEEDED')
        workers = {rank['worker'] for rank in done['attempts'][0]['ranks']}
        self.assertEqual(len(workers), 2)

    def test_metrics_show_a_running_job_and_forget_a_finished_one(self):
        self.cluster.start()
        job = self.cluster.submit(self.cluster.write(
            'job.yaml', e2e.digits(epochs=100000)))
        job_id = job.split('/')[1]

        def metrics():
            url = f'http://{self.cluster.http}/metrics'
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read().decode()

        e2e.wait_for(lambda: f'epochd_train_loss{{job_id="{job_id}"'
                     in metrics(), 'the loss gauge')
        self.cluster.epochctl('job', 'cancel', job)
        self.cluster.wait_state(job, 'JOB_STATE_CANCELLED')
        e2e.wait_for(lambda: job_id not in metrics(), 'the gauges to go')

    def test_sigterm_ends_coordinator_and_worker_with_status_0(self):
        self.cluster.start()
        e2e.wait_for(lambda: 'w0' in self.cluster.epochctl(
            'worker', 'list').stdout, 'the worker')
        self.assertEqual(self.cluster.stop('w0'), 0)
        self.assertEqual(self.cluster.stop('epochd'), 0)

    def test_ctrl_c_detaches_from_watch_and_the_job_goes_on(self):
        self.cluster.start()
        job = self.cluster.submit(self.cluster.write(
            'job.yaml', e2e.digits(epochs=100000)))
        self.cluster.wait_state(job, 'JOB_STATE_RUNNING')
        watch = subprocess.Popen(self.cluster.command('watch', job),
                                 text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        watch.stderr.readline()
        watch.send_signal(signal.SIGINT)
        _, said = watch.communicate(timeout=120)
        self.assertEqual(watch.returncode, 130)
        self.assertIn('goes on', said)
        self.assertEqual(self.cluster.state(job), 'JOB_STATE_RUNNING')
        self.cluster.epochctl('job', 'cancel', job)
        self.cluster.wait_state(job, 'JOB_STATE_CANCELLED')

    def test_calls_without_the_token_are_refused(self):
        self.cluster.start(workers=0)
        token = self.cluster.write('wrong', 'f' * 64 + '\n')
        token.chmod(0o600)
        result = subprocess.run(
            [e2e.BIN / 'epochctl', '--server', self.cluster.address,
             '--token-file', token, 'job', 'list'], text=True,
            capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 4, result.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)

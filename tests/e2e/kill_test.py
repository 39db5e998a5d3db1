# SPDX-License-Identifier: Apache-2.0
"""Kill -9 of the coordinator, the agent or a rank at a random moment.

The job succeeds with the bits and the curve of an undisturbed run, a client
that watched across it saw every event once, and nothing is left running. EPOCHD_E2E_RUNS
sets the number of runs of each (10); EPOCHD_E2E_SEED the moments.
"""

import hashlib
import json
import os
import random
import subprocess
import time
import unittest

import cluster as e2e

RUNS = int(os.environ.get('EPOCHD_E2E_RUNS', '10'))
SEED = int(os.environ.get('EPOCHD_E2E_SEED', '1'))


def long_job(replicas):
    return e2e.digits(replicas=replicas, epochs=12, batch_size=4,
                      every='100 steps')


def weights_hash(cluster, job):
    model = cluster.final_checkpoint(job) / 'model.safetensors'
    return hashlib.sha256(model.read_bytes()).hexdigest()


def curve(cluster, job):
    """The metrics file of the job's last attempt, without its times."""
    seen = cluster.job(job)
    folder = cluster.folder / 'storage' / seen['name'].removeprefix('jobs/')
    lines = []
    with open(folder / f'attempt-{len(seen["attempts"])}' /
              'metrics.jsonl') as file:
        for text in file:
            line = json.loads(text)
            del line['time']
            lines.append(line)
    return lines


class Watch:
    """`epochctl watch -o json`, collecting one event a line."""

    def __init__(self, cluster, job):
        self.process = subprocess.Popen(
            cluster.command('watch', job, '-o', 'json'), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def finish(self):
        text, _ = self.process.communicate(timeout=300)
        events = [json.loads(line) for line in text.splitlines() if line]
        return self.process.returncode, [e for e in events if 'sequence' in e]


class KillTest(unittest.TestCase):
    reference = {}

    def undisturbed(self, replicas):
        """Weights, curve and duration of the same job left alone."""
        if replicas not in self.reference:
            with e2e.Cluster() as cluster:
                cluster.start()
                job = cluster.submit(
                    cluster.write('job.yaml', long_job(replicas)))
                cluster.wait_state(job, 'JOB_STATE_RUNNING')
                begin = time.monotonic()
                cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
                duration = time.monotonic() - begin
                self.reference[replicas] = (weights_hash(cluster, job),
                                            curve(cluster, job), duration)
        return self.reference[replicas]

    def check(self, what, disturb):
        for run in range(RUNS):
            replicas = 1 + run % 2
            wanted, lines, duration = self.undisturbed(replicas)
            chance = random.Random(f'{SEED} {what} {run}')
            with self.subTest(run=run, replicas=replicas), \
                    e2e.Cluster() as cluster:
                cluster.start()
                job = cluster.submit(
                    cluster.write('job.yaml', long_job(replicas)))
                watch = Watch(cluster, job)
                cluster.wait_state(job, 'JOB_STATE_RUNNING')
                moment = time.monotonic() + chance.uniform(0.05,
                                                           0.8) * duration
                e2e.wait_for(lambda: time.monotonic() >= moment, 'the moment')
                disturb(cluster, chance)
                cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
                self.assertEqual(weights_hash(cluster, job), wanted)
                self.assertEqual(curve(cluster, job), lines)
                code, events = watch.finish()
                self.assertEqual(code, 0)
                sequences = [int(e['sequence']) for e in events]
                self.assertEqual(sequences,
                                 list(range(1, len(sequences) + 1)))
                self.assertEqual(len(sequences),
                                 int(cluster.job(job)['last_sequence']))
                e2e.wait_for(lambda: not cluster.rank_processes(),
                             'no rank process left')

    def test_coordinator_killed(self):

        def disturb(cluster, chance):
            cluster.kill('epochd')
            pause = time.monotonic() + chance.uniform(0, 0.5)
            e2e.wait_for(lambda: time.monotonic() >= pause, 'the pause')
            cluster.start_coordinator()

        self.check('coordinator', disturb)

    def test_agent_killed(self):

        def disturb(cluster, chance):
            cluster.kill('w0')
            pause = time.monotonic() + chance.uniform(0, 0.5)
            e2e.wait_for(lambda: time.monotonic() >= pause, 'the pause')
            cluster.start_worker('w0')

        self.check('agent', disturb)

    def test_rank_killed(self):

        def disturb(cluster, chance):
            ranks = cluster.rank_processes()
            if ranks:  # it may have finished just now
                e2e.kill(chance.choice(ranks))

        self.check('rank', disturb)


if __name__ == '__main__':
    unittest.main(verbosity=2)

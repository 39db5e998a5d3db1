# SPDX-License-Identifier: Apache-2.0
"""R-37, R-38: one training under random kills, with nobody to help.

Kills a rank, the agent (which a supervisor starts again) or the coordinator at
random moments, as often as the mean time between failures says, and measures
the share of the time that trained what was kept (ETTR). EPOCHD_CHAOS_SECONDS
sets how long the same training takes undisturbed (20; 1800 for figures to
publish), EPOCHD_CHAOS_MTBF the mean time between kills (3; 60 then),
EPOCHD_E2E_SEED the moments.
"""

import os
import random
import time
import unittest

import cluster as e2e

SECONDS = float(os.environ.get('EPOCHD_CHAOS_SECONDS', '20'))
MTBF = float(os.environ.get('EPOCHD_CHAOS_MTBF', '3'))
SEED = int(os.environ.get('EPOCHD_E2E_SEED', '1'))
# What an attempt may end with when nothing but its processes was killed.
EXPECTED = {'ATTEMPT_REASON_RANK_LOST', 'ATTEMPT_REASON_WORKER_LOST'}


def long_job(epochs):
    return e2e.digits(epochs=epochs, batch_size=4, every='100 steps')


def seconds_of(job):
    """How long its attempts ran, of which the first begins the clock."""

    def moment(text):
        head = text.rstrip('Z').split('.')
        whole = time.mktime(time.strptime(head[0], '%Y-%m-%dT%H:%M:%S'))
        return whole + float('0.' + (head[1] if len(head) > 1 else '0'))

    return moment(job['end_time']) - moment(job['attempts'][0]['start_time'])


class ChaosTest(unittest.TestCase):

    def test_it_recovers_alone_from_every_kill(self):
        with e2e.Cluster() as cluster:
            cluster.start()
            epochs, undisturbed = self.measure(cluster)
            job = cluster.submit(cluster.write('job.yaml', long_job(
                epochs).replace('max: 20', 'max: 1000')))
            cluster.wait_state(job, 'JOB_STATE_RUNNING')
            chance = random.Random(SEED)
            kills = {'rank': 0, 'agent': 0, 'coordinator': 0}
            due = time.monotonic() + chance.expovariate(1 / MTBF)
            deadline = time.monotonic() + 6 * undisturbed + 300

            def over():
                nonlocal due
                if time.monotonic() < due:
                    return False
                due = time.monotonic() + chance.expovariate(1 / MTBF)
                if cluster.state(job) in e2e.PHASES_OVER:
                    return True
                self.kill(cluster, chance, kills)
                return False

            e2e.wait_for(over, 'the end of the training',
                         deadline - time.monotonic())
            done = cluster.job(job)
            self.assertEqual(done['state'], 'JOB_STATE_SUCCEEDED', done)
            reasons = [a['reason'] for a in done['attempts']]
            self.assertEqual(reasons[-1], 'ATTEMPT_REASON_COMPLETED')
            self.assertLessEqual(set(reasons[:-1]), EXPECTED)
            # Only a rank's death is one of the training.
            self.assertLessEqual(len(reasons) - 1, kills['rank'])
            self.assertEqual(int(done['progress']['epoch']), epochs)
            ettr = undisturbed / seconds_of(done)
            print(f'ETTR {ettr:.3f}: {undisturbed:.1f} s undisturbed, '
                  f'{seconds_of(done):.1f} s under {kills}, '
                  f'{len(reasons)} attempts')
            if MTBF >= 60:
                self.assertGreaterEqual(ettr, 0.9)

    def measure(self, cluster):
        """Epochs that take SECONDS, and the seconds that they took."""
        few = cluster.submit(cluster.write('few.yaml', long_job(4)))
        pace = seconds_of(cluster.wait_state(few, 'JOB_STATE_SUCCEEDED')) / 4
        epochs = max(4, round(SECONDS / pace))
        job = cluster.submit(cluster.write('all.yaml', long_job(epochs)))
        return epochs, seconds_of(cluster.wait_state(
            job, 'JOB_STATE_SUCCEEDED', 6 * SECONDS + 300))

    def kill(self, cluster, chance, kills):
        what = chance.choice(list(kills))
        if what == 'rank':
            ranks = cluster.rank_processes()
            if not ranks:  # it is just being started anew
                return
            e2e.kill(chance.choice(ranks))
        elif what == 'agent':
            cluster.kill('w0')
            cluster.start_worker('w0')
        else:
            cluster.kill('epochd')
            cluster.start_coordinator()
        kills[what] += 1


if __name__ == '__main__':
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""The examples as a user submits them, made short by --set.

Each runs twice, once left alone and once with its trainer killed twice: the
figures of every epoch and the weights at the end must be the same.
EPOCHD_E2E_EXAMPLES=ecg.yaml,digits.yaml runs these alone.
"""

import hashlib
import json
import os
import pathlib
import unittest

import cluster as e2e

EXAMPLES = e2e.ROOT / 'examples'

# File -> what makes it short: a few seconds, and several checkpoints to be
# killed between. {folder} is the cluster's own.
SHORT = {
    'burgers.yaml': {
        'experiment.trainer.epochs': 30,
        'experiment.trainer.val_interval': 1,
        'experiment.lr_scheduler.t_max': 30,
        'checkpoints.every': '150 steps',
    },
    'digits.yaml': {
        'experiment.data.train.batch_size': 1,
        'experiment.optimizer.lr': 0.0002,
        'experiment.trainer.epochs': 12,
        'experiment.lr_scheduler.t_max': 12,
        'checkpoints.every': '500 steps',
    },
    'ecg.yaml': {
        'experiment.data_module.folder': '{folder}/ecg',
        'experiment.data_module.patients': 12,
        'experiment.data_module.noise': 0.05,
        'experiment.data_module.seconds': 20,
        'experiment.records.records': '{folder}/ecg',
        'experiment.records.fs': 50,
        'experiment.model.width': 8,
        'experiment.data.train.batch_size': 8,
        'experiment.trainer.epochs': 5,
        'experiment.lr_scheduler.t_max': 5,
        'checkpoints.every': '5 steps',
    },
    'sr.yaml': {
        'experiment.data.train.repeat': 12,
        'experiment.data.train.patch_size': 48,
        'experiment.trainer.epochs': 4,
        'experiment.lr_scheduler.total_steps': 40,
        'checkpoints.every': '4 steps',
    },
    'sr_gan.yaml': {
        'experiment.data.train.repeat': 12,
        'experiment.data.train.patch_size': 48,
        'experiment.trainer.epochs': 4,
        # DiscriminatorWarmup: done before the trainer is killed.
        'experiment.hooks.1.batches': 2,
        'checkpoints.every': '4 steps',
    },
}
# What the best epoch of a short run must reach at least; chance is far below.
LEARNT = {
    'digits.yaml': ('val/accuracy', 0.9),
    'ecg.yaml': ('val/f1', 0.6),
    'sr.yaml': ('val/psnr', 20),
    # Half a decibel above bicubic's 32.64.
    'sr_gan.yaml': ('val/psnr', 33.14),
}
# It begins with weights that reach more than that: what must change as the
# generator learns.
MOVES = {'sr_gan.yaml': 'val/psnr'}
# What it must come down to; it begins at 0.9 or so.
SOLVED = {'burgers.yaml': ('val/relative_l2', 0.5)}
CHOSEN = os.environ.get('EPOCHD_E2E_EXAMPLES', '').split(',')
# What its final weights must reach at least on data.test, which training does
# not see.
TESTED = {'ecg.yaml': ('test/f1', 0.5)}
# Figures that are timings differ from run to run.
TIMED = ('seconds', 'per_second', 'wait')


def figures(cluster, job):
    """Metrics by epoch; an epoch that was done again counts once."""
    epochs = {}
    for event in cluster.events(job):
        finished = event.get('epoch_finished')
        if finished:
            epochs[int(finished.get('epoch', 0))] = {
                name: value for name, value in finished['metrics'].items()
                if not any(word in name for word in TIMED)}
    return epochs


def weights_hash(cluster, job):
    folder = cluster.final_checkpoint(job)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.glob('model*.safetensors'))}


class ExamplesTest(unittest.TestCase):

    def submit(self, cluster, file, short):
        sets = {'restart.max': 5, 'restart.backoff': '100ms', **short}
        text = [f'{path}={json.dumps(value)}' for path, value in sets.items()]
        return cluster.submit(EXAMPLES / file, *(
            argument for one in text for argument in
            ('--set', one.replace('{folder}', str(cluster.folder)))))

    def kill_trainer(self, cluster, job, attempt):
        """Once `attempt` has left a checkpoint and gone on from it."""
        ranks = e2e.wait_for(
            lambda: cluster.has_saved(job, attempt) and
            cluster.rank_processes(), f'a checkpoint of attempt {attempt}', 180)
        e2e.kill(ranks[0])
        e2e.wait_for(lambda: int(cluster.job(job)['attempt']) > attempt,
                     f'an attempt after {attempt}')

    def check(self, file, short):
        with e2e.Cluster() as cluster:
            cluster.start()
            alone = self.submit(cluster, file, short)
            cluster.wait_state(alone, 'JOB_STATE_SUCCEEDED', 600)
            killed = self.submit(cluster, file, short)
            for attempt in 1, 2:
                self.kill_trainer(cluster, killed, attempt)
            done = cluster.wait_state(killed, 'JOB_STATE_SUCCEEDED', 600)
            self.assertEqual(len(done['attempts']), 3)
            resumed = [event['training_began'].get('resumed_from')
                       for event in cluster.events(killed)
                       if 'training_began' in event]
            self.assertTrue(all(resumed[1:]), resumed)
            wanted = figures(cluster, alone)
            self.assertTrue(wanted)
            self.assertEqual(figures(cluster, killed), wanted)
            weights = weights_hash(cluster, alone)
            self.assertTrue(weights)
            self.assertEqual(weights_hash(cluster, killed), weights)
            if file in TESTED:
                metric, least = TESTED[file]
                tested = self.submit(cluster, file, {
                    **short, 'experiment.task': 'test',
                    'experiment.load_from':
                        str(cluster.final_checkpoint(alone)),
                })
                cluster.wait_state(tested, 'JOB_STATE_SUCCEEDED')
                values = [event['metrics']['metrics']
                          for event in cluster.events(tested)
                          if 'metrics' in event]
                self.assertGreater(values[-1][metric], least)
            if file in LEARNT:
                metric, least = LEARNT[file]
                self.assertGreater(
                    max(epoch[metric] for epoch in wanted.values()), least)
            if file in MOVES:
                values = [epoch[MOVES[file]] for epoch in wanted.values()]
                self.assertEqual(len(set(values)), len(values), values)
            if file in SOLVED:
                metric, most = SOLVED[file]
                self.assertLess(
                    min(epoch[metric] for epoch in wanted.values()), most)

    def test_killed_twice_gives_the_figures_of_an_undisturbed_run(self):
        for file, short in SHORT.items():
            if CHOSEN == [''] or file in CHOSEN:
                with self.subTest(file=file):
                    self.check(file, short)


if __name__ == '__main__':
    unittest.main(verbosity=2)

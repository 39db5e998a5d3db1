# SPDX-License-Identifier: Apache-2.0
"""The goals of the examples.

Super-resolution and Burgers' equation, which train for minutes: weights that
they gave are kept beside their data and measured by the example's own data and
metrics. The rhythms are trained whole.
"""

import json
import unittest

import cluster as e2e

EXAMPLES = e2e.ROOT / 'examples'
VALIDATE = ['experiment.task=validate', 'experiment.hooks=null']


class GoalsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.cluster = e2e.Cluster()
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.start()

    def measure(self, file, *sets):
        job = self.cluster.submit(EXAMPLES / file, *(
            argument for one in sets for argument in ('--set', one)))
        self.cluster.wait_state(job, 'JOB_STATE_SUCCEEDED')
        found = {}
        for event in self.cluster.events(job):
            found |= event.get('metrics', {}).get('metrics', {})
        return found

    def weights(self, path):
        return 'experiment.model.weights=' + json.dumps({'file': path})

    def test_super_resolution_is_half_a_decibel_above_bicubic(self):
        bicubic = self.measure('sr_bicubic.yaml')['val/psnr']
        edsr = self.measure('sr.yaml', *VALIDATE,
                            self.weights('data/sr/edsr_x2.safetensors'))
        self.assertGreater(bicubic, 32.5)
        self.assertGreater(edsr['val/psnr'], bicubic + 0.5)

    def test_burgers_equation_is_solved_within_five_percent(self):
        solved = self.measure('burgers.yaml', *VALIDATE,
                              self.weights('data/burgers/pinn.safetensors'))
        self.assertLess(solved['val/relative_l2'], 0.05)

    def test_rhythms_are_named_on_patients_not_seen(self):
        folder = json.dumps(str(self.cluster.folder / 'ecg'))
        records = ['--set', 'experiment.data_module.folder=' + folder,
                   '--set', 'experiment.records.records=' + folder]
        job = self.cluster.submit(EXAMPLES / 'ecg.yaml', *records)
        self.cluster.wait_state(job, 'JOB_STATE_SUCCEEDED', 900)
        tested = self.measure(
            'ecg.yaml', *records[1::2], 'experiment.task=test',
            f'experiment.load_from=job/{job.removeprefix("jobs/")}/best')
        self.assertGreater(tested['test/f1'], 0.9)


if __name__ == '__main__':
    unittest.main(verbosity=2)

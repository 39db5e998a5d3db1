# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus with the shipped configuration scrapes a live run; every
expression of the dashboard returns series."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import cluster as e2e

CONFIG = e2e.ROOT / 'deploy' / 'prometheus'
CHECK = e2e.ROOT / 'deploy' / 'grafana' / 'check_dashboard.py'


@unittest.skipUnless(shutil.which('prometheus'), 'prometheus is not installed')
class PrometheusTest(unittest.TestCase):

    def test_every_dashboard_expression_returns_series_of_a_live_run(self):
        with e2e.Cluster() as cluster:
            cluster.start()
            # Finished, restarted and running jobs, so that each panel has some.
            killed = cluster.submit(cluster.write(
                'killed.yaml', e2e.digits(epochs=100000)))
            cluster.wait_state(killed, 'JOB_STATE_RUNNING')
            for rank in e2e.wait_for(cluster.rank_processes, 'a rank'):
                os.kill(rank, 9)
            text = (CONFIG / 'prometheus.yml').read_text()
            text = text.replace('127.0.0.1:7951', cluster.http)
            text = text.replace('alerts.yml', str(CONFIG / 'alerts.yml'))
            text = re.sub(r'scrape_interval: \S+', 'scrape_interval: 1s', text)
            text = re.sub(r'scrape_timeout: \S+', 'scrape_timeout: 1s', text)
            config = cluster.write('prometheus.yml', text)
            prometheus = cluster.spawn('prometheus', [
                'prometheus', f'--config.file={config}',
                f'--storage.tsdb.path={cluster.folder / "tsdb"}',
                '--web.listen-address=127.0.0.1:0', '--log.level=info'])

            def address():
                log = (cluster.folder / 'prometheus.log').read_text()
                found = re.search(r'address=(127\.0\.0\.1:[1-9]\d*)', log)
                return found and found[1]

            where = e2e.wait_for(address, 'the address of prometheus')
            query = f'http://{where}/api/v1/query?query=epochd_jobs'

            def scraped():
                with contextlib.suppress(urllib.error.URLError):  # not ready
                    with urllib.request.urlopen(query, timeout=10) as answer:
                        return json.load(answer)['data']['result']
                return None

            e2e.wait_for(scraped, 'the first scrape')
            # An increase needs something to begin from.
            cluster.submit(cluster.write('short.yaml', e2e.digits(epochs=3)))
            checked = subprocess.run(
                [sys.executable, CHECK, f'http://{where}', '--wait', '90'],
                text=True, capture_output=True, timeout=150)
            self.assertIsNone(prometheus.poll())
            self.assertEqual(checked.returncode, 0,
                             checked.stdout + checked.stderr)
            cluster.epochctl('job', 'cancel', killed)
            cluster.wait_state(killed, 'JOB_STATE_CANCELLED')


if __name__ == '__main__':
    unittest.main(verbosity=2)

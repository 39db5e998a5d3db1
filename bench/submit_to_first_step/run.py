#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From submit to the first optimizer step, beside torchrun.

    bench/submit_to_first_step/run.py --bin build/release/bin \\
        --python VENV/bin/python

Starts a coordinator and a worker on loopback, waits until the worker is idle
with a warm trainer, and submits one and the same job again and again; each is
cancelled after its first step. --python: an interpreter that has torch; then
python_peer.py, the same model in plain Python, is started by torchrun and by
itself in between. Prints a Markdown table of milliseconds.

Measured, all by the wall clock of one machine:
  command  from the start of the process `epochctl submit` to the step
  submit   from when the coordinator had stored the job to the step
  torchrun, python: from the start of the process to the step
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from datetime import datetime

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def seconds(timestamp):
    """Of a protobuf timestamp in JSON, since 1970; any number of digits."""
    whole, _, fraction = timestamp.removesuffix('Z').partition('.')
    since = datetime.fromisoformat(whole + '+00:00').timestamp()
    return since + float(f'0.{fraction or 0}')


def lines_of(folder):
    """The complete lines of a rank's events.jsonl by type, the first each."""
    try:
        text = (folder / 'events.jsonl').read_text()
    except FileNotFoundError:
        return {}
    lines = {}
    for line in text.splitlines(keepends=True):
        if line.endswith('\n'):
            event = json.loads(line)
            lines.setdefault(event['type'], event)
    return lines


class Submits:
    """Submits the job to a cluster of tests/e2e, once a call."""

    def __init__(self, e2e, cluster):
        self.e2e, self.cluster = e2e, cluster
        self.file = cluster.write('job.yaml', e2e.digits(epochs=1000000))
        self.rows = []

    def once(self):
        began = time.time()
        name = self.cluster.submit(self.file)
        number = name.rpartition('/')[2]

        def stepped():
            for folder in self.cluster.rank_folders():
                if folder.parent.name.startswith(number):
                    lines = lines_of(folder)
                    if 'first_step' in lines:
                        return lines
            return None

        lines = self.e2e.wait_for(stepped, f'the first step of {name}')
        step = lines['first_step']['time']
        events = self.cluster.events(name)
        stored = seconds(events[0]['time'])
        row = {'warm': lines['started'].get('warm', False),
               'command': step - began, 'submit': step - stored,
               'to_rank': lines['started']['time'] - stored,
               'to_training': lines['training_began']['time'] - stored}
        self.cluster.epochctl('job', 'cancel', name)
        self.cluster.wait_state(name, 'JOB_STATE_CANCELLED')
        return row

    def wait_until_warm(self):
        """The first ranks may start cold while the parent loads LibTorch."""
        for _ in range(20):
            if self.once()['warm']:
                return
        raise AssertionError('no warm start in 20 jobs')


class Peer:
    """Starts python_peer.py, by torchrun or by itself."""

    def __init__(self, python, by_torchrun):
        self.command = [python]
        if by_torchrun:
            self.command += ['-m', 'torch.distributed.run', '--standalone',
                             '--nproc-per-node', '1']
        self.command += [HERE / 'python_peer.py',
                         ROOT / 'examples/data/digits.csv.gz']

    def once(self):
        environment = dict(os.environ, OMP_NUM_THREADS='1',
                           PYTHONDONTWRITEBYTECODE='1')
        began = time.time()
        result = subprocess.run(self.command, env=environment, text=True,
                                capture_output=True, timeout=300, check=True)
        for line in result.stdout.splitlines():
            if line.startswith('FIRST_STEP '):
                return float(line.split()[1]) - began
        raise AssertionError(f'no FIRST_STEP in: {result.stdout}')


def row(name, values):
    ordered = sorted(values)
    # The least value that 95 % of all do not exceed.
    p95 = ordered[-(-95 * len(ordered) // 100) - 1]
    return (f'| {name} | {len(values)} | '
            f'{statistics.median(values) * 1e3:.0f} | {p95 * 1e3:.0f} | '
            f'{ordered[0] * 1e3:.0f} |')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path,
                        default=ROOT / 'build/release/bin',
                        help='folder of the programs')
    parser.add_argument('--python', help='interpreter that has torch')
    parser.add_argument('-n', type=int, default=20, help='submits')
    parser.add_argument('--peer-runs', type=int, default=5)
    options = parser.parse_args()
    os.environ['EPOCHD_BIN'] = str(options.bin.resolve())
    sys.path.insert(0, str(ROOT / 'tests/e2e'))
    import cluster as e2e

    peers = {}
    if options.python:
        peers = {'`torchrun`, one process': (Peer(options.python, True), []),
                 '`python`': (Peer(options.python, False), [])}
    rows = []
    with e2e.Cluster() as cluster:
        cluster.start(workers=1, cpus=1)
        submits = Submits(e2e, cluster)
        submits.wait_until_warm()
        for peer, _ in peers.values():
            peer.once()  # files into the cache
        for number in range(options.n):
            rows.append(submits.once())
            # Spread over the run.
            due = (number + 1) * options.peer_runs // options.n
            for peer, times in peers.values():
                while len(times) < due:
                    times.append(peer.once())

    print('| from ... to the first step | runs | median, ms | p95 | least |')
    print('| --- | ---: | ---: | ---: | ---: |')
    print(row('**epochd**, job stored',
              [each['submit'] for each in rows]))
    print(row('**epochd**, start of `epochctl submit`',
              [each['command'] for each in rows]))
    for name, (_, times) in peers.items():
        print(row(f'{name}, start of the process', times))
    print()
    print('Of the first: stored to the rank\'s first line '
          f'{statistics.median(r["to_rank"] for r in rows) * 1e3:.0f} ms, to '
          'the built experiment '
          f'{statistics.median(r["to_training"] for r in rows) * 1e3:.0f} ms '
          f'(medians). Warm starts: {sum(r["warm"] for r in rows)} of '
          f'{len(rows)}.')


if __name__ == '__main__':
    main()

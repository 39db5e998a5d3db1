#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time of a physics-informed step, ours and Python PyTorch's, in turns.

    bench/pinn/run.py --python VENV/bin/python

Each round runs both once, on one thread; medians are over rounds. Prints a
Markdown table.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(command, steps):
    environment = dict(os.environ, OMP_NUM_THREADS='1',
                       PYTHONDONTWRITEBYTECODE='1')
    result = subprocess.run([*command, str(steps)], env=environment, text=True,
                            capture_output=True, timeout=600, check=True)
    line = next(line for line in result.stdout.splitlines()
                if line.startswith('RESULT '))
    return json.loads(line[len('RESULT '):])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path,
                        default=ROOT / 'build/release/bench',
                        help='folder of pinn_bench')
    parser.add_argument('--python', required=True,
                        help='interpreter that has torch')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--steps', type=int, default=1000)
    options = parser.parse_args()
    loops = {'**epochd**': [options.bin / 'pinn_bench'],
             'Python PyTorch by hand': [options.python, HERE / 'raw_pinn.py']}
    rows = {name: [] for name in loops}
    for _ in range(options.rounds):
        for name, command in loops.items():
            rows[name].append(run(command, options.steps))
    medians = {name: [statistics.median(r[key] for r in results)
                      for key in ('us', 'cpu_us')]
               for name, results in rows.items()}
    base = medians['Python PyTorch by hand']
    print('| loop | us/step | CPU us/step | time / Python | CPU / Python |')
    print('| --- | ---: | ---: | ---: | ---: |')
    for name, (micros, cpu) in medians.items():
        print(f'| {name} | {micros:.0f} | {cpu:.0f} | {micros / base[0]:.2f} | '
              f'{cpu / base[1]:.2f} |')


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PNG images and crops of them per second beside Pillow and PyTorch's
DataLoader, in one run.

    bench/data/run.py --python VENV/bin/python

--python: an interpreter that has torch, numpy and Pillow. Each round runs
every row once; medians are over rounds, and ratios are of each round's own.
Prints a Markdown table.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# name, reference, who, mode, arguments after the folder, side and seconds
ROWS = [
    ('Pillow, one thread, whole images', None, 'peer', 'whole', []),
    ('**epochd**, one thread, whole images',
     'Pillow, one thread, whole images', 'ours', 'whole', []),
    ('Pillow, one thread, crops', None, 'peer', 'decode', []),
    ('**epochd**, one thread, crops', 'Pillow, one thread, crops', 'ours',
     'decode', []),
    ('DataLoader with Pillow, 4 workers', None, 'peer', 'loader', ['4']),
    ('**epochd**, 4 threads, no cache', 'DataLoader with Pillow, 4 workers',
     'ours', 'loader', ['4']),
    ('**epochd**, 4 threads, its cache', 'DataLoader with Pillow, 4 workers',
     'ours', 'cache', ['4']),
]


def run(options, who, mode, more):
    side = options.side
    if mode == 'whole':
        mode, side = 'decode', 0
    command = ([options.python, HERE / 'pillow_peer.py'] if who == 'peer'
               else [options.bin / 'image_bench'])
    command += [mode, options.folder, str(side), str(options.seconds), *more]
    result = subprocess.run(command, text=True, capture_output=True,
                            env=dict(os.environ, OMP_NUM_THREADS='1'),
                            timeout=580, check=True)
    line = [line for line in result.stdout.splitlines()
            if line.startswith('RESULT ')][-1]
    return json.loads(line[len('RESULT '):])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path,
                        default=ROOT / 'build/release/bench',
                        help='folder of image_bench')
    parser.add_argument('--python', required=True)
    parser.add_argument('--folder', default=ROOT / 'examples/data/sr')
    parser.add_argument('--side', type=int, default=128)
    parser.add_argument('--seconds', type=float, default=4)
    parser.add_argument('--rounds', type=int, default=3)
    options = parser.parse_args()

    results = {row[0]: [] for row in ROWS}
    for number in range(options.rounds):
        for name, _, who, mode, more in ROWS:
            results[name].append(run(options, who, mode, more))
        print(f'round {number + 1} of {options.rounds}', file=sys.stderr)

    print('| | images or crops/s, median | CPU ms each | '
          'per second by reference | per CPU second by reference |')
    print('| --- | ---: | ---: | ---: | ---: |')
    for name, reference, *_ in ROWS:
        rows = results[name]
        cells = [f'{statistics.median(r["crops_per_s"] for r in rows):,.0f}']
        # CPU time of DataLoader's workers is known only once they ended.
        ms = 1e3 * statistics.median(r['cpu_s_per_crop'] for r in rows)
        cells.append('-' if 'DataLoader' in name else f'{ms:.2f}')
        if reference:
            pairs = list(zip(rows, results[reference]))
            cells.append('{:.2f}'.format(statistics.median(
                a['crops_per_s'] / b['crops_per_s'] for a, b in pairs)))
            cells.append('{:.2f}'.format(statistics.median(
                b['cpu_s_per_crop'] / a['cpu_s_per_crop'] for a, b in pairs))
                if 'DataLoader' not in reference else '-')
        else:
            cells += ['1', '1' if 'DataLoader' not in name else '-']
        print(f'| {name} | ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main()

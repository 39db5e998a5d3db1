#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps per second of our loop beside other loops, in one run.

    bench/loop/run.py --python VENV/bin/python
    bench/loop/run.py --python VENV/bin/python --peers FOLDER

--python: an interpreter that has torch, for raw_loop.py and the peers. --peers
(or EPOCHD_PEERS): a folder with scripts b_*.py of other frameworks that take
`A|B list|dl ...` and print a line `RESULT {"us": ..., "checksum": ...}` for the
same training (A: the MLP, B: the CNN). Each round runs every loop once; medians
are over rounds. --only: kinds of batches, such as `ready` or `CNN`. Prints a
Markdown table.
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

# name, batches, arguments of loop_bench
OURS = [
    ('LibTorch by hand', 'ready', ['raw', 'ready']),
    ('LibTorch by hand, fused SGD', 'ready', ['fused', 'ready']),
    ('**epochd**', 'ready', ['epochd', 'ready']),
    ('**epochd**, hooks of every job', 'ready', ['shipped', 'ready']),
    ('LibTorch by hand', 'loader', ['raw', 'loader']),
    ('LibTorch by hand, fused SGD', 'loader', ['fused', 'loader']),
    ('**epochd**', 'loader', ['epochd', 'loader']),
    ('**epochd**, hooks of every job', 'loader', ['shipped', 'loader']),
    ('**epochd**, one loader thread', 'loader', ['epochd', 'thread']),
    ('LibTorch by hand', 'CNN', ['raw', 'ready', 'cnn']),
    ('LibTorch by hand, fused SGD', 'CNN', ['fused', 'ready', 'cnn']),
    ('**epochd**', 'CNN', ['epochd', 'ready', 'cnn']),
    ('**epochd**, hooks of every job', 'CNN', ['shipped', 'ready', 'cnn']),
]
# name, batches, script, arguments
PEERS = [
    ('torch_ecg, no loggers', 'ready', 'b_ecg.py', ['A', 'list', 'off']),
    ('torch_ecg, default loggers', 'ready', 'b_ecg.py', ['A', 'list', 'on']),
    ('torch_ecg, no loggers', 'loader', 'b_ecg.py', ['A', 'dl', 'off']),
    ('Ignite', 'ready', 'b_ignite.py', ['A', 'list']),
    ('Ignite', 'loader', 'b_ignite.py', ['A', 'dl']),
    ('MMEngine, no hooks', 'ready', 'b_mmengine.py', ['A', 'list', 'off']),
    ('MMEngine, default hooks', 'ready', 'b_mmengine.py', ['A', 'list', 'on']),
    ('MMEngine, no hooks', 'loader', 'b_mmengine.py', ['A', 'dl', 'off']),
    ('SR-Forge, no checks', 'ready', 'b_srforge.py', ['A', 'list', 'noanom']),
    ('SR-Forge, as shipped', 'ready', 'b_srforge.py',
     ['A', 'list', 'default']),
    ('SR-Forge, no checks', 'loader', 'b_srforge.py', ['A', 'dl', 'noanom']),
    ('Accelerate', 'ready', 'b_accelerate.py', ['A', 'list']),
    ('Accelerate', 'loader', 'b_accelerate.py', ['A', 'dl']),
    ('Lightning, all off', 'ready', 'b_lightning.py', ['A', 'list', 'off']),
    ('Lightning, defaults', 'ready', 'b_lightning.py', ['A', 'list', 'on']),
    ('Lightning, all off', 'loader', 'b_lightning.py', ['A', 'dl', 'off']),
    ('Python PyTorch by hand', 'CNN', 'b_raw.py', ['B', 'list']),
    ('torch_ecg, no loggers', 'CNN', 'b_ecg.py', ['B', 'list', 'off']),
    ('MMEngine, no hooks', 'CNN', 'b_mmengine.py', ['B', 'list', 'off']),
    ('SR-Forge, no checks', 'CNN', 'b_srforge.py', ['B', 'list', 'noanom']),
]


def loops(options):
    """(name, batches, command, folder to run in) of everything that can run."""
    found = [(name, batches, [options.bin / 'loop_bench', *arguments], HERE)
             for name, batches, arguments in OURS]
    if options.python:
        for batches in 'ready', 'loader':
            found.append(('Python PyTorch by hand', batches,
                          [options.python, HERE / 'raw_loop.py', batches],
                          HERE))
    if options.python and options.peers:
        for name, batches, script, arguments in PEERS:
            if (options.peers / script).exists():
                found.append((name, batches,
                              [options.python, script, *arguments],
                              options.peers))
    return [each for each in found
            if not options.only or each[1] in options.only]


def run(command, folder, steps):
    # The CNN's step is some hundred times as long.
    if steps and not {'cnn', 'B'} & set(command):
        command = [*command, str(steps)]
    environment = dict(os.environ, OMP_NUM_THREADS='1',
                       PYTHONWARNINGS='ignore', PYTHONDONTWRITEBYTECODE='1')
    result = subprocess.run(command, cwd=folder, env=environment, text=True,
                            capture_output=True, timeout=580)
    for line in result.stdout.splitlines():
        if line.startswith('RESULT '):
            return json.loads(line[len('RESULT '):])
    tail = (result.stderr.strip().splitlines() or ['no output'])[-1]
    print(f'{" ".join(map(str, command))}: {tail[:200]}', file=sys.stderr)
    return None


def weights_word(rows, sums):
    """Whose weights these are, to the bit as far as the checksum tells."""
    mine = {row['checksum'] for row in rows}
    if len(mine) > 1:
        return 'not the same in each round'
    mine = mine.pop()
    for who, theirs in sums.items():
        # Peers print 10 digits behind the point, or all.
        if abs(mine - theirs) <= 1e-10:
            return who
    first = next(iter(sums.values()), None)
    if first is None:
        return ''
    return f'{abs(mine - first) / abs(first):.0e} apart'


def table(results):
    """Markdown; times are divided by those of LibTorch by hand."""
    reference = 'LibTorch by hand'
    base = {batches: statistics.median(r['us'] for r in rows)
            for (name, batches), rows in results.items() if name == reference}
    sums = {}
    for key, who in ((reference, 'as by hand'),
                     (f'{reference}, fused SGD', 'as by hand, fused')):
        for batches in 'ready', 'CNN':
            if (key, batches) in results:
                kind = sums.setdefault(batches == 'CNN', {})
                kind[who] = results[key, batches][0]['checksum']
    yield ('| loop | batches | us/step, median | least | steps/s | time / by '
           'hand | MiB | weights |')
    yield '| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |'
    for (name, batches), rows in results.items():
        micros = [row['us'] for row in rows]
        median = statistics.median(micros)
        memory = statistics.median(row['VmRSS'] for row in rows)
        yield (f'| {name} | {batches} | {median:.0f} | {min(micros):.0f} | '
               f'{1e6 / median:,.0f} | {median / base[batches]:.2f} | '
               f'{memory:.0f} | '
               f'{weights_word(rows, sums.get(batches == "CNN", {}))} |')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path,
                        default=ROOT / 'build/release/bench',
                        help='folder of loop_bench')
    parser.add_argument('--python', help='interpreter that has torch')
    peers = os.environ.get('EPOCHD_PEERS')
    parser.add_argument('--peers', type=pathlib.Path,
                        default=pathlib.Path(peers) if peers else None)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--steps', type=int, default=0,
                        help='steps measured; 4000 by default')
    parser.add_argument('--only', nargs='*', help='ready, loader, CNN')
    options = parser.parse_args()

    results = {}
    for number in range(options.rounds):
        for name, batches, command, folder in loops(options):
            result = run(command, folder, options.steps)
            if result is not None:
                results.setdefault((name, batches), []).append(result)
        print(f'round {number + 1} of {options.rounds}', file=sys.stderr)
    order = {'ready': 0, 'loader': 1, 'CNN': 2}
    results = dict(sorted(results.items(), key=lambda r: order[r[0][1]]))
    for line in table(results):
        print(line)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains against a real MLflow tracking server and compares what arrived.

Part of ctest where CMake finds a program `mlflow`, or is told of one by
-DEPOCHD_MLFLOW=VENV/bin/mlflow; mlflow 3.1.4 with SQLAlchemy 2.0 was used (2.1
is too new for it). By hand, from the project's root:

    python tests/e2e/mlflow_check.py --mlflow VENV/bin/mlflow \
        --trainer build/release/bin/epochd-trainer

First a run with the server there: each value of metrics.jsonl must be on the
server at its step, and the run finished. Then a run whose server is killed in
its middle: it must end well, within the time it is given, and say what is
missing. Then a restart from a checkpoint, which must go on with its run.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from cluster import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    """An MLflow server with a database in `folder`."""

    def __init__(self, program, folder, port):
        self.uri = f'http://127.0.0.1:{port}'
        self.process = subprocess.Popen(
            [program, 'server', '--host', '127.0.0.1', '--port', str(port),
             '--backend-store-uri', f'sqlite:///{folder}/mlflow.db',
             '--artifacts-destination', f'{folder}/artifacts',
             '--workers', '1'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        wait_for(self.answers, 'an MLflow server', 180)

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f'{self.process.args[0]} server: ended with '
                                 f'{self.process.returncode}')
        try:
            urllib.request.urlopen(self.uri + '/health', timeout=2).read()
        except OSError:
            return False
        return True

    def stop(self):
        os.killpg(self.process.pid, 9)
        self.process.wait()

    def call(self, path, body=None):
        request = urllib.request.Request(
            self.uri + '/api/2.0/mlflow/' + path,
            data=json.dumps(body).encode() if body is not None else None,
            headers={'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def runs(self, experiment):
        found = self.call('experiments/get-by-name?experiment_name=' +
                          experiment)['experiment']
        return self.call('runs/search', {
            'experiment_ids': [found['experiment_id']],
            'order_by': ['attributes.start_time ASC']}).get('runs', [])

    def history(self, run, key):
        values = self.call(f'metrics/get-history?run_id={run}&metric_key={key}'
                           '&max_results=10000')
        return {int(each['step']): each['value']
                for each in values.get('metrics', [])}


def experiment(uri, epochs):
    digits = str(ROOT / 'examples' / 'data' / 'digits.csv.gz')
    scale = [{'type': 'Normalize', 'mean': 4.88, 'std': 6.02}]
    return {
        'seed': 3,
        'model': {'type': 'MLP', 'in_features': 64, 'hidden': [16],
                  'out_features': 10},
        'data': {
            'train': {'type': 'Digits', 'file': digits, 'split': 'train',
                      'batch_size': 128, 'shuffle': True, 'transforms': scale},
            'val': {'type': 'Digits', 'file': digits, 'split': 'val',
                    'batch_size': 256, 'transforms': scale}},
        'loss': {'type': 'CrossEntropy'},
        'metrics': [{'type': 'Accuracy'}],
        'optimizer': {'type': 'AdamW', 'lr': 0.003},
        'trainer': {'type': 'EpochTrainer', 'epochs': epochs},
        'hooks': [{'type': 'GradientClip', 'max_norm': 1.0},
                  {'type': 'StepTimer'},
                  {'type': 'MetricLogger', 'every_steps': 4, 'mlflow': uri,
                   'mlflow_experiment': 'check', 'mlflow_run': 'first'}],
    }


class Attempt:
    """A rank of its own, without a worker."""

    def __init__(self, trainer, folder, number, job, resume=()):
        self.folder = folder / f'attempt-{number}'
        self.output = folder / 'storage' / 'check' / f'attempt-{number}'
        (self.folder / 'rank-0').mkdir(parents=True)
        spec = {'job': 'check', 'attempt': number, 'world_size': 1,
                'experiment': json.dumps(job), 'storage': str(folder / 'storage'),
                'checkpoints': {'every': {'epochs': 1}, 'keep_last': 3,
                                'keep_best': 1},
                'resume': list(resume),
                'ranks': [{'rank': 0, 'local_rank': 0, 'devices': ['cpu:0']}]}
        (self.folder / 'attempt.json').write_text(json.dumps(spec))
        self.process = subprocess.Popen(
            [trainer, '--attempt-dir', str(self.folder), '--rank', '0'])

    def lines(self, kind):
        path = self.folder / 'rank-0' / 'events.jsonl'
        if not path.exists():
            return []
        found = []
        for line in path.read_text().splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue  # still being written
            if value.get('type') == kind:
                found.append(value)
        return found

    def wait_for(self, kind, count):
        wait_for(lambda: len(self.lines(kind)) >= count or
                 self.process.poll() is not None, f'{count} lines of {kind}',
                 120)
        assert self.process.poll() is None, 'the trainer ended'

    def metrics(self):
        return [json.loads(line) for line in
                (self.output / 'metrics.jsonl').read_text().splitlines()]


def compare(server, run, lines):
    """Each value of each line is on the server at its step."""
    count = 0
    for key in {key for line in lines for key in line}:
        if key in ('time', 'epoch', 'step'):
            continue
        history = server.history(run, key)
        for line in lines:
            if key not in line or 'val/loss' not in line:
                continue
            assert line['step'] in history, (key, line['step'], history)
            sent, kept = line[key], history[line['step']]
            assert math.isclose(sent, kept, rel_tol=1e-12), (key, sent, kept)
            count += 1
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--mlflow', required=True)
    parser.add_argument('--trainer', required=True)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix='epd-mlflow-'))
    port = free_port()
    server = Server(options.mlflow, folder, port)
    try:
        first = Attempt(options.trainer, folder, 1, experiment(server.uri, 5))
        assert first.process.wait(timeout=180) == 0
        assert not first.lines('notice'), first.lines('notice')
        run, = server.runs('check')
        assert run['info']['status'] == 'FINISHED', run['info']
        assert run['info']['run_name'] == 'first'
        same = compare(server, run['info']['run_id'], first.metrics())
        print(f'run finished; {same} values of {len(first.metrics())} lines '
              'are on the server')

        # A restart goes on with the run.
        again = Attempt(options.trainer, folder, 2, experiment(server.uri, 8),
                        resume=[first.lines('checkpoint_saved')[-1]['path']])
        assert again.process.wait(timeout=180) == 0
        assert len(server.runs('check')) == 1
        history = server.history(run['info']['run_id'], 'val/accuracy')
        assert sorted(history) == [12 * n for n in range(1, 9)], history
        print('a restart went on with its run')

        # The server dies in the middle.
        third = Attempt(options.trainer, folder, 3,
                        experiment(server.uri, 300))
        third.wait_for('epoch_finished', 20)
        server.stop()
        began = time.monotonic()
        assert third.process.wait(timeout=300) == 0
        told = [line['text'] for line in third.lines('notice')]
        assert any('values were not delivered' in text for text in told), told
        assert third.lines('training_ended')[0]['outcome'] == 'completed'
        assert len([line for line in third.metrics()
                    if 'val/loss' in line]) == 300
        print(f'the server died: the run ended well '
              f'{time.monotonic() - began:.1f} s later; it said: {told[-1]}')
    finally:
        if server.process.poll() is None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print('mlflow_check: all is well')


if __name__ == '__main__':
    sys.exit(main())

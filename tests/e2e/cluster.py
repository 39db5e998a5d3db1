# SPDX-License-Identifier: Apache-2.0
"""A coordinator, workers and a client as real processes on loopback.

Everything lives in one temporary folder, listens on port 0 and is ended by
process id. EPOCHD_BIN names the folder of the programs.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ.get('EPOCHD_BIN', 'build/release/bin'))
ROOT = pathlib.Path(__file__).resolve().parents[2]
PHASES_OVER = {'JOB_STATE_SUCCEEDED', 'JOB_STATE_FAILED',
               'JOB_STATE_CANCELLED'}


def wait_for(condition, what, seconds=120):
    """Returns the first true value of condition(); fails after a deadline."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f'{what}: not within {seconds} s')
        pause.wait(0.02)


def read_json(path):
    """The JSON in a file that appears at once, or None."""
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        return json.loads(pathlib.Path(path).read_text())
    return None


def children_of(pid):
    """Ids of the direct children of a process."""
    children = []
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            if int(text.rsplit(')', 1)[1].split()[1]) == pid:
                children.append(int(text.split()[0]))
    return children


def kill(pid):
    """Kills a process that may have ended just now."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def is_alive(pid):
    with contextlib.suppress(OSError):
        state = pathlib.Path(f'/proc/{pid}/stat').read_text()
        return state.rsplit(')', 1)[1].split()[0] not in 'ZX'
    return False


def processes_below(folder):
    """Processes that have `folder` as working folder, argument or open file."""
    found = []
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        if int(process.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            places = [os.readlink(process / 'cwd'),
                      (process / 'cmdline').read_text()]
            places += [os.readlink(f) for f in (process / 'fd').iterdir()]
            if any(str(folder) in place for place in places):
                if is_alive(int(process.name)):
                    found.append((int(process.name), places[1]))
    return found


class Cluster:
    """with Cluster() as cluster: cluster.start(); cluster.submit(...)."""

    def __init__(self):
        # Short: socket paths are limited.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='epd-'))
        self.programs = {}  # name -> Popen
        self.address = '127.0.0.1:0'
        self.http = ''

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for name in list(self.programs):
            self.stop(name)
        if kind is None:
            # Keepers may end a moment after what they tell of.
            with contextlib.suppress(AssertionError):
                wait_for(lambda: not processes_below(self.folder), '', 20)
        left = processes_below(self.folder)
        for pid, _ in left:
            kill(pid)
        if kind is not None:
            self.show_logs()
        shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None and left:
            raise AssertionError(f'processes were left running: {left}')

    def show_logs(self):
        for log in sorted(self.folder.glob('*.log')):
            print(f'--- {log.name}\n{log.read_text()[-4000:]}')
        for log in sorted(self.folder.glob('work*/attempts/*/rank-*/log')):
            print(f'--- {log}\n{log.read_text(errors="replace")[-2000:]}')

    # ---- programs ---------------------------------------------------------

    def start(self, workers=1, cpus=2):
        self.start_coordinator()
        for number in range(workers):
            self.start_worker(f'w{number}', cpus)
        return self

    def spawn(self, name, arguments):
        log = open(self.folder / f'{name}.log', 'a')
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith('EPOCHD_')}
        environment['EPOCHD_HOME'] = str(self.folder / 'home')
        with log:
            self.programs[name] = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder, env=environment)
        return self.programs[name]

    def start_coordinator(self, *more):
        """Again on the same address, once it had one."""
        ports = self.folder / 'ports.json'
        ports.unlink(missing_ok=True)
        process = self.spawn('epochd', [
            BIN / 'epochd', '--state-dir', self.folder / 'state', '--listen',
            self.address, '--http-listen', '127.0.0.1:0', '--port-file', ports,
            *more])

        def serving():
            if process.poll() is not None:
                self.show_logs()
                raise AssertionError(f'epochd ended: {process.returncode}')
            return read_json(ports)

        answer = wait_for(serving, 'the port file of epochd')
        self.address, self.http = answer['grpc'], answer['http']

    def start_worker(self, name='w0', cpus=2, *more, work_dir=None,
                     storage=None):
        return self.spawn(name, [
            BIN / 'epochd-worker', '--coordinator', self.address,
            '--token-file', self.folder / 'state' / 'token', '--name', name,
            '--work-dir', work_dir or self.folder / f'work-{name}', '--storage',
            storage or self.folder / 'storage', '--cpus', str(cpus), *more])

    def kill(self, name):
        process = self.programs.pop(name)
        process.kill()
        process.wait()

    def stop(self, name):
        process = self.programs.pop(name)
        process.terminate()
        try:
            process.wait(90)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f'{name} did not end within 90 s of SIGTERM')
        return process.returncode

    # ---- the client -------------------------------------------------------

    def command(self, *arguments):
        return [str(BIN / 'epochctl'), '--server', self.address,
                '--token-file', str(self.folder / 'state' / 'token'),
                *map(str, arguments)]

    def epochctl(self, *arguments, check=True, timeout=300):
        result = subprocess.run(self.command(*arguments), text=True,
                                capture_output=True, timeout=timeout,
                                cwd=self.folder)
        if check and result.returncode != 0:
            raise AssertionError(
                f'epochctl {arguments}: {result.returncode}\n{result.stdout}'
                f'{result.stderr}')
        return result

    def submit(self, file, *more):
        return self.epochctl('submit', file, *more).stdout.strip()

    def job(self, name):
        return json.loads(self.epochctl('job', 'get', name, '-o',
                                        'json').stdout)

    def events(self, name):
        text = self.epochctl('job', 'events', name, '-o', 'json').stdout
        return [json.loads(line) for line in text.splitlines()]

    def state(self, name):
        return self.job(name)['state']

    def wait_state(self, name, states, seconds=300):
        states = {states} if isinstance(states, str) else set(states)

        def reached():
            job = self.job(name)
            if job['state'] in states:
                return job
            if job['state'] in PHASES_OVER:
                raise AssertionError(f'{name} is over: {job}')
            return None

        return wait_for(reached, f'{name} in {states}', seconds)

    # ---- files ------------------------------------------------------------

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def rank_folders(self):
        return sorted(self.folder.glob('work-*/attempts/*/rank-*'))

    def has_saved(self, job, attempt=1):
        """Whether the attempt told of a checkpoint. Reads what its rank 0
        wrote: a client would be slow to ask where a job is short."""
        folder = f'{job.removeprefix("jobs/")}-{attempt}'
        return any('"checkpoint_saved"' in events.read_text()
                   for events in self.folder.glob(
                       f'work-*/attempts/{folder}/rank-0/events.jsonl'))

    def rank_processes(self):
        """Ids of running ranks: the children of live keepers."""
        ranks = []
        for folder in self.rank_folders():
            keeper = read_json(folder / 'keeper.json')
            if keeper and not (folder / 'exit.json').exists():
                ranks += children_of(keeper['pid'])
        return ranks

    def final_checkpoint(self, name):
        """Path of the newest checkpoint that was recorded."""
        text = self.epochctl('job', 'checkpoints', name, '-o', 'json').stdout
        return pathlib.Path(json.loads(text)['checkpoints'][0]['path'])


def digits(replicas=1, epochs=30, batch_size=64, seed=42, every='1 epoch',
           extra=''):
    """A job on the digits, as text; small enough to train in seconds."""
    data = ROOT / 'examples' / 'data' / 'digits.csv.gz'
    return f'''
name: digits
resources: {{replicas: {replicas}, device: cpu, cpus: 1}}
restart: {{max: 20, backoff: 1s}}
checkpoints: {{every: {every}, keep_last: 3, keep_best: 1}}
{extra}
experiment:
  seed: {seed}
  model: {{type: MLP, in_features: 64, hidden: [128, 64], out_features: 10, dropout: 0.1}}
  data:
    train: {{type: Digits, file: {data}, split: train, batch_size: {batch_size}, shuffle: true, threads: 2,
            transforms: [{{type: Normalize, mean: 4.88, std: 6.02}}]}}
    val: {{type: Digits, file: {data}, split: val, batch_size: 256, transforms: "${{data.train.transforms}}"}}
  loss: {{type: CrossEntropy}}
  metrics: [{{type: Accuracy}}]
  monitor: {{metric: val/accuracy, mode: max}}
  optimizer: {{type: AdamW, lr: 0.003, weight_decay: 0.01}}
  lr_scheduler: {{type: CosineAnnealing, t_max: {epochs}}}
  trainer: {{type: EpochTrainer, epochs: {epochs}}}
'''

# SPDX-License-Identifier: Apache-2.0
"""The rules of the tree: who may include what, and how files look.

Each check takes a mapping of path (from the project root) to text and yields
violations as "path:line: what is wrong". tree_check.py runs them on the
project, rules_test.py on small bad examples.
"""

import posixpath
import re

# Folder -> project folders it may include besides itself. The longest prefix
# of a path decides. A folder that is not here may not hold C++.
MAY_INCLUDE = {
    'text': [],
    'expression': [],
    'catalogue': ['expression', 'text'],
    'program': ['text'],
    'proto/wire': ['proto', 'text'],
    'net': ['proto', 'program', 'text'],
    # Of the link, only what its words and exit codes mean.
    'server/job': ['catalogue', 'text', 'worker/link/event_line.h'],
    'server/fleet': ['server/job', 'text'],
    'server/schedule': ['server/job', 'server/fleet'],
    'server/events': ['server/job'],
    'server/store': ['server/job', 'server/fleet', 'proto/wire',
                     'proto/epochd/storage', 'text'],
    # Show what control publishes for reading.
    'server/metrics': ['server/job', 'server/fleet', 'server/store/job_store.h',
                       'server/control/views.h', 'text'],
    'server/web': ['server/job', 'server/fleet', 'server/control/views.h'],
    'server/control': [
        'catalogue', 'text', 'server/job', 'server/fleet', 'server/schedule',
        'server/store', 'server/events', 'worker/link/exit_code.h'
    ],
    'server/api': [
        'catalogue', 'net', 'proto', 'text', 'server/job', 'server/fleet',
        'server/events', 'server/control'
    ],
    'server/epochd': ['catalogue', 'net', 'program', 'proto', 'server', 'text'],
    'worker/link': [],
    'worker/process': ['worker/link'],
    'worker/agent': ['catalogue', 'net', 'program', 'proto', 'text',
                     'worker/process', 'worker/link'],
    'worker/engine': ['catalogue', 'expression'],
    'worker/cuda': ['worker/engine'],
    'worker/trainer': ['catalogue', 'program', 'worker/link',
                       'worker/process/keeper', 'worker/engine',
                       'worker/cuda', 'hooks'],
    'hooks': ['catalogue', 'worker/engine'],
    'client': ['catalogue', 'net', 'program', 'proto', 'text'],
}

TORCH = re.compile(r'(torch|ATen|c10|caffe2)/')
GRPC = re.compile(r'(grpc|grpcpp)/|grpc(pp)?\.h|.*\.grpc\.pb\.h')
PROTOBUF = re.compile(r'google/protobuf/|.*\.pb\.h')
API_PROTO = re.compile(r'(proto/)?epochd/v\d+/')
STORAGE_PROTO = re.compile(r'(proto/)?epochd/storage/')
ABSL = re.compile(r'absl/')

# (what, header pattern, folders it is kept out of)
KEPT_OUT = [
    ('gRPC', GRPC, ['worker/engine', 'worker/cuda', 'worker/trainer', 'hooks',
                    'worker/link', 'worker/process']),
    ('protobuf', PROTOBUF, ['worker/engine', 'worker/cuda', 'worker/trainer',
                            'hooks', 'worker/link', 'worker/process']),
    ('Abseil', ABSL, ['catalogue', 'expression', 'worker/engine', 'worker/cuda',
                      'hooks', 'worker/process/keeper']),
    ('LibTorch', TORCH, ['proto', 'catalogue', 'expression', 'net', 'server',
                         'client', 'worker/agent', 'worker/process',
                         'worker/link']),
]

# Header pattern -> the only folders that may include it.
ONLY_IN = [
    ('API protos', API_PROTO, ['server/api', 'server/epochd', 'client', 'net',
                               'proto', 'worker/agent']),
    ('gRPC', GRPC, ['server/api', 'server/epochd', 'client', 'net', 'proto',
                    'worker/agent']),
    ('storage protos', STORAGE_PROTO, ['server/store', 'proto']),
]

# Decide from what they are given alone: no clock, thread, disk or chance.
PURE = ['server/job', 'server/fleet', 'server/schedule']
IMPURE = re.compile(
    r'\babsl::Now\(|_clock::now\(|\bstd::(thread|jthread|mutex|async)\b'
    r'|\babsl::Mutex\b|\bstd::random_device\b|\bstd::(o|i)?fstream\b'
    r'|\bgetenv\(|\bsqlite3_')

VAGUE_NAMES = {'util', 'utils', 'common', 'helper', 'helpers', 'misc'}
MAX_LINES = 700
CODE = ('.h', '.cc')
NEEDS_LICENCE = CODE + ('.proto', '.py', '.sh', '.cmake', 'CMakeLists.txt')
SLEEP = re.compile(
    r'\bsleep_(for|until)\b|\babsl::SleepFor\b|\b(u|nano)?sleep\s*\(')
# The one place that may pause between looks at a condition with a deadline.
MAY_SLEEP = re.compile(r'tests/fakes/wait[^/]*$|tests/rules/')
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def is_below(path, folder):
    return path == folder or path.startswith(folder + '/')


def owner(path):
    """The folder of MAY_INCLUDE that `path` belongs to, or None."""
    fitting = [folder for folder in MAY_INCLUDE if is_below(path, folder)]
    return max(fitting, key=len) if fitting else None


def is_product(path):
    """Whether the path is C++ that ships (not a test, bench or example)."""
    top = path.split('/')[0]
    return path.endswith(CODE) and top not in ('tests', 'bench', 'examples')


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def normal_include(header):
    """Spells generated API headers as the folder they come from."""
    return 'proto/' + header if header.startswith('epochd/') else header


def check_layers(files, roots):
    """Project includes follow the arrows; `roots` are the top folders."""
    for path, text in files.items():
        if not is_product(path):
            continue
        folder = owner(path)
        if folder is None:
            yield (f'{path}:1: folder is not in MAY_INCLUDE of '
                   'tests/rules/rules.py')
            continue
        allowed = MAY_INCLUDE[folder] + [folder]
        for line, header in includes(text):
            header = normal_include(header)
            if header.split('/')[0] not in roots or '/' not in header:
                continue
            if not any(is_below(header, other) for other in allowed):
                yield (f'{path}:{line}: {folder} may not include "{header}"; '
                       f'it may include {", ".join(allowed)}')


def check_foreign_headers(files):
    """Keeps LibTorch, gRPC, protobuf and Abseil to their sides."""
    for path, text in files.items():
        if not is_product(path):
            continue
        for line, header in includes(text):
            for what, pattern, folders in KEPT_OUT:
                if pattern.match(header) and any(
                        is_below(path, folder) for folder in folders):
                    yield f'{path}:{line}: {what} header "{header}"'
            for what, pattern, folders in ONLY_IN:
                if pattern.match(header) and not any(
                        is_below(path, folder) for folder in folders):
                    yield (f'{path}:{line}: {what} in "{header}" only in '
                           f'{", ".join(folders)}')


def check_one_transport_file(files):
    """API protos stop at one transport of the agent (one .h and .cc)."""
    stems = {}
    for path, text in files.items():
        if not is_product(path) or not is_below(path, 'worker/agent'):
            continue
        for line, header in includes(text):
            if API_PROTO.match(header) or GRPC.match(header):
                stems.setdefault(posixpath.splitext(path)[0], (path, line))
    if len(stems) > 1:
        for path, line in stems.values():
            yield (f'{path}:{line}: API protos or gRPC in more than one file '
                   f'of worker/agent: {", ".join(sorted(stems))}')


def check_purity(files):
    for path, text in files.items():
        if not is_product(path) or not any(
                is_below(path, folder) for folder in PURE):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            code = line.split('//')[0]
            match = IMPURE.search(code)
            if match:
                yield (f'{path}:{number}: "{match.group(0)}" in a folder that '
                       'is pure; pass the value in')


def check_form(files):
    """Licence lines, length, names of folders, sleeps, loose threads."""
    for path, text in files.items():
        lines = text.splitlines()
        for part in path.split('/')[:-1]:
            if part in VAGUE_NAMES:
                yield f'{path}:1: folder "{part}" is named after nothing'
        is_script = bool(lines) and lines[0].startswith('#!')
        if path.endswith(NEEDS_LICENCE) or is_script:
            if not any('SPDX-License-Identifier: Apache-2.0' in line
                       for line in lines[:3]):
                yield f'{path}:1: no SPDX-License-Identifier: Apache-2.0'
            if len(lines) > MAX_LINES:
                yield f'{path}:{len(lines)}: more than {MAX_LINES} lines'
        if not path.endswith(CODE + ('.py', '.sh')):
            continue
        is_test = path.startswith('tests/') and not MAY_SLEEP.match(path)
        for number, line in enumerate(lines, 1):
            if is_test and SLEEP.search(line):
                yield (f'{path}:{number}: sleep in a test; wait for a '
                       'condition with a deadline')
            if path.endswith(CODE) and re.search(r'\.detach\(\)', line) and (
                    'thread' in line):
                yield f'{path}:{number}: detached thread'
        if path.endswith('.h'):
            if '#pragma once' not in text:
                yield f'{path}:1: no #pragma once'
            for number, line in enumerate(lines, 1):
                if re.match(r'\s*using namespace ', line):
                    yield f'{path}:{number}: using namespace in a header'


def check_components(files, job_spec):
    """Some test names every component that docs/job-spec.md lists, under its
    name or an alias. Sections are named by their keys."""
    words = set()
    for path, text in files.items():
        if path.startswith('tests/') and not path.startswith('tests/rules/'):
            words.update(re.findall(r'\w+', text))
    kind = name = None
    components = []
    for line in job_spec.splitlines():
        if line.startswith('## '):
            kind = line[3:].strip()
        elif line.startswith('### '):
            name = line[4:].strip()
            components.append((kind, [name]))
        elif line.startswith('Also called ') and components:
            components[-1][1].extend(re.findall(r'`([^`]+)`', line))
    for kind, names in components:
        if kind != 'section' and not words.intersection(names):
            yield f'docs/job-spec.md:1: no test names the {kind} {names[0]}'


def check_all(files, roots):
    yield from check_layers(files, roots)
    yield from check_foreign_headers(files)
    yield from check_one_transport_file(files)
    yield from check_purity(files)
    yield from check_form(files)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of rules.py on the project: tree_check.py ROOT."""

import os
import sys

import rules

SKIPPED = {'.git', 'build', '.prefix', '.epochd', '.cache', '__pycache__'}
# From the root: what examples train on, and what users put beside it.
SKIPPED_PATHS = {'data', 'examples/data'}
READ = rules.NEEDS_LICENCE


def is_read(path):
    if path.endswith(READ):
        return True
    return '.' not in os.path.basename(path) and is_script(path)


def is_script(path):
    with open(path, 'rb') as file:
        return file.read(2) == b'#!'


def load(root):
    files = {}
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        folders[:] = [
            name for name in folders if name not in SKIPPED
            and os.path.normpath(os.path.join(below, name)) not in SKIPPED_PATHS
        ]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and is_read(path):
                with open(path, encoding='utf-8') as file:
                    files[os.path.relpath(path, root)] = file.read()
    return files


def job_files(root):
    files = {}
    for folder, _, names in os.walk(os.path.join(root, 'tests')):
        for path in (os.path.join(folder, name) for name in names):
            if path.endswith(('.yaml', '.json')):
                with open(path, encoding='utf-8') as file:
                    files[os.path.relpath(path, root)] = file.read()
    return files


def main():
    root = sys.argv[1]
    files = load(root)
    if not any(rules.is_product(path) for path in files):
        sys.exit(f'{root}: no sources found')
    roots = {name for name in os.listdir(root)
             if os.path.isdir(os.path.join(root, name))}
    violations = list(rules.check_all(files, roots))
    with open(os.path.join(root, 'docs/job-spec.md'), encoding='utf-8') as file:
        violations += rules.check_components({**files, **job_files(root)},
                                             file.read())
    for violation in violations:
        print(violation)
    print(f'{len(files)} files, {len(violations)} violations')
    sys.exit(1 if violations else 0)


if __name__ == '__main__':
    main()

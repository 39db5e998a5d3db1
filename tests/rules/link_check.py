#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the programs load: link_check.py FILE=REFUSED[,REFUSED] ...

FILE is a program or library; REFUSED are beginnings of the names of shared
libraries that it must not load, directly or through others.
"""

import re
import subprocess
import sys


def loaded_libraries(ldd_output):
    """Names of the libraries in the output of ldd."""
    return re.findall(r'^\s*(\S+\.so\S*)', ldd_output, re.MULTILINE)


def refused_libraries(libraries, refused):
    return [name for name in libraries
            if any(name.split('/')[-1].startswith(bad) for bad in refused)]


def main():
    is_bad = False
    for argument in sys.argv[1:]:
        path, _, refused = argument.partition('=')
        result = subprocess.run(['ldd', path], capture_output=True, text=True,
                                check=False)
        if result.returncode != 0:
            print(f'{path}: ldd: {(result.stderr or result.stdout).strip()}')
            is_bad = True
            continue
        output = result.stdout
        libraries = loaded_libraries(output)
        if 'not found' in output or not libraries:
            print(f'{path}: a library is not found:\n{output}')
            is_bad = True
        for name in refused_libraries(libraries, refused.split(',')):
            print(f'{path}: loads {name}')
            is_bad = True
        print(f'{path}: {len(libraries)} libraries')
    sys.exit(1 if is_bad else 0)


if __name__ == '__main__':
    main()

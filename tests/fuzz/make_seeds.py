#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of corpus/ that are made, not found.

    python tests/fuzz/make_seeds.py [NAME...]

Without names: all. Needs nothing but Python for those without a package named
beside them. Seeds are small: mutations should meet structure, not samples.
"""

import json
import pathlib
import struct
import sys

CORPUS = pathlib.Path(__file__).parent / 'corpus'


def write(name, file, data):
    folder = CORPUS / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(data)


def npy():
    def array(dict_text, values, version=1):
        length = struct.Struct('<H' if version == 1 else '<I')
        prefix = 8 + length.size
        header = dict_text + ' ' * (-(prefix + len(dict_text) + 1) % 64) + '\n'
        return (b'\x93NUMPY' + bytes([version, 0])
                + length.pack(len(header)) + header.encode() + values)

    def text(descr, order, shape):
        return (f"{{'descr': '{descr}', 'fortran_order': {order}, "
                f"'shape': {shape}, }}")

    write('npy', 'float32', array(text('<f4', False, '(2, 3)'),
                                  struct.pack('<6f', *range(6))))
    write('npy', 'fortran_int16_big', array(text('>i2', True, '(3, 2)'),
                                            struct.pack('>6h', *range(6))))
    write('npy', 'version2_bool', array(text('|b1', False, '(4,)'),
                                        b'\1\0\1\1', version=2))
    write('npy', 'scalar', array(text('<f8', False, '()'),
                                 struct.pack('<d', 0.5)))
    write('npy', 'empty_huge', array(
        text('<f4', False, '(0, 4611686018427387904, 4611686018427387904)'),
        b''))


def idx():
    def array(code, sizes, values):
        return (bytes([0, 0, code, len(sizes)])
                + struct.pack(f'>{len(sizes)}I', *sizes) + values)

    write('idx', 'images', array(8, (2, 3, 3), bytes(range(18))))
    write('idx', 'labels', array(8, (5,), bytes(range(5))))
    write('idx', 'float64', array(14, (3,), struct.pack('>3d', 1, 2, 3)))
    write('idx', 'empty_huge', array(13, (0, 2**32 - 1, 2**32 - 1, 2**32 - 1),
                                     b''))


def safetensors():
    def archive(header, data):
        text = json.dumps(header).encode()
        text += b' ' * (-len(text) % 8)
        return struct.pack('<Q', len(text)) + text + data

    write('safetensors', 'two', archive(
        {'__metadata__': {'format': 'pt'},
         'weight': {'dtype': 'F32', 'shape': [2, 2], 'data_offsets': [0, 16]},
         'bias': {'dtype': 'BF16', 'shape': [2], 'data_offsets': [16, 20]}},
        bytes(20)))
    write('safetensors', 'scalar', archive(
        {'step': {'dtype': 'I64', 'shape': [], 'data_offsets': [0, 8]}},
        bytes(8)))
    write('safetensors', 'empty', archive({}, b''))
    write('safetensors', 'empty_huge', archive(
        {'x': {'dtype': 'U8', 'shape': [0, 2**62, 2**62],
               'data_offsets': [0, 0]}}, b''))


MAKERS = {'npy': npy, 'idx': idx, 'safetensors': safetensors}


def main():
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()


if __name__ == '__main__':
    main()

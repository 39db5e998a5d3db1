#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of corpus/ that are made, not found.

    python tests/fuzz/make_seeds.py [NAME...]

Without names: all. Needs nothing but Python for those without a package named
beside them. Seeds are small: mutations should meet structure, not samples.
"""

import gzip
import io
import json
import pathlib
import struct
import sys
import zipfile

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
    write('npy', 'uint16', array(text('<u2', True, '(2, 2)'),
                                 struct.pack('<4H', 0, 1, 256, 65535)))
    write('npy', 'uint64_big', array(text('>u8', False, '(1,)'),
                                     struct.pack('>Q', 7)))
    write('npy', 'gzip', gzip.compress(array(text('<i2', False, '(5,)'),
                                             struct.pack('<5h', *range(5))),
                                       mtime=0))
    write('npy', 'empty_huge', array(
        text('<f4', False, '(0, 4611686018427387904, 4611686018427387904)'),
        b''))


def idx():
    def array(code, sizes, values):
        return (bytes([0, 0, code, len(sizes)])
                + struct.pack(f'>{len(sizes)}I', *sizes) + values)

    write('idx', 'images', array(8, (2, 3, 3), bytes(range(18))))
    write('idx', 'gzip', gzip.compress(array(8, (2, 2, 2), bytes(8)), mtime=0))
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
    write('safetensors', 'unsigned', archive(
        {'x': {'dtype': 'U16', 'shape': [3], 'data_offsets': [0, 6]},
         'y': {'dtype': 'U64', 'shape': [1], 'data_offsets': [6, 14]}},
        bytes(14)))
    write('safetensors', 'empty', archive({}, b''))
    write('safetensors', 'empty_huge', archive(
        {'x': {'dtype': 'U8', 'shape': [0, 2**62, 2**62],
               'data_offsets': [0, 0]}}, b''))


def wfdb_header():
    write('wfdb_header', 'plain', b'# Age: 61\nrec 2 360/1000(3.5) 650 10:00:01'
          b' 17/06/1980\nrec.dat 212x2:5+24 200.5(-7)/mV 11 1024 995 -22131 0 V5'
          b'\nrec.dat 212+24 0/uV 12\n# Dx: 1,2\n')
    write('wfdb_header', 'segments', b'r/3 2 100 30\nlayout 0\n~ 10\nr_1 20\n')
    write('wfdb_header', 'defaults', b'r 1\nr.d 16\n')


def wfdb_annotation():
    def words(*values):
        return struct.pack(f'<{len(values)}H', *values)

    write('wfdb_annotation', 'beats', words(
        28 << 10 | 3, 63 << 10 | 5) + b'(AFIB\0' + words(
            1 << 10 | 7, 61 << 10 | 2, 60 << 10 | 1, 59 << 10, 1, 2,
            5 << 10 | 9, 62 << 10 | 1, 0))
    write('wfdb_annotation', 'rate', words(22 << 10, 63 << 10 | 24)
          + b'## time resolution: 12.5' + words(1 << 10 | 1, 0))
    write('wfdb_annotation', 'labels', b''.join(
        words(22 << 10, 63 << 10 | len(text)) + text + b'\0' * (len(text) % 2)
        for text in (b'## annotation type definitions', b'45 z own',
                     b'## end of definitions')) + words(45 << 10 | 1, 0))


def wfdb_signal():
    # Format, signals, frames, samples per frame, skew and offset; samples.
    for number, name in enumerate(
            ('16', '24', '32', '61', '80', '160', '212', '310', '311')):
        write('wfdb_signal', name, bytes([number, number % 4, 0, 27, 54])
              + bytes(range(90)))
    write('wfdb_signal', 'told', bytes([6, 1, 11, 0, 0]) + bytes(40))
    # Formats 16 and 212 as segments, fixed and under a layout.
    for kind, name in ((9, 'fixed'), (18, 'variable')):
        for number in (0, 6):
            write('wfdb_signal', f'{name}_{number}',
                  bytes([kind + number, 1, 0, 27, 5]) + bytes(range(90)))


def edf():
    def fields(widths, rows):
        return b''.join(str(row).ljust(width).encode()
                        for width, row in zip(widths, rows))

    def recording(kind, first, signals, records, data):
        head = first + fields(
            (80, 80, 8, 8, 8, 44, 8, 8, 4),
            ('patient', 'recording', '01.01.24', '10.11.12',
             256 * (len(signals) + 1), kind, records, 1, len(signals)))
        widths = (16, 80, 8, 8, 8, 8, 8, 80, 8, 32)
        columns = zip(*signals)
        return head + b''.join(
            b''.join(str(v).ljust(width).encode() for v in column)
            for width, column in zip(widths, columns)) + data

    plain = ('I', 'AgCl', 'mV', -5, 5, -2048, 2047, 'HP', 4, '')
    notes = ('EDF Annotations', '', '', -1, 1, -32768, 32767, '', 10, '')
    version = b'0'.ljust(8)
    write('edf', 'plain', recording('', version, [plain], 2, bytes(range(16))))
    text = b'+0\x14\x14\0+0.5\x150.1\x14AF\x14\0'
    write('edf', 'notes', recording('EDF+C', version, [plain, notes], 1,
                                    bytes(8) + text.ljust(20, b'\0')))
    write('edf', 'bdf', recording('24BIT', b'\xffBIOSEMI', [plain], -1,
                                  bytes(range(24))))


def csv():
    write('csv', 'quotes', b'a,"b ""x""",c\r\n1,"2\n",\r\n"",,3')
    write('csv', 'numbers', b'x;y\n1,2\n+3.5,-4e2\n\n')
    write('csv', 'digits', b'0,3,16,1,4\n2,5,0,7,9\r\n1,1,1,1,0\n')
    write('csv', 'weights', b',10,"20|21"\n10,1,.5\n"20|21",.25,1\n')


def file_bytes():
    packed = gzip.compress(b'0,1,2,3\n' * 40, mtime=0)
    write('file_bytes', 'plain', b'0,1,2,3\n' * 8)
    write('file_bytes', 'gzip', packed)
    write('file_bytes', 'members', packed + gzip.compress(b'end', mtime=0))
    write('file_bytes', 'large', gzip.compress(bytes(3 << 20), mtime=0))


def npz():
    def archive(method, entries):
        out = io.BytesIO()
        with zipfile.ZipFile(out, 'w', method) as packed:
            for name, data in entries:
                packed.writestr(zipfile.ZipInfo(name), data, method)
        return out.getvalue()

    array = (CORPUS / 'npy' / 'float32').read_bytes()
    write('npz', 'stored', archive(zipfile.ZIP_STORED, [('x.npy', array)]))
    write('npz', 'deflated', archive(
        zipfile.ZIP_DEFLATED, [('x.npy', array), ('y.npy', array)]))


def images(name, suffix):
    """Files of tests/golden/images, behind a byte that chooses the mode."""
    folder = pathlib.Path(__file__).parents[1] / 'golden' / 'images'
    for number, path in enumerate(sorted(folder.glob(f'*.{suffix}'))):
        if path.stem.startswith(('degrade', 'exif')) and (
                path.stem != 'exif_6'):
            continue
        write(name, path.stem, bytes([number % 8]) + path.read_bytes())


def cifar():
    write('cifar', 'two', b''.join(
        bytes([label]) + bytes(range(256)) * 12 for label in (3, 9)))
    write('cifar', 'hundred', bytes([7, 41]) + bytes(3072))


MAKERS = {'file_bytes': file_bytes, 'npy': npy, 'idx': idx,
          'safetensors': safetensors, 'cifar': cifar,
          'png': lambda: images('png', 'png'),
          'jpeg': lambda: images('jpeg', 'jpg'),
          'wfdb_header': wfdb_header, 'wfdb_annotation': wfdb_annotation,
          'wfdb_signal': wfdb_signal, 'edf': edf, 'csv': csv, 'npz': npz}


def main():
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()


if __name__ == '__main__':
    main()

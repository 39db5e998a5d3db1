#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Pillow, NumPy and BasicSR make of small images, for
tests/worker/engine/data/image.

    python tests/golden/record_images.py --basicsr FILE

Needs Pillow 13.0.0, numpy 2.4.6, torch 2.11.0, torchvision 0.26.0 and
safetensors; FILE is basicsr/utils/matlab_functions.py of BasicSR 1.4.2. Writes
image files into images/, and into images.safetensors what they hold and what
resizing and augmenting gives:

    decode/<file>/<mode>       uint8 [C, H, W]
    resize/source              uint8 [3, H, W]
    resize/<kind>/<h>x<w>      uint8
    degrade/<kind>/<scale>     uint8; `basicsr`: float, in [0, 255]
    augment/<type>/<operation>
"""

import argparse
import importlib.util
import pathlib
import struct
import zlib

import numpy
import torch
from PIL import Image
from safetensors.numpy import save_file
from torchvision.transforms.v2 import functional as F

FOLDER = pathlib.Path(__file__).parent
IMAGES = FOLDER / 'images'
HEIGHT, WIDTH = 19, 23
MODES = {'grey': 'L', 'rgb': 'RGB', 'rgba': 'RGBA'}


def picture(height=HEIGHT, width=WIDTH, channels=3, seed=0):
    """Smooth colours with a few hard edges and some noise."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = 127 + 110 * numpy.sin((x * (c + 1) + 2 * y) / 7.0 + c)
        plane += 40 * ((x // 5 + y // 4) % 2) - 20
        plane += random.normal(0, 8, plane.shape)
        planes.append(plane.clip(0, 255))
    return numpy.stack(planes, -1).round().astype(numpy.uint8)


# ---- PNG files that Pillow does not write --------------------------------------


def png(width, height, depth, colour, rows, *, adam7=False, chunks=()):
    """A PNG of packed rows (bytes), none of them filtered."""
    def chunk(name, data):
        return (struct.pack('>I', len(data)) + name + data
                + struct.pack('>I', zlib.crc32(name + data)))
    body = b''.join(b'\0' + row for row in rows)
    return (b'\x89PNG\r\n\x1a\n'
            + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, depth,
                                         colour, 0, 0, int(adam7)))
            + b''.join(chunk(name, data) for name, data in chunks)
            + chunk(b'IDAT', zlib.compress(body)) + chunk(b'IEND', b''))


def pack_bits(values, depth):
    """Rows of small numbers, most significant bits first."""
    rows = []
    for row in values:
        bits = ''.join(format(int(v), f'0{depth}b') for v in row)
        bits += '0' * (-len(bits) % 8)
        rows.append(int(bits, 2).to_bytes(len(bits) // 8, 'big'))
    return rows


def adam7_rows(pixels):
    """The rows of the seven passes over [H, W, bytes]."""
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4),
              (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    for top, left, down, right in passes:
        part = pixels[top::down, left::right]
        if part.shape[1]:
            yield from (row.tobytes() for row in part)


def write_images():
    IMAGES.mkdir(exist_ok=True)
    for old in IMAGES.iterdir():
        old.unlink()
    rgb = picture()
    alpha = picture(seed=1)[..., :1]
    image = Image.fromarray(rgb)
    grey = image.convert('L')
    rgba = Image.fromarray(numpy.concatenate([rgb, alpha], -1))
    la = Image.merge('LA', [grey, Image.fromarray(alpha[..., 0])])
    palette = image.quantize(37)

    image.save(IMAGES / 'rgb.png')
    grey.save(IMAGES / 'grey.png')
    rgba.save(IMAGES / 'rgba.png')
    la.save(IMAGES / 'grey_alpha.png')
    palette.save(IMAGES / 'palette.png')
    image.quantize(4).save(IMAGES / 'palette_2bit.png', bits=2)
    palette.save(IMAGES / 'palette_alpha.png', transparency=bytes(
        range(0, 37 * 5, 5)))
    image.convert('1').save(IMAGES / 'one_bit.png')
    image.save(IMAGES / 'rgb_key.png', transparency=tuple(rgb[3, 4].tolist()))
    grey.save(IMAGES / 'grey_key.png', transparency=int(
        numpy.asarray(grey)[3, 4]))
    deep = (picture(seed=2)[..., 0].astype(numpy.uint16) * 257
            + numpy.arange(WIDTH, dtype=numpy.uint16))
    Image.fromarray(deep).save(IMAGES / 'grey_16bit.png')
    wide = rgb.astype('>u2') * 251 + 17
    (IMAGES / 'rgb_16bit.png').write_bytes(
        png(WIDTH, HEIGHT, 16, 2, [row.tobytes() for row in wide]))
    for depth in 2, 4:
        values = numpy.asarray(grey) >> (8 - depth)
        (IMAGES / f'grey_{depth}bit.png').write_bytes(
            png(WIDTH, HEIGHT, depth, 0, pack_bits(values, depth)))
    (IMAGES / 'rgb_interlaced.png').write_bytes(
        png(WIDTH, HEIGHT, 8, 2, adam7_rows(rgb), adam7=True))
    (IMAGES / 'rgba_interlaced.png').write_bytes(
        png(WIDTH, HEIGHT, 8, 6, adam7_rows(numpy.asarray(rgba)), adam7=True))
    (IMAGES / 'gamma.png').write_bytes(
        png(WIDTH, HEIGHT, 8, 2, [row.tobytes() for row in rgb],
            chunks=[(b'gAMA', struct.pack('>I', 20000))]))

    image.save(IMAGES / 'rgb_444.jpg', quality=90, subsampling=0)
    image.save(IMAGES / 'rgb_422.jpg', quality=85, subsampling=1)
    image.save(IMAGES / 'rgb_420.jpg', quality=75, subsampling=2)
    image.save(IMAGES / 'rgb_progressive.jpg', quality=80, progressive=True)
    image.save(IMAGES / 'rgb_restart.jpg', quality=80, restart_marker_blocks=2)
    image.save(IMAGES / 'rgb_optimized.jpg', quality=30, optimize=True)
    image.save(IMAGES / 'rgb_stored.jpg', quality=90, keep_rgb=True)
    grey.save(IMAGES / 'grey.jpg', quality=85)
    grey.save(IMAGES / 'grey_progressive.jpg', quality=85, progressive=True)
    image.convert('CMYK').save(IMAGES / 'cmyk.jpg', quality=85)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        image.save(IMAGES / f'exif_{orientation}.jpg', quality=80, exif=exif)
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(IMAGES / 'exif_6.png', exif=exif)


def planes(image):
    array = numpy.asarray(image)
    if array.ndim == 2:
        array = array[..., None]
    return numpy.ascontiguousarray(array.transpose(2, 0, 1))


def record_decoding(recorded):
    from PIL import ImageOps
    for path in sorted(IMAGES.iterdir()):
        for mode, theirs in MODES.items():
            with Image.open(path) as image:
                if image.mode.startswith('I'):
                    # Pillow clips such values at 255; the high byte is ours.
                    image = Image.fromarray(
                        (numpy.asarray(image) >> 8).astype(numpy.uint8))
                if path.stem.startswith('exif') and mode != 'rgb':
                    continue
                recorded[f'decode/{path.name}/{mode}'] = planes(
                    image.convert(theirs))
                if path.stem.startswith('exif'):
                    recorded[f'turned/{path.name}'] = planes(
                        ImageOps.exif_transpose(image).convert('RGB'))


# ---- resizing -------------------------------------------------------------------


def matlab_axis(size_in, size_out):
    """The matrix of imresize's bicubic along an axis, as documented there."""
    scale = size_out / size_in
    shrink = min(scale, 1.0)
    width = 4.0 / shrink
    matrix = numpy.zeros((size_out, size_in))
    for i in range(size_out):
        center = (i + 1) / scale + 0.5 * (1 - 1 / scale)
        left = numpy.floor(center - width / 2)
        places = left + numpy.arange(int(numpy.ceil(width)) + 2)
        x = numpy.abs(shrink * (center - places))
        near = 1.5 * x ** 3 - 2.5 * x ** 2 + 1
        far = -0.5 * x ** 3 + 2.5 * x ** 2 - 4 * x + 2
        weights = shrink * numpy.where(x <= 1, near,
                                       numpy.where(x <= 2, far, 0))
        weights /= weights.sum()
        mirrored = numpy.concatenate([numpy.arange(size_in),
                                      numpy.arange(size_in)[::-1]])
        for place, weight in zip(places, weights):
            matrix[i, mirrored[int(place - 1) % (2 * size_in)]] += weight
    return matrix


def matlab_resize(image, height, width):
    """imresize of uint8 [H, W, C]; 8 bits after each axis."""
    def byte(values):
        # Halves up; the matrices' products are exact to about 1e-13.
        return numpy.floor(values + 0.5 + 1e-9).clip(0, 255)
    array = image.astype(numpy.float64)
    axes = [0, 1]
    if height / image.shape[0] > width / image.shape[1]:
        axes = [1, 0]
    for axis in axes:
        size = (height, width)[axis]
        if size == image.shape[axis]:
            continue
        matrix = matlab_axis(image.shape[axis], size)
        array = byte(numpy.moveaxis(
            numpy.tensordot(matrix, array, (1, axis)), 0, axis))
    return array.astype(numpy.uint8)


def record_resizing(recorded, basicsr):
    source = picture(49, 62, seed=3)
    image = Image.fromarray(source)
    recorded['resize/source'] = planes(source)
    image.save(IMAGES / 'degrade.png')
    even = image.crop((0, 0, 62, 48))
    even.save(IMAGES / 'degrade_even.png')
    even.resize((31, 24), Image.Resampling.BICUBIC).save(
        IMAGES / 'degrade_low.png')
    kinds = {'pillow_bilinear': Image.Resampling.BILINEAR,
             'pillow_bicubic': Image.Resampling.BICUBIC,
             'pillow_lanczos': Image.Resampling.LANCZOS}
    for height, width in [(24, 31), (49, 20), (13, 62), (80, 75), (1, 1),
                          (31, 90)]:
        for kind, resampling in kinds.items():
            # Along rows first, as Pillow does until 13, which begins with
            # columns where height shrinks much more than width.
            recorded[f'resize/{kind}/{height}x{width}'] = planes(
                image.resize((width, image.height), resampling)
                .resize((width, height), resampling))
        recorded[f'resize/matlab_bicubic/{height}x{width}'] = planes(
            matlab_resize(source, height, width))
    for scale in 2, 3, 4:
        height, width = (side // scale for side in source.shape[:2])
        cut = source[:height * scale, :width * scale]
        recorded[f'degrade/pillow/{scale}'] = planes(
            Image.fromarray(cut).resize((width, height),
                                        Image.Resampling.BICUBIC))
        recorded[f'degrade/matlab/{scale}'] = planes(
            matlab_resize(cut, height, width))
        theirs = basicsr.imresize(cut / numpy.float32(255), 1 / scale)
        recorded[f'degrade/basicsr/{scale}'] = planes(
            (theirs * 255).astype(numpy.float32))


# ---- augmentation ----------------------------------------------------------------


def record_augmenting(recorded):
    source = torch.from_numpy(planes(picture(14, 17, seed=4)))
    # Grey pixels, black and white ones.
    source[:, 0, :5] = torch.tensor([0, 255, 7, 128, 1], dtype=torch.uint8)
    bilinear = F.InterpolationMode.BILINEAR
    bicubic = F.InterpolationMode.BICUBIC
    nearest = F.InterpolationMode.NEAREST
    colours = {
        'brightness_0.6': lambda x: F.adjust_brightness(x, 0.6),
        'brightness_1.7': lambda x: F.adjust_brightness(x, 1.7),
        'contrast_0.4': lambda x: F.adjust_contrast(x, 0.4),
        'contrast_1.8': lambda x: F.adjust_contrast(x, 1.8),
        'saturation_0.3': lambda x: F.adjust_saturation(x, 0.3),
        'saturation_1.9': lambda x: F.adjust_saturation(x, 1.9),
        'hue_0.21': lambda x: F.adjust_hue(x, 0.21),
        'hue_-0.4': lambda x: F.adjust_hue(x, -0.4),
        'grey_1': lambda x: F.rgb_to_grayscale(x, 1),
        'grey_3': lambda x: F.rgb_to_grayscale(x, 3),
    }
    fill = [0.25, 0.5, 0.75]
    moves = {
        'rotate_33': lambda x: F.rotate(x, 33, bilinear, fill=fill),
        'rotate_33_zeros': lambda x: F.rotate(x, 33, bilinear, fill=0),
        'rotate_-70_nearest': lambda x: F.rotate(x, -70, nearest, fill=fill),
        'rotate_180': lambda x: F.rotate(x, 180, bilinear, fill=0),
        'affine': lambda x: F.affine(x, 20, [2, -1], 1.3, [10, -5], bilinear,
                                     fill=fill),
        'affine_nearest': lambda x: F.affine(x, -35, [-3, 2], 0.7, [0, 0],
                                             nearest, fill=fill),
    }
    sizes = {
        'resize_bilinear_9x21': lambda x: F.resize(x, [9, 21], bilinear,
                                                   antialias=True),
        'resize_bicubic_9x21': lambda x: F.resize(x, [9, 21], bicubic,
                                                  antialias=True),
        'resize_bicubic_28x8': lambda x: F.resize(x, [28, 8], bicubic,
                                                  antialias=True),
        'resize_nearest_9x21': lambda x: F.resize(x, [9, 21], nearest),
        'center_crop_6x9': lambda x: F.center_crop(x, [6, 9]),
        'center_crop_20x9': lambda x: F.center_crop(x, [20, 9]),
        'center_crop_7x30': lambda x: F.center_crop(x, [7, 30]),
        'horizontal_flip': F.horizontal_flip,
        'vertical_flip': F.vertical_flip,
        'shorter_side_10': lambda x: F.resize(x, [10], bilinear,
                                              antialias=True),
        'shorter_side_10_tall': lambda x: F.resize(x.mT, [10], bilinear,
                                                   antialias=True),
    }
    recorded['augment/source'] = source.numpy()
    unit = source.float() / 255
    for name, operation in {**colours, **moves, **sizes}.items():
        recorded[f'augment/float/{name}'] = operation(
            unit).contiguous().numpy()
    # Bytes are resized as Pillow does; see record_resizing.
    for name, operation in {**colours, **moves}.items():
        recorded[f'augment/uint8/{name}'] = operation(
            source).contiguous().numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--basicsr', required=True)
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location('matlab_functions',
                                                  options.basicsr)
    basicsr = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(basicsr)
    torch.manual_seed(0)

    recorded = {}
    write_images()
    record_decoding(recorded)
    record_resizing(recorded, basicsr)
    record_augmenting(recorded)
    save_file({name: numpy.ascontiguousarray(value)
               for name, value in recorded.items()},
              FOLDER / 'images.safetensors')


if __name__ == '__main__':
    main()

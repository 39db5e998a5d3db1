# SPDX-License-Identifier: Apache-2.0
"""The rule by which generators and tests fill tensors, so that big ones need
not be recorded; golden.h has it in C++."""

import math

import numpy
import torch


def fill(shape, stream):
    """Gives values in [-0.5, 0.5) that depend on (stream, index) alone."""
    count = math.prod(shape)
    mask = numpy.uint64(0xFFFFFFFF)
    h = numpy.arange(1, count + 1, dtype=numpy.uint64)
    h = (h * numpy.uint64(2654435761) + numpy.uint64(stream * 40503)) & mask
    h ^= h >> numpy.uint64(16)
    h = (h * numpy.uint64(0x85EBCA6B)) & mask
    h ^= h >> numpy.uint64(13)
    h = (h * numpy.uint64(0xC2B2AE35)) & mask
    h ^= h >> numpy.uint64(16)
    values = h.astype(numpy.float64) / 4294967296.0 - 0.5
    return torch.from_numpy(values.reshape(shape)).to(torch.float32)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ../data/burgers/burgers.safetensors: the solution of

    u_t + u u_x = nu u_xx,  nu = 0.01/pi,  u(0, x) = -sin(pi x),  u(t, +-1) = 0

on a grid of 26 times in [0, 1] and 257 places in [-1, 1]. Needs numpy (2.4.6
was used).

The Cole-Hopf transform u = -2 nu phi_x / phi makes it the heat equation, whose
solution is an integral over the initial values (Cole 1951; Basdevant et al.
1986). With f(y) = exp(-cos(pi y) / (2 pi nu)) and heat kernels,

    u(t, x) = -I[sin(pi (x - e)) f(x - e)] / I[f(x - e)],
    I[g] = integral of g exp(-e^2 / (4 nu t)) de,

which Gauss-Hermite quadrature in e = 2 sqrt(nu t) z computes: 300 nodes differ
from 200 by less than 1e-9. The exponent is shifted by its maximum, as f spans
e^100.
"""

import json
import pathlib
import struct

import numpy

NU = 0.01 / numpy.pi
FILE = (pathlib.Path(__file__).parent.parent / "data" / "burgers" /
        "burgers.safetensors")


def burgers(t, x, num_nodes=300):
    """Gives u(t, x) for arrays of one shape."""
    z, weights = numpy.polynomial.hermite.hermgauss(num_nodes)
    t, x = numpy.asarray(t)[..., None], numpy.asarray(x)[..., None]
    y = x - 2 * numpy.sqrt(NU * t) * z
    exponent = -numpy.cos(numpy.pi * y) / (2 * numpy.pi * NU)
    exponent -= exponent.max(axis=-1, keepdims=True)
    f = weights * numpy.exp(exponent)
    return -(f * numpy.sin(numpy.pi * y)).sum(-1) / f.sum(-1)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        raw = numpy.ascontiguousarray(array, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    t, x = numpy.meshgrid(numpy.linspace(0, 1, 26), numpy.linspace(-1, 1, 257),
                          indexing="ij")
    t, x = t.ravel(), x.ravel()
    u = burgers(t, x)
    print("300 against 200 nodes:", abs(u - burgers(t, x, 200)).max())
    print("start:", abs(u[t == 0] + numpy.sin(numpy.pi * x[t == 0])).max(),
          "ends:", abs(u[abs(x) == 1]).max())
    write_safetensors(FILE, {"input": numpy.stack([t, x], 1),
                             "target": u[:, None]})
    print(FILE.name, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

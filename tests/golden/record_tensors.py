#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records files of arrays as numpy and safetensors write them, and the values
in them, for tensors_test.cc.

Needs numpy 2.4.6, torch 2.11.0 and safetensors 0.8.0; writes
tensors.json:

    python tests/golden/record_tensors.py

A file is its bytes in hexadecimal, and "arrays" what it holds: name, type as
LibTorch calls what is read, shape and values, whole numbers as such. One
without "arrays" holds what is not read, and "refused" is its type.
"""

import io
import itertools
import json
import pathlib

import numpy
import safetensors.numpy
import safetensors.torch
import torch

FOLDER = pathlib.Path(__file__).parent
READ_AS = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short",
           "int32": "Int", "int64": "Long", "float16": "Half",
           "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
           "uint16": "Int", "uint32": "Long", "uint64": "Long"}
TYPES = [t for t in READ_AS if t != "bfloat16"]


def values_of(kind, shape):
    """With the least and the greatest of whole numbers that are read."""
    count = int(numpy.prod(shape))
    if kind == "bool":
        flat = numpy.arange(count) % 3 == 0
    elif "float" in kind:
        special = [-0.0, numpy.inf, -numpy.inf, numpy.nan, 65504.0, 6e-8]
        flat = numpy.resize(special + [i / 8 - 1 for i in range(7)], count)
    else:
        info = numpy.iinfo(kind)
        most = min(int(info.max), 2**63 - 1)
        flat = numpy.resize(numpy.array([info.min, most, 0, 1, 77],
                                        dtype=kind), count)
    return flat.astype(kind).reshape(shape)


def described(name, array):
    kind = str(array.dtype)
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        # JSON has no numbers for these.
        values = [repr(v) if not numpy.isfinite(v) else v
                  for v in flat.astype(numpy.float64).tolist()]
    else:
        values = [int(v) for v in flat]
    return {"name": name, "type": READ_AS[kind], "shape": list(array.shape),
            "values": values}


def npy(array, version):
    out = io.BytesIO()
    numpy.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def record_npy():
    cases = []

    def add(array, version=(1, 0)):
        cases.append({"bytes": npy(array, version).hex(), "arrays": [
            described("", array.astype(array.dtype.newbyteorder("=")))]})
    for kind in TYPES:
        add(values_of(kind, (5,)))
        if numpy.dtype(kind).itemsize > 1:
            add(values_of(kind, (5,)).astype(numpy.dtype(kind).newbyteorder(">")))
    for shape, kind in itertools.product(
            ((), (0,), (0, 3), (2, 3), (2, 1, 3)), ("float32", "int16")):
        add(values_of(kind, shape))
        if len(shape) > 1:
            add(numpy.asfortranarray(values_of(kind, shape)))
    swapped = values_of("int32", (2, 3)).astype(">i4")
    for version in ((1, 0), (2, 0), (3, 0)):
        add(values_of("float64", (2, 2)), version)
        add(numpy.asfortranarray(swapped), version)
    for kind in ("complex64", "complex128", "S3", "U2", "datetime64[s]",
                 "float128"):
        array = numpy.zeros(2, kind)
        cases.append({"bytes": npy(array, (1, 0)).hex(),
                      "refused": array.dtype.str})
    return cases


def record_npz():
    cases = []
    arrays = {kind: values_of(kind, (3, 2)) for kind in TYPES}
    arrays |= {"scalar": values_of("float32", ()),
               "empty": values_of("int64", (0, 2)),
               "fortran": numpy.asfortranarray(values_of("float32", (2, 3)))}
    for save in numpy.savez, numpy.savez_compressed:
        out = io.BytesIO()
        save(out, **arrays)
        cases.append({"bytes": out.getvalue().hex(), "arrays": [
            described(*each) for each in arrays.items()]})
    return cases


def record_safetensors():
    cases = []
    arrays = {kind: values_of(kind, (2, 3)) for kind in TYPES}
    arrays |= {"scalar": values_of("float32", ()),
               "empty": values_of("int64", (0, 2)),
               "with \"quotes\" and ü": values_of("int8", (3,))}
    tensors = {name: torch.from_numpy(numpy.array(each))
               for name, each in arrays.items()}
    half = torch.tensor([[-0.0, 1.5, float("inf")], [float("nan"), 3e38, 1e-40]])
    half = half.to(torch.bfloat16)
    of_half = described("bfloat16", half.float().numpy()) | {"type": "BFloat16"}
    for metadata in (None, {"format": "pt", "note": "two\nlines"}):
        cases.append({
            "bytes": safetensors.torch.save({**tensors, "bfloat16": half},
                                            metadata).hex(),
            "arrays": [*(described(*each) for each in arrays.items()),
                       of_half]})
    cases.append({"bytes": safetensors.numpy.save(arrays).hex(),
                  "arrays": [described(*each) for each in arrays.items()]})
    cases.append({"bytes": safetensors.torch.save({}).hex(), "arrays": []})
    for kind in (torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64):
        cases.append({"bytes": safetensors.torch.save(
            {"a": torch.zeros(2).to(kind)}).hex(), "refused": str(kind)})
    return cases


def main():
    recorded = {"npy": record_npy(), "npz": record_npz(),
                "safetensors": record_safetensors()}
    path = FOLDER / "tensors.json"
    path.write_text(json.dumps(recorded, separators=(",", ":"))
                    .replace('},{"bytes', '},\n{"bytes') + "\n")
    print({k: len(v) for k, v in recorded.items()}, path.stat().st_size)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""How generators describe tensors for the tests, and reach parts of packages
whose own imports ask for far more than is needed here."""

import importlib
import importlib.util
import sys
import types

import torch

from fill import fill


def field(shape, stream, scale=1.0, shift=0.0, **kind):
    """Describes a tensor in double: fill() * scale + shift, and then one of
    classes=n    whole numbers 0 to n - 1 in place of it
    above=t      1 where fill() is above t, else 0
    steps=n      rounded to multiples of 1/n, so that there are ties
    softmax=d    softmax over dimension d
    and at last  set={flat index: value}, with "nan" for no number.
    """
    return {"shape": list(shape), "stream": stream, "scale": scale,
            "shift": shift, **kind}


def tensor_of(described):
    """Gives the tensor; described_field.h has the rule in C++."""
    values = fill(tuple(described["shape"]), described["stream"]).double()
    if "classes" in described:
        values = ((values + 0.5) * described["classes"]).floor().long()
    elif "above" in described:
        values = (values > described["above"]).double()
    else:
        values = values * described["scale"] + described["shift"]
        if "steps" in described:
            values = (values * described["steps"]).round() / described["steps"]
        if "softmax" in described:
            values = torch.softmax(values, described["softmax"])
    for index, value in described.get("set", {}).items():
        values.view(-1)[int(index)] = float(value)
    return values


def part_of(module, *others):
    """Imports a module without running the __init__ files above it, nor those
    of `others`, packages that it takes modules from."""
    above = module.rpartition(".")[0]
    for package in (above, *others):
        names = package.split(".")
        for depth in range(1, len(names) + 1):
            name = ".".join(names[:depth])
            if name in sys.modules:
                continue
            spec = importlib.util.find_spec(name)
            bare = types.ModuleType(name)
            bare.__path__ = list(spec.submodule_search_locations)
            sys.modules[name] = bare
    return importlib.import_module(module)


def digits(values):
    """Numbers with as many digits as the tests look at."""
    return [float(f"{v:.9g}") for v in values.detach().flatten().tolist()]

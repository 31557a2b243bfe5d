"""Decoders that look for fields in the wrong place, and kernels that use too much: each must be noticed.

The damages in machine_code_damages.py are of kernels; these are of what judges them.
"""

import re
import struct
import types

import machine_code_decoder
import machine_code_limits
import machine_code_probes


def without(table, key):
    return {k: v for k, v in table.items() if k != key}


OPERATIONS, ORDERS = machine_code_decoder.OPERATIONS, machine_code_decoder.ORDERS
DECODERS = {
    "widths elsewhere": {"WIDTHS": {0: 16, 1: 16, 2: 32, 3: 32, 4: 64, 5: 128, 6: 256}},
    "orders elsewhere": {"ORDERS": {**ORDERS, 0x7: ".STRONG.SYS", 0xA: ".STRONG.GPU"}},
    "the constant path unknown": {"ORDERS": {**ORDERS, 0x4: ""}},
    "scopes elsewhere": {"SCOPES": {0: ".CTA", 2: ".SYS", 3: ".GPU"}},
    "another cache control": {"INVALIDATE_ALL": 5},
    "another branch": {"BRANCH": 0x148},
    "an unknown fence": {"OPERATIONS": without(OPERATIONS, 0x192)},
    "an unknown barrier": {"OPERATIONS": without(OPERATIONS, 0x11D)},
    "local loads unknown": {"OPERATIONS": without(OPERATIONS, 0x183)},
    "loads and stores confused": {"OPERATIONS": {**OPERATIONS, 0x181: "STG", 0x186: "LDG"}},
}


def damaged_decoder(fields):
    copy = types.ModuleType("damaged_decoder")
    with open(machine_code_decoder.__file__, encoding="ascii") as file:
        exec(compile(file.read(), file.name, "exec"), copy.__dict__)
    for field, value in fields.items():
        assert hasattr(copy, field), field
        setattr(copy, field, value)
    return copy


def of_the_decoder(nvcc, architecture):
    data, said = machine_code_probes.compiled(nvcc, architecture)

    def troubles(data=data, said=said, fields=None):
        return list(machine_code_probes.troubles_of(data, said, architecture, damaged_decoder(fields or {})))

    yield "nothing", troubles(), False
    for what, fields in DECODERS.items():
        yield what, troubles(fields=fields), True
    for figure, pattern in machine_code_probes.FIGURES.items():
        other = {name: re.sub(pattern, lambda match: re.sub(r"\d+", "7", match.group()), text)
                 for name, text in said.items()}
        yield f"{figure} read wrong", troubles(said=other), True
    yield "a probe that is gone", troubles(data=data.replace(b"straight\0", b"sideways\0")), True
    instruction, = machine_code_decoder.decode(struct.pack("<QQ", 0x71B4, 0), architecture)
    yield "an operation of memory that nobody knows", [instruction.name] * instruction.name.startswith("UNKNOWN"), True


def of_the_limits():
    limits = machine_code_limits.Limits(threads=384, registers=160, shared=0, barriers=1)
    within = {"registers": 160, "frame": 0, "stack": 0, "shared": 0, "barriers": 1, "threads": 384}
    beyond = {"registers": 161, "frame": 8, "stack": 8, "shared": 4, "barriers": 2, "threads": None}
    yield "nothing", list(machine_code_limits.excesses(types.SimpleNamespace(**within), limits)), False
    for figure, value in beyond.items():
        yield f"{figure} of {value}", list(machine_code_limits.excesses(
            types.SimpleNamespace(**{**within, figure: value}), limits)), True
    yield "unknown registers", list(machine_code_limits.excesses(
        types.SimpleNamespace(**{**within, "registers": None}), limits)), True


def outcomes(nvcc, architecture):
    """(case, what was reported, whether something should be) of each case."""
    for whose, cases in {"the decoder": of_the_decoder(nvcc, architecture), "the limits": of_the_limits()}.items():
        for what, reports, expected in cases:
            yield f"{whose}: {what}", reports, expected

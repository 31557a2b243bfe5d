"""Checks the machine code that libraries embed: what each kernel uses, and its instructions against its PTX.

machine_code_static.py NVCC LAYOUT FILE...               prints each kernel's figures and what is wrong with it; exits 1
                                                         if anything is.
machine_code_static.py NVCC LAYOUT FILE... --self-test   damages kernels, compiles them and checks that each is noticed.

NVCC is the compiler that the files were built with; LAYOUT is what tests/layout_cuda.cpp prints: the kernels' names.
machine_code_limits.py has the limits, machine_code_mix.py says what is compared. No word of the decoder is taken for an
architecture before it has read the probes (machine_code_probes.py) right.
"""

import itertools
import json
import re
import sys

import machine_code_cubin
import machine_code_damages
import machine_code_decoder
import machine_code_limits
import machine_code_misreadings
import machine_code_mix
import machine_code_probes
import ptx_embedded
import ptx_program

TYPES = {"f": "f32", "d": "f64", "i": "i32"}


def name_of(mangled, collectives):
    for match in re.finditer(r"(\d+)([a-z_]+_kernel)(?:I([fdi])E)?", mangled):
        if match.group(1).endswith(str(len(match.group(2)))):  # a name, after its length, and no part of one
            return match.group(2) + (f"<{TYPES[match.group(3)]}>" if match.group(3) else "")
    if re.search(r"collectiveILNS_6KernelE|\d(messages|probe)", mangled):
        return ptx_program.short_name(mangled, collectives)
    return mangled  # a kernel that nobody gave limits to: see machine_code_limits.of


class Embedded:
    """The kernels of a few files: {(architecture, mangled name): ...} of machine code and of PTX."""

    def __init__(self, paths):
        self.cubins, self.ptx, self.modules = {}, {}, {}
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            for kind, architecture, body in ptx_embedded.fat_entries(data):
                if kind == 2:
                    for name, kernel in machine_code_cubin.kernels_of(body, architecture).items():
                        self.cubins[architecture, name] = kernel
                elif kind == 1:
                    module = body.split(b"\0")[0].decode()
                    for kernel in ptx_program.kernels_of(module):
                        self.ptx[architecture, kernel.name] = kernel
                        self.modules[architecture, kernel.name] = module

    def architectures(self):
        return sorted({architecture for architecture, _ in self.cubins})


def check_kernel(kernel, architecture, limits, ptx):
    """In words, what is wrong with the machine code of a kernel."""
    yield from machine_code_limits.excesses(kernel, limits)
    if ptx is None:
        yield "its PTX is not embedded beside it"
        return
    try:
        instructions = machine_code_decoder.decode(kernel.code, architecture)
    except ValueError as trouble:
        yield str(trouble)
        return
    yield from machine_code_mix.differences(instructions, kernel.shared, ptx)


def check(embedded, collectives):
    """Prints a line per kernel; yields what is wrong."""
    print(f"{'architecture, kernel':44}registers  stack  shared  barriers  instructions")
    found = set()
    for (architecture, mangled), kernel in sorted(embedded.cubins.items(), key=lambda item: (
            item[0][0], name_of(item[0][1], collectives))):
        name = name_of(mangled, collectives)
        found.add((architecture, name))
        troubles = list(check_kernel(kernel, architecture, machine_code_limits.of(name),
                                     embedded.ptx.get((architecture, mangled))))
        stack = "?" if None in (kernel.frame, kernel.stack) else max(kernel.frame, kernel.stack)
        print(f"{f'sm_{architecture} {name}':44}{kernel.registers or '?':9}{stack:7}{kernel.shared:8}"
              f"{kernel.barriers:10}{len(kernel.code) // machine_code_decoder.INSTRUCTION:14}"
              f"{'  WRONG, see below' if troubles else ''}")
        for trouble in troubles:
            yield f"sm_{architecture} {name}: {trouble}"
    for architecture, mangled in sorted(set(embedded.ptx) - set(embedded.cubins)):
        yield f"sm_{architecture} {name_of(mangled, collectives)}: its machine code is not embedded"
    for architecture in embedded.architectures():
        for name in sorted(set(collectives) - {"send", "recv"} | {"messages", "probe"}):
            if (architecture, name) not in found:
                yield f"sm_{architecture} {name}: its machine code is not embedded"


def self_test_failures(nvcc, embedded, collectives):
    """Prints each damage and what is reported of it; yields those of which nothing is."""
    cases = itertools.chain(
        machine_code_damages.outcomes(nvcc, embedded, lambda mangled: name_of(mangled, collectives), check_kernel),
        machine_code_misreadings.outcomes(nvcc, embedded.architectures()[-1]))
    for case, reports, expected in cases:
        said = "there is nothing to damage" if reports is None else "; ".join(reports[:2]) or "no report"
        if reports and len(reports) > 2:
            said += f"; and {len(reports) - 2} more"
        print(f"{case}: {said}")
        if reports is None or bool(reports) != expected:
            yield f"WRONG: {case}: {said}"


def main():
    self_test = sys.argv[-1] == "--self-test"
    nvcc, layout, *files = sys.argv[1:-1] if self_test else sys.argv[1:]
    with open(layout, encoding="ascii") as file:
        collectives = json.load(file)["kernels"]
    embedded = Embedded(files)
    if not embedded.cubins:
        sys.exit(f"no machine code is embedded in {', '.join(files)}")
    wrong = [f"the decoder does not know sm_{architecture} of this nvcc: {trouble}"
             for architecture in embedded.architectures()
             for trouble in machine_code_probes.troubles(nvcc, architecture)]
    if wrong:
        wrong.append("machine_code_decoder.py must learn what changed before anything that it reads can be believed")
    elif self_test:
        wrong = list(self_test_failures(nvcc, embedded, collectives))
    else:
        wrong = list(check(embedded, collectives))
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

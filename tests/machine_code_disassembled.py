"""Holds the decoder against nvdisasm, instruction by instruction, where there is one.

machine_code_disassembled.py NVCC FILE...   The libraries' kernels; exits 77 if no nvdisasm is found (TUTTI_NVDISASM,
                                            beside nvcc, PATH), as the toolkit need not have it.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import machine_code_cubin
import machine_code_decoder
import ptx_embedded

LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)")
OTHER_NAMES = {"CGAERRBAR": "ERRBAR", "RED": "REDG"}
SHOWN = 10


def nvdisasm(nvcc):
    compiler = shutil.which(nvcc)
    beside = os.path.join(os.path.dirname(compiler), "nvdisasm") if compiler else None
    named = filter(None, [os.environ.get("TUTTI_NVDISASM"), beside, "nvdisasm"])
    return next(filter(None, map(shutil.which, named)), None)


def named_as_decoded(text):
    """What the decoder should call the instruction that nvdisasm calls `text`; "" for what only computes."""
    name, *words = text.split(".")
    if name not in set(machine_code_decoder.OPERATIONS.values()) | set(OTHER_NAMES):
        return ""
    if name in machine_code_decoder.ACCESSES:
        width = next((re.sub("[US]", "", word) for word in words if re.fullmatch(r"[US]?(8|16|64|128)", word)), "32")
        if "STRONG" in words:
            return f"{name}.{width}.STRONG.{words[words.index('STRONG') + 1]}"
        return f"{name}.{width}" + (".CONSTANT" if "CONSTANT" in words else "")
    if name in ("MEMBAR", "CCTL"):
        return text
    if name == "ATOMG" and "CAS" in words:
        return "ATOMG.CAS"
    return OTHER_NAMES.get(name, name)


def disassembled(program, cubin):
    """{kernel: {address: the instruction's name}}"""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([program, "-c", file.name], capture_output=True, text=True, check=True).stdout
    kernels = collections.defaultdict(dict)
    for line in text.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.([^,]+),", line):
            kernel = section.group(1)
        elif match := LINE.match(line):
            address, guard, name = match.groups()
            kernels[kernel][int(address, 16)] = "" if guard == "!PT" else named_as_decoded(name)
    return kernels


def main():
    nvcc, *files = sys.argv[1:]
    program = nvdisasm(nvcc)
    if program is None:
        print("skipped: no nvdisasm beside nvcc, in PATH or named by TUTTI_NVDISASM")
        sys.exit(77)
    compared, wrong = 0, []
    for path in files:
        with open(path, "rb") as file:
            entries = list(ptx_embedded.fat_entries(file.read()))
        for architecture, body in [(architecture, body) for kind, architecture, body in entries if kind == 2]:
            theirs = disassembled(program, body)
            for name, kernel in machine_code_cubin.kernels_of(body, architecture).items():
                for instruction in machine_code_decoder.decode(kernel.code, architecture):
                    compared += 1
                    other = theirs[name].get(instruction.address)
                    if instruction.name != other:
                        wrong.append(f"sm_{architecture} {name} at {instruction.address:#x}: decoded "
                                     f"'{instruction.name}', nvdisasm has '{other}'")
    print("\n".join(wrong[:SHOWN] + [f"and {len(wrong) - SHOWN} more"] * (len(wrong) > SHOWN)))
    print(f"{compared} instructions compared with {program}")
    sys.exit(1 if wrong or compared == 0 else 0)


if __name__ == "__main__":
    main()

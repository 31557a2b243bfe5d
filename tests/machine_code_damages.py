"""Kernels that are damaged before ptxas compiles them: their machine code, held against the whole PTX, must be noticed.

So each stands for a ptxas that would drop a fence, split an access and the like. The damages are made on short kernels
that have what is damaged. What machine code cannot show is left to ptx_static.py: a volatile access is a relaxed one
there, and an acquire whose value nobody uses has no scope.
"""

import concurrent.futures
import os
import re
import subprocess
import tempfile

import machine_code_cubin
import machine_code_limits
import ptx_program


def every(pattern, replacement):
    return lambda ptx: re.sub(pattern, replacement, ptx)


def one(pattern, replacement):
    return lambda ptx: re.sub(pattern, replacement, ptx, count=1)


def in_four(ptx):
    """16-byte accesses as four of 4 bytes."""
    def quarters(match):
        words = re.findall(r"%r\d+", match.group())
        base, offset = re.search(r"\[(%rd\d+)(?:\+(\d+))?\]", match.group()).groups()
        places = [f"[{base}+{int(offset or 0) + 4 * i}]" for i in range(4)]
        form = {"ld": "ld.global.u32 {0}, {1};", "st": "st.global.u32 {1}, {0};"}[match.group(1)]
        return "\n".join(form.format(word, place) for word, place in zip(words, places))

    return re.sub(r"(ld|st)\.global\.v4\.u32[^;]*;", quarters, ptx)


RELEASE = r"st\.release\.sys\.global\.u64"
POLL = r"ld\.relaxed\.sys\.global\.u64"
WIDE_LOAD = r"ld\.global\.v4\.u32"
FLAGS = {
    "a signal that is not released": one(RELEASE, "st.relaxed.sys.global.u64"),
    "no signal is released": every(RELEASE, "st.relaxed.sys.global.u64"),
    "signals released to the own GPU alone": every(RELEASE, "st.release.gpu.global.u64"),
    "a weak signal": one(RELEASE, "st.global.u64"),
    "a signal that is gone": one(r"\n\s*" + RELEASE + r"[^\n]*", ""),
    "a signal by an atomic": one(RELEASE + r"\s*(\[[^\]]*\]),\s*([^;]*);", r"red.release.sys.global.add.u64 \1, \2;"),
    "a fence too many": one(RELEASE + r"[^;]*;", r"fence.acq_rel.sys; \g<0>"),
    "a wait that acquires nothing": one(r"ld\.acquire\.sys", "ld.relaxed.sys"),
    "an acquire that is gone": one(r"\n\s*ld\.acquire\.sys[^\n]*", ""),
    "a load before its wait has acquired": one(
        r"ld\.acquire\.sys\.global\.u64\s*%rd\d+,\s*\[(%rd\d+)(\+\d+)?\];",
        r"{ .reg .b32 %early; ld.global.u32 %early, [\1+8]; \g<0> st.global.u32 [\1+12], %early; }"),
    "a weak poll": one(POLL, "ld.global.u64"),
    "a poll of the own GPU alone": one(POLL, "ld.relaxed.gpu.global.u64"),
}
COPIES = {
    "16-byte copies in four": in_four,
    "16-byte loads by the constant path": every(WIDE_LOAD, "ld.global.nc.v4.u32"),
    "4-byte loads by the constant path": every(r"ld\.global\.u32", "ld.global.nc.u32"),
    "16-byte loads of generic memory": every(WIDE_LOAD, "ld.v4.u32"),
    "strong copies": every(WIDE_LOAD, "ld.relaxed.sys.global.v4.u32"),
    "a spill": every(r"\.minnctapersm 1", ".minnctapersm 5"),
    "a barrier that is gone": one(r"\n\s*bar\.sync[^\n]*", ""),
    "a barrier twice": one(r"\n\s*bar\.sync[^\n]*", r"\g<0>\g<0>"),
}
PACKETS = {
    "packets in two words": every(
        r"st\.relaxed\.sys\.global\.b64\s*\[(%rd\d+)\],\s*(%rd\d+);",
        r"{ .reg .b32 %low, %high; mov.b64 {%low, %high}, \2;\n"
        r"st.relaxed.sys.global.b32 [\1], %low;\nst.relaxed.sys.global.b32 [\1+4], %high; }"),
    "weak packets": every(r"st\.relaxed\.sys\.global\.b64", "st.global.b64"),
    "packets polled weakly": every(r"ld\.relaxed\.sys\.global\.b64", "ld.global.b64"),
    # The low half is read as 0, so that a load of 32 bits is enough.
    "packets polled by half": every(r"ld\.relaxed\.sys\.global\.b64\s*(%rd\d+),[^;]*;",
                                    r"\g<0>\nand.b64 \1, \1, 0xffffffff00000000;"),
}
PLAN = {"barrier": FLAGS, "direct_broadcast": COPIES, "packets_all_gather": PACKETS}


def compiled(nvcc, architecture, module, ptx):
    """The machine code of one kernel, whose PTX stands alone under the head of its module."""
    head = re.match(r".*?\.address_size\s+\d+", module, re.S).group()
    with tempfile.TemporaryDirectory() as folder:
        path, cubin = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{head}\n.visible {ptx}\n")
        done = subprocess.run([nvcc, "-cubin", f"-arch=sm_{architecture}", path, "-o", cubin], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"ptxas refuses damaged PTX:\n{done.stdout}{done.stderr}")
        with open(cubin, "rb") as file:
            kernel, = machine_code_cubin.kernels_of(file.read(), architecture).values()
            return kernel


def outcomes(nvcc, embedded, name_of, check_kernel):
    """(case, what was reported or None if nothing could be damaged, whether something should be) of each case."""
    architecture = embedded.architectures()[-1]
    work = [(name, what, damage, mangled) for at, mangled in embedded.ptx
            if at == architecture and (name := name_of(mangled)) in PLAN
            for what, damage in [("nothing", None), *PLAN[name].items()]]

    def outcome(item):
        name, what, damage, mangled = item
        undamaged = embedded.ptx[architecture, mangled]
        whole = ptx_program.without_source_lines(undamaged.text)
        ptx = damage(whole) if damage else whole
        if damage and ptx == whole:
            return f"{name}: {what}", None, True
        kernel = compiled(nvcc, architecture, embedded.modules[architecture, mangled], ptx)
        reports = list(check_kernel(kernel, architecture, machine_code_limits.of(name), undamaged))
        return f"{name}: {what}", reports, damage is not None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        yield from threads.map(outcome, work)
    for name in sorted(set(PLAN) - {name for name, _, _, _ in work}):
        yield f"{name}: not embedded", None, True

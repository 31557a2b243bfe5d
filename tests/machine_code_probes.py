"""Kernels whose machine code is known, compiled to see whether the decoder reads it right.

NVIDIA documents neither the machine code nor what ptxas makes of an instruction. So each probe says what the decoder
must find in it, and what cubins say of themselves is held against what `ptxas -v` prints. Any difference means that a
compiler or an architecture is new to the decoder, whose word must then not be taken.
"""

import collections
import os
import re
import subprocess
import tempfile

import machine_code_cubin
import machine_code_decoder

# Of no interest: loads of parameters, and what follows a fence.
UNCOUNTED = {"", "LDC", "LDCU", "ERRBAR"}


def load(how, kind="u64", letter="l", ctype="uint64_t"):
    return f'{ctype} v; asm volatile("{how}.{kind} %0, [%1];" : "={letter}"(v) : "l"(p) : "memory"); *({ctype}*)q = v;'


def store(how, kind="u64", letter="l", value="(uint64_t)n"):
    return f'asm volatile("{how}.{kind} [%0], %1;" :: "l"(p), "{letter}"({value}) : "memory");'


def fence(how):
    return f'asm volatile("{how};" ::: "memory");'


QUAD = ('asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) :'
        ' "l"(p + i) : "memory"); asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::'
        ' "l"(q + i), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");')
# Values that are all alive at once, more than there are registers for.
CROWD = ("uint32_t v[100];\n"
         "#pragma unroll\n for (int i = 0; i < 100; ++i) v[i] = ((volatile uint32_t*)p)[i * n];\n"
         " __syncthreads();\n"
         "#pragma unroll\n for (int i = 0; i < 100; ++i) ((volatile uint32_t*)q)[i * n] = v[i];")

# name: (what stands before the kernel, its body, the instructions of memory and synchronisation in it); all must be
# there and no others. "any" of an instruction is one or more.
PROBES = {
    "weak_8": ("", load("ld.global", "u8", "r", "uint32_t") + store("st.global", "u8", "r", "n"),
               {"LDG.8": 1, "STG.8": 1, "STG.32": 1}),
    "weak_16": ("", load("ld.global", "u16", "h", "uint16_t"), {"LDG.16": 1, "STG.16": 1}),
    "weak_32": ("", load("ld.global", "u32", "r", "uint32_t"), {"LDG.32": 1, "STG.32": 1}),
    "weak_64": ("", load("ld.global"), {"LDG.64": 1, "STG.64": 1}),
    "weak_128": ("", f"uint4 v; int i = n; {QUAD}", {"LDG.128": 1, "STG.128": 1}),
    "relaxed_load_of_a_system": ("", load("ld.relaxed.sys.global"), {"LDG.64.STRONG.SYS": 1, "STG.64": 1}),
    "relaxed_load_of_a_gpu": ("", load("ld.relaxed.gpu.global"), {"LDG.64.STRONG.GPU": 1, "STG.64": 1}),
    "relaxed_load_of_a_block": ("", load("ld.relaxed.cta.global"), {"LDG.64.STRONG.SM": 1, "STG.64": 1}),
    "relaxed_load_of_32": ("", load("ld.relaxed.sys.global", "u32", "r", "uint32_t"),
                           {"LDG.32.STRONG.SYS": 1, "STG.32": 1}),
    "acquire_of_a_system": ("", load("ld.acquire.sys.global"),
                            {"LDG.64.STRONG.SYS": 1, "CCTL.IVALL": 1, "STG.64": 1}),
    # Its value is not used: what ptxas keeps is the invalidation, which is what an acquire does after its load.
    "acquire_for_order_alone": (
        "", load("ld.relaxed.sys.global") +
        'if (v) { uint64_t w; asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(w) : "l"(p) : "memory"); }',
        {"LDG.64.STRONG.SYS": 1, "CCTL.IVALL": 1, "STG.64": 1}),
    "relaxed_store_of_a_system": ("", store("st.relaxed.sys.global"), {"STG.64.STRONG.SYS": 1}),
    "relaxed_store_of_a_gpu": ("", store("st.relaxed.gpu.global"), {"STG.64.STRONG.GPU": 1}),
    "release_of_a_system": ("", store("st.release.sys.global"), {"MEMBAR.ALL.SYS": 1, "STG.64.STRONG.SYS": 1}),
    "release_of_a_gpu": ("", store("st.release.gpu.global"), {"MEMBAR.ALL.GPU": 1, "STG.64.STRONG.GPU": 1}),
    "release_of_a_block": ("", store("st.release.cta.global"), {"MEMBAR.ALL.CTA": 1, "STG.64.STRONG.SM": 1}),
    "fence_of_a_system": ("", fence("fence.acq_rel.sys"), {"MEMBAR.ALL.SYS": 1, "CCTL.IVALL": 1}),
    "fence_of_a_gpu": ("", fence("fence.acq_rel.gpu"), {"MEMBAR.ALL.GPU": 1, "CCTL.IVALL": 1}),
    "fence_of_sequential_consistency": ("", fence("fence.sc.sys"), {"MEMBAR.SC.SYS": 1, "CCTL.IVALL": 1}),
    "noncoherent_load": ("", "*q = __ldg((const uint4*)p);", {"LDG.128.CONSTANT": 1, "STG.128": 1}),
    "generic_load": ("", load("ld"), {"LD.64": 1, "STG.64": 1}),
    "generic_store": ("", store("st"), {"ST.64": 1}),
    "reduction": ("", store("red.relaxed.sys.global.add", "u32", "r", "n"), {"REDG": 1}),
    "exchange": ("", 'uint64_t v; asm volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %2;" : "=l"(v) : "l"(p), '
                 '"l"((uint64_t)n) : "memory"); *(uint64_t*)q = v;', {"ATOMG.CAS": 1, "STG.64": 1}),
    "barriers": ("__launch_bounds__(384)", load("ld.global") + ' asm volatile("bar.sync 0; bar.sync 1;" ::: "memory"); '
                 "q->x = __syncthreads_or(n == (int)v);", {"BAR": 3, "LDG.64": 1, "STG.64": 1, "STG.32": 1}),
    "shared_memory": ("", "__shared__ uint32_t s[256]; s[threadIdx.x] = n; __syncthreads();"
                      "q->x = s[255 - threadIdx.x];",
                      {"STS.32": 1, "BAR": 1, "LDS.32": 1, "STG.32": 1}),
    "spills": ("__launch_bounds__(1024, 2)", CROWD,
               {"STL": "any", "LDL": "any", "BAR": 1, "LDG.32.STRONG.SYS": 100, "STG.32.STRONG.SYS": 100}),
    "straight": ("", f"uint4 v; int i = threadIdx.x; if (i < n) {{ {QUAD} }}", {"LDG.128": 1, "STG.128": 1}),
    "around": ("", f"uint4 v;\n#pragma unroll 1\n for (int i = threadIdx.x; i < n; i += 256) {{ {QUAD} }}",
               {"LDG.128": 1, "STG.128": 1}),
}
FIGURES = {"registers": r"Used (\d+) registers", "barriers": r"used (\d+) barriers", "shared": r"(\d+) bytes smem",
           "frame": r"(\d+) bytes stack frame"}


def source():
    text = ["#include <cstdint>"]
    for name, (before, body, _) in PROBES.items():
        text.append(f'extern "C" __global__ void {before} {name}(uint4* p, uint4* q, int n) {{ {body} }}')
    return "\n".join(text) + "\n"


def compiled(nvcc, architecture):
    """The cubin of the probes, and what ptxas says of each."""
    with tempfile.TemporaryDirectory() as folder:
        path, cubin = os.path.join(folder, "probes.cu"), os.path.join(folder, "probes.cubin")
        with open(path, "w", encoding="ascii") as file:
            file.write(source())
        command = [nvcc, "-O3", "-std=c++20", "-w", "-cubin", f"-arch=sm_{architecture}", "-Xptxas=-v", path]
        command += ["-o", cubin]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        said = {}
        for part in re.split(r"(?=Compiling entry function)", done.stdout + done.stderr):
            if name := re.match(r"Compiling entry function '(\w+)'", part):
                said[name.group(1)] = part
        with open(cubin, "rb") as file:
            return file.read(), said


def troubles_with_mix(name, mix, expected):
    expected = dict(expected)
    for kind in [kind for kind, count in expected.items() if count == "any"]:
        del expected[kind]
        found = [instruction for instruction in mix if instruction.startswith(kind + ".")]
        if not found:
            yield f"probe {name}: no {kind}"
        for instruction in found:
            del mix[instruction]
    if dict(mix) != expected:
        yield f"probe {name}: expected {expected}, decoded {dict(mix)}"


def troubles_of(data, said, architecture, decoder=machine_code_decoder):
    kernels = machine_code_cubin.kernels_of(data, architecture)
    for name, (_, _, expected) in PROBES.items():
        kernel = kernels.get(name)
        if kernel is None:
            yield f"probe {name}: not in the cubin"
            continue
        try:
            instructions = decoder.decode(kernel.code, architecture)
        except ValueError as trouble:
            yield f"probe {name}: {trouble}"
            continue
        yield from troubles_with_mix(name, collections.Counter(i.name for i in instructions if i.name not in UNCOUNTED),
                                     expected)
        for figure, pattern in FIGURES.items():
            match = re.search(pattern, said.get(name, ""))
            told, read = int(match.group(1)) if match else 0, getattr(kernel, figure)
            if told != read or figure == "registers" and told == 0:
                yield f"probe {name}: ptxas says {told} for {figure}, its cubin {read}"
        loops = decoder.in_loops(instructions)
        if any(loops[i.index] for i in instructions if i.name == "LDG.128") != (name == "around"):
            yield f"probe {name}: a loop is taken for none, or none for one"
    if "barriers" in kernels and kernels["barriers"].threads != 384:
        yield f"probe barriers: at most 384 threads in its source, {kernels['barriers'].threads} in its cubin"
    if "spills" in kernels and not (kernels["spills"].frame and kernels["spills"].stack):
        yield "probe spills: its frame or stack is read as none"


def troubles(nvcc, architecture):
    """What the decoder gets wrong of machine code for sm_<architecture>; it may be believed only if that is nothing."""
    return list(troubles_of(*compiled(nvcc, architecture), architecture))


if __name__ == "__main__":
    import sys
    sys.exit("\n".join(f"sm_{architecture}: {trouble}" for architecture in sys.argv[2:]
                       for trouble in troubles(sys.argv[1], int(architecture))) or 0)

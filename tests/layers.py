"""Checks that the tree keeps its layers: which folders there are, who includes whom, who names CUDA, PTX and MPI.

layers.py ROOT prints one line per violation and exits 1 if there is any.
layers.py --self-test plants violations of every rule in a temporary tree and checks that each is reported.
"""

import os
import re
import sys
import tempfile

import tracked

FOLDERS = {"kernels", "collectives", "trainers", "tests", "bench", "docs"}
# trainers see one header of collectives and none of kernels.
MAY_INCLUDE = {
    "kernels": r"kernels/",
    "collectives": r"(kernels|collectives)/",
    "trainers": r"(trainers/|collectives/tutti\.hpp$)",
    "bench": r"(kernels|collectives|trainers|bench)/",
    "tests": r"(kernels|collectives|trainers|bench|tests)/",
}
SOURCE = re.compile(r"\.(hpp|cpp|inl|h|c|cuh|cu)$")
CUDA_FILE = re.compile(r"(\.cuh?|_cuda\.\w+)$|^collectives/([^/]*nccl[^/]*$|nccl_interface/)|^tests/emulator/")
CUDA_NAME = re.compile(
    r"\b(cuda[A-Z]\w*|cu[A-Z][a-z]\w*\s*\(|CUDA_\w+|cublas\w+|nccl[A-Z]\w*|__global__|__shared__|__syncthreads|threadIdx|blockIdx)"
    r"|<<<|#\s*include\s*[<\"](cuda|cublas|nccl|nvtx3)")
# What both compilers read is marked by two macros, and they have a home each.
BOTH_NAME = re.compile(r"\b(__CUDACC__|__CUDA_ARCH__|__host__|__device__)\b")
BOTH_HOMES = ("kernels/types.hpp", "kernels/views.hpp", "kernels/half.hpp")
MPI_FILE = re.compile(r"^collectives/([^/]+/)*[^/]*mpi[^/]*$|^bench/(peers/library_|startup/)mpi\.cpp$|^tests/")
MPI_NAME = re.compile(r"\b(MPI_\w+|OMPI_\w+)\b|#\s*include\s*[<\"]mpi\.h")
# An empty text is no instruction but a barrier for the compiler, which host code may need.
ASM_NAME = re.compile(r"\b(asm|__asm__|__asm)\b(?!\s*(volatile|__volatile__)?\s*\(\s*\"\"\s*[:)])")
ASM_HOME = "kernels/ptx.cuh"
# What nvcc never reads may hold an instruction of the CPU.
ASM_HOST = re.compile(r"^kernels/[^/]*_host\.(hpp|cpp)$")
BANNED_NAME = re.compile(r"(^|/)(utils?|common|misc|core)(\.|/|$)")
MACHINE_PATH = re.compile(r"(?<![\w.})>*+?\]])/(work|root|home)/")


def code_only(text):
    """The text without comments and with "..." in place of every string literal that is not empty; includes are kept."""

    def blank(match):
        token = match.group(0)
        if token.lstrip()[0] == "#":
            return token
        return "\n" * token.count("\n") if token[0] == "/" else '""' if token == '""' else '"..."'

    pattern = r"^[ \t]*#[ \t]*include[^\n]*|//[^\n]*|/\*.*?\*/|R\"\((?:.*?)\)\"|\"(?:\\.|[^\"\\\n])*\""
    return re.sub(pattern, blank, text, flags=re.S | re.M)


def check_source(name, code):
    layer = name.split("/")[0]
    for number, line in enumerate(code.split("\n"), 1):
        where = f"{name}:{number}"
        include = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)", line)
        if include and layer in MAY_INCLUDE:
            target = include.group(2)
            ours = include.group(1) == '"' or target.split("/")[0] in FOLDERS
            if ours and not re.match(MAY_INCLUDE[layer], target):
                yield f"{where}: {layer} may not include \"{target}\" (paths begin at the root, arrows point one way)"
        if not CUDA_FILE.search(name):
            if CUDA_NAME.search(line):
                yield f"{where}: only *.cu, *.cuh, *_cuda.* and the NCCL backend name CUDA: {line.strip()}"
            elif BOTH_NAME.search(line) and name not in BOTH_HOMES:
                yield f"{where}: host and device qualifiers are named only in {', '.join(BOTH_HOMES)}: {line.strip()}"
        if ASM_NAME.search(line) and name != ASM_HOME and not ASM_HOST.search(name) and layer in ("kernels", "collectives", "trainers"):
            yield f"{where}: inline assembly belongs in {ASM_HOME}: {line.strip()}"
        if MPI_NAME.search(line) and not MPI_FILE.search(name):
            yield f"{where}: only the MPI bootstrap and backend name MPI: {line.strip()}"


def violations(root):
    names = tracked.files(root)
    folders = {name.split("/")[0] for name in names if "/" in name and not name.startswith(".")}
    for folder in sorted(folders - FOLDERS):
        yield f"{folder}/: not one of the top-level folders {' '.join(sorted(FOLDERS))}"
    for folder in sorted(FOLDERS - folders):
        yield f"{folder}/: this top-level folder is missing"
    for name in names:
        if BANNED_NAME.search(name):
            yield f"{name}: a name that says no duty (utils, common, misc, core)"
        with open(os.path.join(root, name), "rb") as file:
            data = file.read()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", "replace")
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: an absolute path of some machine: {line.strip()}"
            # Assembled from two parts so that this file does not name the flag.
            if "march=" + "native" in line and re.search(r"(CMakeLists\.txt|\.cmake|\.json|^tutti)$", name):
                yield f"{name}:{number}: what is built must run on other machines: {line.strip()}"
        if SOURCE.search(name):
            yield from check_source(name, code_only(text))


CLEAN = {
    "tutti": "#!/usr/bin/env bash\ncd build/root/x\n",
    ".ci/run": "exec ./tutti test\n",
    "docs/page.md": "cudaMalloc and MPI_Init may be named in prose; see https://example.org/home/page\n",
    "kernels/ring.hpp": '#include <cstddef>\n#include "kernels/types.hpp"\n// cudaMalloc, MPI_Send: only a comment\n',
    "kernels/types.hpp": "#ifdef __CUDACC__\n#define TUTTI_HD __host__ __device__\n#endif\n",
    "kernels/ptx.cuh": '__device__ inline void f() { asm volatile("membar.sys;"); }\n',
    "kernels/block.hpp": 'inline void f() { asm volatile(""); asm volatile("" ::: "memory"); }\n',
    "kernels/block_host.hpp": 'inline void f() { asm volatile("yield"); }\n',
    "kernels/launch.cu": '#include "kernels/ring.hpp"\n__global__ void f() {}\n',
    "collectives/tutti.hpp": '#include "kernels/types.hpp"\nconst char* const text = "MPI_Init \\" cudaMalloc";\n',
    "collectives/bootstrap_mpi.cpp": "#include <mpi.h>\nvoid f() { MPI_Init(nullptr, nullptr); }\n",
    "collectives/memory_cuda.cpp": "#include <cuda_runtime.h>\nvoid f() { cudaFree(nullptr); }\n",
    "collectives/nccl_backend.cpp": "void f() { ncclGroupStart(); }\n",
    "collectives/nccl_interface/group.cpp": "ncclResult_t ncclGroupStart() { return ncclSuccess; }\n",
    "trainers/mlp.cpp": '#include "collectives/tutti.hpp"\n#include "trainers/mlp.hpp"\nint cut_mpi_like = 0;\n',
    "bench/peers/library_mpi.cpp": "#include <mpi.h>\nvoid f() { MPI_Init(nullptr, nullptr); }\n",
    "bench/table.cpp": '#include "trainers/mlp.hpp"\n#include "kernels/ring.hpp"\n',
    "tests/ring_test.cpp": '#include "bench/table.hpp"\n#include "tests/inputs.hpp"\n',
    "tests/emulator/runtime.cpp": "int cudaMalloc(void**, unsigned long);\n",
}
# What is planted, and words of the one report it must cause.
PLANTED = [
    ("extra/a.txt", "", "not one of the top-level folders"),
    ("kernels/a.hpp", '#include "collectives/tutti.hpp"\n', "kernels may not include"),
    ("kernels/a.hpp", '#include "types.hpp"\n', "kernels may not include"),
    ("kernels/a.hpp", "#include <collectives/tutti.hpp>\n", "kernels may not include"),
    ("collectives/a.cpp", '#include "trainers/mlp.hpp"\n', "collectives may not include"),
    ("trainers/a.cpp", '#include "kernels/ring.hpp"\n', "trainers may not include"),
    ("trainers/a.cpp", '  #  include "collectives/bootstrap.hpp"\n', "trainers may not include"),
    ("bench/a.cpp", '#include "tests/inputs.hpp"\n', "bench may not include"),
    ("collectives/a.cpp", "int f() { return cudaDeviceSynchronize(); }\n", "name CUDA"),
    ("collectives/a.cpp", "#include <cuda_runtime.h>\n", "name CUDA"),
    ("trainers/a.cpp", "void f() { ncclGroupStart(); }\n", "name CUDA"),
    ("collectives/interface/nccl.cpp", "void f() { ncclGroupStart(); }\n", "name CUDA"),
    ("kernels/a.hpp", "__global__ void f();\n", "name CUDA"),
    ("kernels/a.hpp", "__device__ void f();\n", "qualifiers are named only"),
    ("kernels/a.cuh", 'inline void f() { asm volatile("membar.sys;"); }\n', "inline assembly"),
    ("kernels/a.hpp", 'inline void f() { asm("nop"); }\n', "inline assembly"),
    ("kernels/a.inl", 'inline void f() { asm volatile("" "pause" ::: "memory"); }\n', "inline assembly"),
    ("collectives/a_cuda.cpp", 'void f() { __asm__("nop"); }\n', "inline assembly"),
    ("collectives/a.cpp", "/* a\ncomment */ void f() { MPI_Barrier(MPI_COMM_WORLD); }\n", "name MPI"),
    ("kernels/mpi.hpp", "#include <mpi.h>\n", "name MPI"),
    ("bench/a.cpp", "int x = MPI_SUCCESS;\n", "name MPI"),
    ("trainers/mpi_a.cpp", "int x = MPI_SUCCESS;\n", "name MPI"),
    ("docs/a.md", "see /" + "work/main/README\n", "absolute path"),
    ("tests/a.py", 'path = "/' + 'home/someone/data"\n', "absolute path"),
    ("bench/CMakeLists.txt", "add_compile_options(-march=" + "native)\n", "run on other machines"),
    ("collectives/utils.hpp", "", "says no duty"),
]


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as root:
        for name, text in CLEAN.items():
            write(root, name, text)
        failures += [f"reported in the clean tree: {line}" for line in violations(root)]
        for name, text, expected in PLANTED:
            write(root, name, text)
            got = list(violations(root))
            if len(got) != 1 or expected not in got[0] or name.split("/")[0] not in got[0]:
                failures.append(f"planted {text!r} in {name}: expected one report with '{expected}', got {got}")
            os.remove(os.path.join(root, name))
            if not os.listdir(os.path.dirname(os.path.join(root, name))):
                os.rmdir(os.path.dirname(os.path.join(root, name)))
        os.remove(os.path.join(root, "docs/page.md"))
        if not any("docs/: this top-level folder is missing" in line for line in violations(root)):
            failures.append("a missing docs folder is not reported")
    return failures


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: layers.py ROOT | --self-test")
    found = self_test() if sys.argv[1] == "--self-test" else list(violations(sys.argv[1]))
    print("\n".join(found) or "no violation")
    sys.exit(1 if found else 0)

"""Looks at the library itself: library.py LIBRARY HEADER...

It has NCCL's soname, every function that the headers declare, no other symbol, and needs no MPI, itself or by what it
needs. --self-test checks that a library without all this is told from it.
"""

import re
import subprocess
import sys
import tempfile

DECLARED = re.compile(r"^\s*(?:NCCL_EXTERN_C\s+__host__\s+)?(?:const\s+char\s*\*|ncclResult_t|void|int|ncclTeam_t)\s+(p?nccl[A-Z]\w*)\s*\(", re.M)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def functions(headers):
    names = set()
    for header in headers:
        with open(header) as file:
            names.update(DECLARED.findall(file.read()))
    return names


def complaints(library, headers):
    soname = re.search(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", library))
    if not soname or soname.group(1) != "libnccl.so.2":
        yield f"the soname is {soname.group(1) if soname else 'missing'}, expected libnccl.so.2"
    exported = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--defined-only", library).splitlines()}
    declared = functions(headers)
    if len(declared) < 90:
        yield f"only {len(declared)} functions found in {' '.join(headers)}: is this NCCL's header?"
    for name in sorted(declared - exported):
        yield f"{name} is declared and missing"
    for name in sorted(exported):
        if not re.match(r"p?nccl[A-Z]", name):
            yield f"{name} is exported and none of NCCL's names"
    for line in output("ldd", library).splitlines():
        if re.match(r"\s*lib(mpi|open-rte|open-pal|pmi)", line):
            yield f"needs MPI: {line.strip()}"


def self_test(compiler):
    with tempfile.TemporaryDirectory() as folder:
        source, library, header = (f"{folder}/{name}" for name in ("l.c", "l.so", "h.h"))
        with open(source, "w") as file:
            file.write("int ncclGetVersion(int* v) { return *v; }\nint stray(void) { return 0; }\n")
        with open(header, "w") as file:
            file.write("ncclResult_t  ncclGetVersion(int *version);\nncclResult_t pncclGetVersion(int *version);\n")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        got = " / ".join(complaints(library, [header]))
    expected = ["soname is missing", "only 2 functions", "pncclGetVersion is declared and missing", "stray is exported"]
    return [f"not noticed: {text}, in: {got}" for text in expected if text not in got]


if __name__ == "__main__":
    found = self_test(sys.argv[2]) if sys.argv[1] == "--self-test" else list(complaints(sys.argv[1], sys.argv[2:]))
    print("\n".join(found) or "nothing to complain of")
    sys.exit(1 if found else 0)

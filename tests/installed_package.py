"""Installs tutti, moves it, and builds the README's program against it in a folder of its own.

installed_package.py CMAKE BUILD SOURCE MPIEXEC CXX CUDA: BUILD is a built folder of the tree SOURCE; CUDA is ON if it
was built with CUDA. installed_package.py --self-test checks that what must not be installed is found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(ten_lines LANGUAGES CXX)
find_package(tutti %s REQUIRED)
add_executable(ten_lines ten_lines.cpp)
target_link_libraries(ten_lines PRIVATE tutti::tutti)
"""
# A header that stands alone, and does not need what the tree is compiled with.
EACH_HEADER = """add_library(header_%(number)d OBJECT header_%(number)d.cpp)
target_link_libraries(header_%(number)d PRIVATE tutti::tutti)
target_compile_options(header_%(number)d PRIVATE -Wall -Wextra -Wshadow -Wpedantic -Wconversion -Werror)
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=500, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def headers_of(source, name, found=None):
    """`name` and what it includes from the tree, all the way."""
    found = set() if found is None else found
    if name not in found:
        found.add(name)
        with open(os.path.join(source, name)) as file:
            for included in re.findall(r'^\s*#\s*include\s*"([^"]+)"', file.read(), re.M):
                headers_of(source, included, found)
    return found


def files_in(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


def folders_named(prefix, forbidden):
    """One line per file of CMake that names a folder which is not there on another machine."""
    for name in sorted(files_in(prefix)):
        if name.endswith(".cmake"):
            with open(os.path.join(prefix, name)) as file:
                for number, line in enumerate(file, 1):
                    for folder in forbidden:
                        if folder in line:
                            yield f"{name}:{number}: names {folder}: {line.strip()}"
                    # Everything is found from the file's own place, or by the packages that it asks for.
                    if not line.lstrip().startswith("#") and re.search(r'[";= ](/usr|/opt|/tmp|/home)\b', line):
                        yield f"{name}:{number}: an absolute path: {line.strip()}"


def run_path(program):
    found = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", program))
    return found.group(1).split(":") if found else []


def check(cmake, build, source, mpiexec, cxx, cuda):
    failures = []
    with tempfile.TemporaryDirectory(prefix="tutti installed ") as folder:
        first, prefix = os.path.join(folder, "first"), os.path.join(folder, "moved here")
        run(cmake, "--install", build, "--prefix", first)
        os.rename(first, prefix)
        here = {way(folder) for folder in (build, source) for way in (os.path.realpath, os.path.abspath)}
        failures += folders_named(prefix, sorted({*here, first}))

        installed = files_in(prefix)
        headers = {name.removeprefix("include/tutti/") for name in installed if name.startswith("include/")}
        needed = headers_of(source, "collectives/tutti.hpp")
        if headers != needed:
            failures.append(f"installed headers {sorted(headers)}, and tutti.hpp needs {sorted(needed)}")
        programs = sorted(name for name in installed if name.startswith("bin/"))
        if programs != [f"bin/tutti-{name}" for name in ("bench", "demo", "explain", "fit", "predict", "topo", "train", "tune")]:
            failures.append(f"programs: {programs}")
        libraries = sorted(name for name in installed if name.endswith(".so"))
        for name in programs + libraries:
            for part in run_path(os.path.join(prefix, name)):
                if part.startswith((*here, first)) or not part.startswith(("/", "$ORIGIN")):
                    failures.append(f"{name} looks for libraries in {part}")
        for name in programs:
            run(os.path.join(prefix, name), "-h")
        # For programs of NCCL, in a folder where nobody looks for NCCL.
        nccl = {name for name in installed if "/libnccl." in name}
        expected = {f"lib/tutti/nccl/libnccl.{kind}" for kind in ("so", "so.2")} if os.path.exists(f"{build}/nccl/libnccl.so") else set()
        if nccl != expected:
            failures.append(f"for programs of NCCL: {sorted(nccl)}, expected {sorted(expected)}")
        kinds = {name.rsplit(".", 1)[-1] for name in installed - nccl if not name.startswith(("include/", "bin/"))}
        if kinds != {"a", "cmake"}:
            failures.append(f"neither a library nor a package: {sorted(installed)}")

        # What the package is for: a program elsewhere, in C++ alone.
        project, built = os.path.join(folder, "a project"), os.path.join(folder, "its build")
        os.mkdir(project)
        shutil.copy(os.path.join(source, "tests/ten_lines.cpp"), project)
        text = PROJECT % "0.1"
        for number, header in enumerate(sorted(headers)):
            text += EACH_HEADER % {"number": number}
            with open(os.path.join(project, f"header_{number}.cpp"), "w") as file:
                file.write(f'#include "{header}"\n#include "{header}"\n')
        with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
            file.write(text)
        configure = [cmake, "-S", project, "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={cxx}",
                     "-DCMAKE_BUILD_TYPE=Release"]
        run(*configure)
        run(cmake, "--build", built)
        program = os.path.join(built, "ten_lines")
        ranks = {1: [], 2: [mpiexec, "-n", "2", "--oversubscribe", "--bind-to", "none"]}
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TUTTI_TIMEOUT": "30"}
        for count, expected in ((1, "0 1 2 3\n"), (2, "1 3 5 7\n")):
            got = run(*ranks[count], program, env=environment)
            if got != expected:
                failures.append(f"ten_lines on {count} ranks: expected {expected!r}, got {got!r}")
        with open(os.path.join(built, "CMakeCache.txt")) as file:
            cache = file.read()
        if os.path.realpath(source) in cache:
            failures.append("the project's cache names tutti's tree")
        if ("CUDAToolkit" in cache) != (cuda == "ON"):
            failures.append(f"CUDA {cuda}: the package looks for the toolkit: {'CUDAToolkit' in cache}")

        # Another minor version may have another interface.
        with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
            file.write(PROJECT % "0.99")
        other = subprocess.run([*configure[:4], built + " of 0.99", *configure[5:]], capture_output=True, text=True, timeout=300)
        if other.returncode == 0 or "0.99" not in other.stderr:
            failures.append(f"version 0.99 was found: {other.stderr[-500:]}")
    return failures


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("good.cmake", 'set(x "${_IMPORT_PREFIX}/include/tutti")\n# /usr is named in a comment\n'),
                           ("system.cmake", 'set(x "/usr/lib/libmpi.so")\n'), ("tree.cmake", "set(x /a/tree/include)\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        found = list(folders_named(folder, ["/a/tree"]))
    expected = ["system.cmake:1: an absolute", "tree.cmake:1: names /a/tree"]
    return [] if [line[:len(words)] for line, words in zip(found, expected)] == expected and len(found) == 2 else found


if __name__ == "__main__":
    found = self_test() if sys.argv[1:] == ["--self-test"] else check(*sys.argv[1:])
    print("\n".join(found) or "as it should be")
    sys.exit(1 if found else 0)

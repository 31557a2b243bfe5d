"""Checks that every source is formatted as .clang-format says, by clang-format 14 (others format differently).

format.py ROOT prints the places that are not and exits 1; without clang-format 14 it says so and exits 77 (skipped).
format.py --self-test checks that a badly formatted line is reported and a good one is not; it too may skip.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import tracked

SOURCE = re.compile(r"\.(hpp|cpp|inl|h|c|cuh|cu)$")
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def clang_format():
    for name in ("clang-format-14", "clang-format"):
        path = shutil.which(name)
        if path and " 14." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    print("skipped: clang-format 14 is not installed (package clang-format-14)")
    sys.exit(77)


def badly_formatted(tool, root):
    """clang-format's complaints about the sources under root; empty if there are none."""
    names = [name for name in tracked.files(root) if SOURCE.search(name)]
    if not names:
        return "no source found"
    command = [tool, "--style=file", "--dry-run", "-Werror", *names]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return (done.stdout + done.stderr or "clang-format failed") if done.returncode else ""


def self_test(tool):
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(os.path.join(HERE, ".clang-format"), root)
        source = os.path.join(root, "a file.cu")
        for text, bad in (("int* a(int b) { return nullptr; }\n", False), ("int *a( int b ) { return nullptr; }\n", True)):
            with open(source, "w") as file:
                file.write(text)
            got = badly_formatted(tool, root)
            if bool(got) != bad:
                return f"{text!r}: expected {'a complaint' if bad else 'none'}, got {got!r}"
    return ""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: format.py ROOT | --self-test")
    tool = clang_format()
    complaint = self_test(tool) if sys.argv[1] == "--self-test" else badly_formatted(tool, sys.argv[1])
    print(complaint or "all is formatted")
    sys.exit(1 if complaint else 0)

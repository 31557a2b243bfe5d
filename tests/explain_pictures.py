"""The pictures in docs/pictures are those that the program makes.

    explain_pictures.py PROGRAM DIR            compares each, byte for byte, and notes what should not be there
    explain_pictures.py PROGRAM DIR --write    makes them
    explain_pictures.py PROGRAM --self-test    checks that a changed, a missing and a stray picture are reported
"""

import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# Few ranks where everyone talks to everyone, so that arrows can be told apart.
RANKS = {"ring": 4, "tree": 4, "recursive_doubling": 4, "halving_doubling": 4, "bruck": 4, "dissemination": 4}


def offered(program, arguments, before, after):
    """What the program lists, between these words, to who asks for something else."""
    said = subprocess.run([program, *arguments], capture_output=True, text=True).stderr
    return said[said.index(before) + len(before):].strip().removesuffix(after).split(", ")


def pictures(program):
    """Of every algorithm that the program has."""
    for collective in offered(program, ["?"], "use one of ", ""):
        for algorithm in offered(program, [collective, "--algorithm", "?"], "has auto, ", ", or all"):
            yield f"{collective}_{algorithm}.svg", [collective, "--algorithm", algorithm, "-n",
                                                    str(RANKS.get(algorithm, 3))]


def made(program, arguments):
    with tempfile.NamedTemporaryFile(suffix=".svg") as file:
        subprocess.run([program, *arguments, "--svg", file.name], check=True, stdout=subprocess.DEVNULL)
        return pathlib.Path(file.name).read_bytes()


def faults(program, folder):
    """What is wrong with the pictures in `folder`."""
    found = []
    wanted = dict(pictures(program))
    for name, arguments in wanted.items():
        path = folder / name
        picture = made(program, arguments)
        xml.etree.ElementTree.fromstring(picture)
        if not path.exists():
            found.append(f"{name} is missing")
        elif path.read_bytes() != picture:
            found.append(f"{name} differs from what './tutti explain {' '.join(arguments)} --svg FILE' makes")
    found += [f"{path.name} is made by nothing" for path in sorted(folder.iterdir()) if path.name not in wanted]
    return found


def write(program, folder):
    folder.mkdir(exist_ok=True)
    for name, arguments in pictures(program):
        (folder / name).write_bytes(made(program, arguments))


def self_test(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(program, folder)
        assert faults(program, folder) == []
        assert {"all_reduce_ring.svg", "send_recv_direct.svg"} < {path.name for path in folder.iterdir()}
        ring = folder / "all_reduce_ring.svg"
        ring.write_bytes(ring.read_bytes().replace(b"step 2", b"step 3", 1))
        (folder / "barrier_direct.svg").unlink()
        (folder / "stray.svg").write_bytes(b"")
        found = faults(program, folder)
        assert len(found) == 3, found
        for fault, start in zip(found, ["all_reduce_ring.svg differs", "barrier_direct.svg is missing", "stray.svg"]):
            assert fault.startswith(start), found


def main():
    program = sys.argv[1]
    if sys.argv[2] == "--self-test":
        return self_test(program)
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[3:] == ["--write"]:
        return write(program, folder)
    found = faults(program, folder)
    for fault in found:
        print(fault)
    if found:
        sys.exit(f"remake them: python3 -B tests/explain_pictures.py {program} docs/pictures --write")


main()

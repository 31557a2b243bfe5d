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
ALGORITHMS = {
    "all_reduce": ["packets", "one_shot", "two_shot", "ring", "tree", "recursive_doubling", "halving_doubling"],
    "reduce_scatter": ["packets", "direct", "ring"],
    "all_gather": ["packets", "direct", "ring", "bruck"],
    "broadcast": ["packets", "direct", "ring", "tree"],
    "reduce": ["packets", "direct", "ring", "tree"],
    "gather": ["packets", "direct", "tree"],
    "scatter": ["packets", "direct", "tree"],
    "all_to_all": ["packets", "direct", "pairwise"],
    "send_recv": ["direct"],
    "barrier": ["direct", "dissemination"],
}


def pictures():
    for collective, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            yield f"{collective}_{algorithm}.svg", [collective, "--algorithm", algorithm, "-n",
                                                    str(RANKS.get(algorithm, 3))]


def made(program, arguments):
    with tempfile.NamedTemporaryFile(suffix=".svg") as file:
        subprocess.run([program, *arguments, "--svg", file.name], check=True, stdout=subprocess.DEVNULL)
        return pathlib.Path(file.name).read_bytes()


def offered(program, collective):
    """The algorithms that the program has: it lists them to who asks for another."""
    said = subprocess.run([program, collective, "--algorithm", "?"], capture_output=True, text=True).stderr
    return said[said.index("has auto, ") + len("has auto, "):said.index(", or all")].split(", ")


def faults(program, folder):
    """What is wrong with the pictures in `folder`."""
    found = []
    for collective, algorithms in ALGORITHMS.items():
        for algorithm in sorted(set(offered(program, collective)) - set(algorithms)):
            found.append(f"{collective} by {algorithm} has no picture: name it in ALGORITHMS of this script")
    wanted = dict(pictures())
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
    for name, arguments in pictures():
        (folder / name).write_bytes(made(program, arguments))


def self_test(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(program, folder)
        assert faults(program, folder) == []
        ring = folder / "all_reduce_ring.svg"
        ring.write_bytes(ring.read_bytes().replace(b"step 2", b"step 3", 1))
        (folder / "barrier_direct.svg").unlink()
        (folder / "stray.svg").write_bytes(b"")
        found = faults(program, folder)
        assert len(found) == 3, found
        for fault, start in zip(found, ["all_reduce_ring.svg differs", "barrier_direct.svg is missing", "stray.svg"]):
            assert fault.startswith(start), found
        ALGORITHMS["barrier"].remove("dissemination")
        assert any(fault.startswith("barrier by dissemination has no picture") for fault in faults(program, folder))


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

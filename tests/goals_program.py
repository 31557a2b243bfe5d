"""Checks what bench/goals.py makes of measurements: goals_program.py BENCH

BENCH is the folder with goals.py. What it judges here was made up, so that each cell's verdict is known.
"""

import json
import os
import subprocess
import sys
import tempfile

BENCH = sys.argv[1]
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True
import goals_judge  # noqa: E402  (its folder is an argument)

MACHINE = {"cpu": "a CPU of the test", "cores": 2, "memory_gib": 8.0, "mpi": "an MPI"}
faults = []


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: expected {wanted!r}, got {found!r}")


def row(collective, size, us, backend="native", memory="peer-mapped", ratio=None, low=None, bound=0.001, placement="near"):
    return {"collective": collective, "backend": backend, "memory": memory, "ranks": 2, "bytes": size, "time_us": us,
            "bound_us": bound, "ratio": ratio or {}, "ratio_low": low or ratio or {}, "placement": placement,
            "placement_ns": 50.0}


def verdicts(rows, ranks=2):
    cells = goals_judge.cells_of(ranks, {"rows": [dict(one, ranks=ranks) for one in rows]})
    return {cell.goal: (cell.verdict, cell.peer) for cell in cells}


def against(collective, size, peers, low=None, us=1.0, **more):
    """native takes `us`, each peer ratio times as much."""
    rows = [row(collective, size, us, ratio=peers, low=low, **more)]
    rows += [row(collective, size, us * ratio, backend=peer, memory="any") for peer, ratio in peers.items()]
    return verdicts(rows)


def judging():
    size = 64 << 10
    best = "best peer"
    expect("0.03 under the goal", against("all_reduce", size, {"openmpi": 1.971})[best], ("holds", "openmpi"))
    expect("more under the goal", against("all_reduce", size, {"openmpi": 1.969})[best], ("short", "openmpi"))
    expect("the lower end counts", against("all_reduce", size, {"openmpi": 3.0}, {"openmpi": 1.9})[best],
           ("short", "openmpi"))
    expect("the fastest peer counts", against("all_reduce", size, {"openmpi": 4.0, "mpich": 1.0})[best],
           ("short", "mpich"))
    expect("Gloo is none of the best", against("all_reduce", size, {"openmpi": 4.0, "gloo": 3.0})[best],
           ("holds", "openmpi"))
    expect("Gloo has a goal of its own", against("all_reduce", size, {"gloo": 3.0})["Gloo"], ("short", "gloo"))
    expect("Gloo at 8 B", against("all_reduce", 8, {"gloo": 99.0})["Gloo"], ("short", "gloo"))
    expect("nobody to race", against("all_reduce", size, {})[best], ("not seen", ""))
    expect("within 1.15 of the bound", against("all_reduce", size, {"mpich": 1.0}, bound=0.88)[best], ("holds", "mpich"))
    expect("outside of it", against("all_reduce", size, {"mpich": 1.0}, bound=0.86)[best], ("short", "mpich"))
    expect("1.5 at 2 KiB", against("all_reduce", 2048, {"mpich": 1.5})[best], ("holds", "mpich"))
    expect("1.5 on any memory", against("all_reduce", size, {"mpich": 1.5}, memory="any")[best], ("holds", "mpich"))
    expect("reduce-scatter by MPICH", against("reduce_scatter", 64, {"mpich": 2.9, "openmpi": 1.0}),
           {"MPICH": ("short", "mpich")})
    expect("reduce-scatter by Open MPI", against("reduce_scatter", 8192, {"openmpi": 7.9})["Open MPI's defaults"],
           ("short", "openmpi"))
    expect("all-gather above 2 MiB", against("all_gather", 4 << 20, {"mpich": 1.2})[best], ("holds", "mpich"))
    expect("broadcast above 1 MiB", against("broadcast", 2 << 20, {"mpich": 1.45})[best], ("short", "mpich"))
    expect("a barrier of 1.2 exchanges", verdicts([row("barrier", 0, 0.060)])["flag exchange"][0], "holds")
    expect("a slower barrier", verdicts([row("barrier", 0, 0.061)])["flag exchange"][0], "short")
    expect("1.25 of the bound", against("all_reduce", 2 << 20, {}, bound=0.81)["bound"][0], "holds")
    expect("more than that", against("all_reduce", 2 << 20, {}, bound=0.79)["bound"][0], "short")
    expect("no such goal far", "bound" in against("all_reduce", 2 << 20, {}, placement="far"), False)
    four = [row("broadcast", size, 1.0, ratio={"mpi": 1.4}), row("broadcast", size, 1.4, backend="mpi")]
    expect("4 ranks", verdicts(four, ranks=4), {"Open MPI": ("short", "mpi")})


def writing():
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.md")
        with open(page, "w", encoding="utf-8") as file:
            file.write("by hand\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nreasons\n")
        rows = [row("broadcast", 8, 1.0, ratio={"openmpi-ucx": 1.5}), row("broadcast", 8, 1.5, backend="openmpi-ucx"),
                row("broadcast", 32, 1.0, ratio={"openmpi-ucx": 2.5}), row("broadcast", 32, 2.5, backend="openmpi-ucx")]
        with open(os.path.join(folder, "2-broadcast-small.json"), "w", encoding="utf-8") as file:
            json.dump({"machine": MACHINE, "rows": rows}, file)
        command = [sys.executable, "-B", os.path.join(BENCH, "goals.py"), "--again", "--only", "broadcast", "--ranks", "2",
                   "--keep", folder, "--write", page, "--programs", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        expect("the exit status when a cell falls short", (done.returncode, done.stderr), (1, ""))
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for wanted in ("by hand\n<!--", "-->\nreasons\n", "1 of 2 cells hold; 1 fall short", "a CPU of the test",
                       "| 8 B | near | 1.00 | 0.00 | 0 % | 🔴 **1.50 [1.50] (2) ucx** | not seen (5) |",
                       "| 32 B | near | 1.00 | 0.00 | 0 % | 2.50 [2.50] (2) ucx | not seen (5) |",
                       "not seen: openmpi-best, mpich, gloo."):
            if wanted not in text:
                faults.append(f"the page lacks {wanted!r}:\n{text}")
        if "\nold\n" in text:
            faults.append("the page still has the tables of before")
        with open(page, "w", encoding="utf-8") as file:
            file.write("no marks\n")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        with open(page, encoding="utf-8") as file:
            expect("a page without marks stays as it is", (done.returncode != 0, file.read()), (True, "no marks\n"))


judging()
writing()
print("\n".join(faults))
sys.exit(1 if faults else 0)

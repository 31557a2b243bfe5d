"""How long the smallest job takes, and what memory its ranks hold: with tutti, Open MPI and MPICH.

startup.py BIN [-n RANKS] [--rounds ROUNDS] [--json FILE]: BIN is the folder of the built programs. The job starts, makes
a communicator, adds 8 bytes and ends (bench/startup/). All jobs run in turn, round by round; figures are medians over
the rounds. Exits 1 if a job fails.

  job       from before the launcher starts until it has ended
  sum       from before the launcher starts until the last rank has its first sum
  in main   of the rank with the most: from main to its first sum
  private   memory that is a rank's alone, the mean over the ranks (USS)
  share     a rank's proportional share of all memory that it touched, the mean (PSS)
  locked    memory that may not be swapped, of all ranks
  shared    what the host's shared memory (Shmem of /proc/meminfo: arenas, and files in /dev/shm) grew by
"""

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import time

COLUMNS = ("job", "sum", "in main", "private", "share", "locked", "shared")
UNITS = ("ms", "ms", "ms", "MiB", "MiB", "MiB", "MiB")
PATIENCE = 60  # seconds


def open_mpi(ranks):
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *as_root, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def jobs_of(folder, ranks):
    """Name, and the command of the launcher or, if ranks are started one by one, of a rank, for all that was built."""
    program = {name: os.path.join(folder, f"tutti-startup-{name}") for name in ("tutti", "openmpi", "mpich")}
    yield "tutti", None, program["tutti"]
    if os.path.exists(program["openmpi"]):
        yield "tutti, mpirun", open_mpi(ranks), program["tutti"]
        yield "Open MPI", open_mpi(ranks), program["openmpi"]
    if os.path.exists(program["mpich"]):
        yield "MPICH", ["mpiexec.mpich", "-n", str(ranks)], program["mpich"]


def start(launcher, program, ranks):
    if launcher:
        return [subprocess.Popen([*launcher, program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)]
    job = {**os.environ, "TUTTI_RENDEZVOUS": secrets.token_hex(16), "TUTTI_SIZE": str(ranks)}
    return [subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             env={**job, "TUTTI_RANK": str(rank)}) for rank in range(ranks)]


def shared_memory():
    """kB of files without disk that this host holds now."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Shmem:"))


def run(launcher, program, ranks):
    """One job's figures, in the order and units of COLUMNS."""
    shared_before = shared_memory()
    began = time.monotonic_ns()
    processes = start(launcher, program, ranks)
    said = [process.communicate(timeout=PATIENCE)[0].decode() for process in processes]
    ended = time.monotonic_ns()
    lines = [[int(word) for word in line.split()[1:]] for line in "".join(said).splitlines()
             if line.startswith("startup ")]
    if any(process.returncode for process in processes) or sorted(line[0] for line in lines) != list(range(ranks)):
        raise RuntimeError(f"{program} failed: {[process.returncode for process in processes]}, {said}")
    _, mains, sums, private, share, locked, shared = zip(*lines)
    return ((ended - began) / 1e6, (max(sums) - began) / 1e6, max(b - a for a, b in zip(mains, sums)) / 1e6,
            statistics.mean(private) / 1024, statistics.mean(share) / 1024, sum(locked) / 1024,
            (max(shared) - shared_before) / 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="BIN")
    parser.add_argument("-n", dest="ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    jobs = list(jobs_of(arguments.folder, arguments.ranks))
    found = {name: [] for name, _, _ in jobs}
    try:
        for turn in range(arguments.rounds + 1):
            for at in range(len(jobs)):
                name, launcher, program = jobs[(at + turn) % len(jobs)]
                figures = run(launcher, program, arguments.ranks)
                if turn > 0:  # the first fetches programs and libraries from the disk
                    found[name].append(figures)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"startup: {error}")
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
    print(f"{'':14}" + "".join(f"{f'{column} {unit}':>13}" for column, unit in zip(COLUMNS, UNITS)))
    for name, row in medians.items():
        print(f"{name:14}" + "".join(f"{figure:13.2f}" for figure in row))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            rows = {name: dict(zip(COLUMNS, row)) for name, row in medians.items()}
            json.dump({"ranks": arguments.ranks, "rounds": arguments.rounds, "units": dict(zip(COLUMNS, UNITS)),
                       "jobs": rows}, file, indent=2)


if __name__ == "__main__":
    main()

"""Races the goals for CPUs against their peers and writes the tables of docs/speed.md: ./tutti goals [options].

Runs tutti-bench once per operation, range of sizes and number of ranks, keeps its JSON files, and judges each cell:
it holds if the lower end of the 95 % interval of its ratio is at most 0.03 under the goal, or if its time is within
1.15 times its bound.
"""

import argparse
import datetime
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import goals_judge
import goals_table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SMALL, MIDDLE, LARGE = "small", "middle", "large"
ROUNDS = {SMALL: 15, MIDDLE: 11, LARGE: 7}
MIDDLE_FROM, LARGE_FROM = 1 << 20, 16 << 20


def sizes_of(first, last, factor):
    size = first
    while size <= last:
        yield size
        size *= factor


def class_of(size):
    return SMALL if size < MIDDLE_FROM else MIDDLE if size < LARGE_FROM else LARGE


def peers_here(programs):
    """The values of --peers that can run, and what the others lack."""
    wanted = {"openmpi-best": ("tutti-peer-openmpi", "mpirun.openmpi"), "mpich": ("tutti-peer-mpich", "mpirun.mpich"),
              "gloo": ("tutti-peer-gloo", None)}
    there, missing = [], []
    for peer, (program, launcher) in wanted.items():
        found = os.access(os.path.join(programs, program), os.X_OK) and (not launcher or shutil.which(launcher))
        (there if found else missing).append(peer)
    return there, missing


class Job:
    """One run of tutti-bench."""

    def __init__(self, ranks, operation, sizes, peers):
        self.ranks, self.operation, self.sizes, self.peers = ranks, operation, sizes, peers
        self.kind = class_of(sizes[-1]) if sizes else SMALL
        memories = "peer-mapped,any" if operation == "all_reduce" else "peer-mapped"
        self.arguments = [operation, "--memory", memories, "--bounds", "--again", "5",
                          "--rounds", str(ROUNDS[self.kind])]
        if sizes:
            factor = sizes[1] // sizes[0] if len(sizes) > 1 else 2
            self.arguments += ["-b", str(sizes[0]), "-e", str(sizes[-1]), "-f", str(factor)]
        if ranks == 2:
            self.arguments += ["--backend", "native"] + (["--peers", ",".join(peers)] if peers else [])
        else:
            self.arguments += ["--backend", "native,mpi"]

    def name(self):
        return f"{self.ranks}-{self.operation}-{self.kind}"

    def command(self):
        return f"./tutti -n {self.ranks} bench {' '.join(self.arguments)}"

    def seconds(self):
        """About how long it takes; measured: a rank prepares, runs and checks 1 to 2 GB/s."""
        lanes = 1 + (self.operation == "all_reduce")
        lanes += sum({"openmpi-best": 5}.get(peer, 1) for peer in self.peers) if self.ranks == 2 else lanes
        batches = 1.25 * ROUNDS[self.kind] + 3
        sizes = self.sizes or [0]
        return 3 + sum(lanes * batches * max(0.02, 1.5e-9 * self.ranks * size) for size in sizes)

    def run(self, programs, prefix, file, limit):
        """The rows, or None and why there are none."""
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_btl_base_warn_component_unused="0")
        launcher = shutil.which("mpirun.openmpi") or "mpirun"
        command = prefix + ["timeout", "-k", "5", str(limit), launcher, "--oversubscribe", "--bind-to", "none",
                            "-n", str(self.ranks), os.path.join(programs, "tutti-bench")]
        command += self.arguments + ["--json", file]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                              check=False)
        if not os.path.exists(file):
            said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
            return None, f"not measured: {'time was over' if done.returncode == 124 else said}"
        with open(file, encoding="utf-8") as opened:
            return json.load(opened), None


def jobs_of(given, peers):
    sizes = list(sizes_of(8, given.maximum, 2 if given.full else 4))
    for ranks in given.ranks:
        for operation in given.only:
            if operation == "barrier":
                yield Job(ranks, operation, [], peers)
                continue
            for kind in (SMALL, MIDDLE, LARGE):
                some = [size for size in sizes if class_of(size) == kind]
                if some:
                    yield Job(ranks, operation, some, peers)


def written(path, tables):
    """Replaces what stands between the two marks; what people wrote around them stays."""
    text = f"# Speed\n\n{BEGIN}\n{END}\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    if BEGIN not in text or END not in text:
        sys.exit(f"goals: {path} has no lines '{BEGIN}' and '{END}' to write between")
    head, rest = text.split(BEGIN, 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n{tables}{END}{rest.split(END, 1)[1]}")


def parse():
    parser = argparse.ArgumentParser(prog="tutti goals", description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    names = list(goals_judge.OPERATIONS)
    parser.add_argument("--programs", default=os.path.join(ROOT, "build", "host", "bin"), help="where tutti-bench is")
    parser.add_argument("--full", action="store_true",
                        help="every power of two up to 256 MiB, instead of every second one up to 32 MiB")
    parser.add_argument("-e", "--maximum", type=int, help="the largest size in bytes")
    parser.add_argument("--only", default=",".join(names), help="operations, separated by commas")
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks")
    parser.add_argument("--write", default=os.path.join(ROOT, "docs", "speed.md"), help="the file with the tables")
    parser.add_argument("--keep", default=os.path.join(ROOT, "build", "goals"), help="the folder for the JSON files")
    parser.add_argument("--again", action="store_true", help="measure nothing: judge what the folder has")
    parser.add_argument("--prefix", default="", help="a command before each run, as in 'chrt -f 10'")
    parser.add_argument("--limit", type=int, default=600, help="seconds that one run may take")
    given = parser.parse_args()
    given.maximum = given.maximum or (256 << 20 if given.full else 32 << 20)
    given.only = given.only.split(",")
    given.ranks = [int(ranks) for ranks in given.ranks.split(",")]
    if not set(given.only) <= set(names):
        parser.error(f"--only: the operations are {', '.join(names)}")
    return given


def measure(jobs, given):
    os.makedirs(given.keep, exist_ok=True)
    total = sum(job.seconds() for job in jobs)
    print(f"goals: {len(jobs)} runs, about {total / 60:.0f} minutes", flush=True)
    begin = time.monotonic()
    for i, job in enumerate(jobs):
        file = os.path.join(given.keep, job.name() + ".json")
        if os.path.exists(file):
            os.remove(file)
        since = time.monotonic()
        report, why = job.run(given.programs, shlex.split(given.prefix), file, given.limit)
        left = sum(other.seconds() for other in jobs[i + 1:]) / 60
        what = why or f"{len(report['rows'])} rows"
        print(f"{job.name()}: {what}, {time.monotonic() - since:.0f} s; about {left:.1f} minutes left", flush=True)
    return time.monotonic() - begin


def main():
    given = parse()
    peers, missing = peers_here(given.programs)
    jobs = list(jobs_of(given, peers))
    seconds = 0 if given.again else measure(jobs, given)
    reports = {}
    for job in jobs:
        file = os.path.join(given.keep, job.name() + ".json")
        if os.path.exists(file):
            with open(file, encoding="utf-8") as opened:
                reports[job] = json.load(opened)
    if not reports:
        sys.exit("goals: nothing was measured")
    cells = [cell for job, report in reports.items() for cell in goals_judge.cells_of(job.ranks, report)]
    command = "./tutti goals" + (" --full" if given.full else "") + (f" -e {given.maximum}" if given.maximum else "")
    tables = goals_table.tables_of(cells, next(iter(reports.values()))["machine"], command,
                                   datetime.date.today().isoformat(), missing)
    written(given.write, tables)
    short = [cell for cell in cells if cell.verdict == goals_judge.SHORT]
    print(f"goals: {len(cells) - len(short)} of {len(cells)} cells hold ({seconds / 60:.1f} minutes); {given.write}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())

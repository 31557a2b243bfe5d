"""Checks of what bench/startup.py measures: startup_program.py STARTUP BIN."""

import json
import os
import subprocess
import sys
import tempfile

startup, folder = sys.argv[1:]


def expect(condition, what, found):
    if not condition:
        sys.exit(f"{what}: {found}")


def run(*arguments):
    command = [sys.executable, "-B", startup, *arguments]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)


with tempfile.TemporaryDirectory() as scratch:
    file = os.path.join(scratch, "startup.json")
    done = run(folder, "-n", "3", "--rounds", "3", "--json", file)
    expect(done.returncode == 0, "it runs", done.stderr)
    with open(file, encoding="utf-8") as read:
        report = json.load(read)
    # A program that prints nothing is no rank.
    os.symlink("/bin/true", os.path.join(scratch, "tutti-startup-tutti"))
    expect(run(scratch, "--rounds", "1").returncode == 1, "a job that fails is reported", "it was not")

expect(report["ranks"] == 3 and report["rounds"] == 3, "what was asked for", report)
jobs = report["jobs"]
built = {name for name in ("tutti", "openmpi", "mpich") if os.path.exists(os.path.join(folder, f"tutti-startup-{name}"))}
expected = {"tutti": ["tutti"], "openmpi": ["tutti, mpirun", "Open MPI"], "mpich": ["MPICH"]}
expect(sorted(jobs) == sorted(job for name in built for job in expected[name]), "a job for each that was built", jobs)
for name, figures in jobs.items():
    expect(figures["job"] > figures["sum"] > figures["in main"] > 0, f"{name}: times", figures)
    expect(figures["share"] >= figures["private"] > 0, f"{name}: memory", figures)
    expect(done.stdout.count(f"\n{name:14}") == 1, f"{name}: a row", done.stdout)
if "Open MPI" in jobs:
    for column in ("job", "sum", "private", "share"):
        expect(jobs["tutti"][column] < jobs["Open MPI"][column], f"tutti is below Open MPI: {column}", jobs)

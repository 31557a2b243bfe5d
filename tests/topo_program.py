"""Checks of tutti-topo's whole output: topo_program.py TOPO RANKS [launcher...]."""

import json
import os
import re
import subprocess
import sys
import tempfile

program, ranks, launcher = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
pairs = ranks * (ranks - 1) // 2


def run(*arguments):
    done = subprocess.run([*launcher, program, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def expect(condition, what, text):
    if not condition:
        sys.exit(f"{what}:\n{text}")


with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "topo.json")
    text = run("--seconds", "0.5", "-b", "64K", "--json", file)
    with open(file) as read:
        report = json.load(read)
lines = text.splitlines()
expect(re.match(rf"tutti topo: {ranks} ranks? on the (CPU|GPU) \(", lines[0]), "the first line", text)
expect(re.match(r"host \S+: .* \d+ CPUs?, \d+ packages?, \d+ NUMA nodes?", lines[1]), "the second line", text)
rows = [line.split() for line in lines if re.match(r"  R\d+ ", line)]
# One row of each rank in the matrices of links, latency and bandwidth; of one rank, there is nothing to measure.
expect(len(rows) == ranks * (3 if ranks > 1 else 1), "rows of ranks", text)
expect("X" in text and "  X " in text, "a legend", text)
expect(("One rank has no pair to measure" in text) == (ranks == 1), "the word on one rank", text)
processes = {rank["process"] for rank in report["ranks"]}
expect(len(processes) == ranks, "each rank is a process of its own", report["ranks"])
expect(len(report["pairs"]) == pairs, "pairs", report)
cpus = len(os.sched_getaffinity(0))
for pair in report["pairs"]:
    expect(0 < pair["latency_us_min"] <= pair["latency_us"] <= pair["latency_us_max"], "latency", pair)
    expect(pair["bandwidth_a_to_b"] > 0 and pair["bandwidth_b_to_a"] > 0, "bandwidth", pair)
    held = [report["ranks"][pair[end]]["cpu"] for end in "ab"]
    if report["ranks"][0]["gpu"] is None:
        expect((pair["link"] == "CPU") == (held[0] == held[1]), "ranks on one CPU are linked by it", [pair, report["ranks"]])
shared = "more ranks than CPUs" in text
if report["ranks"][0]["gpu"] is None:
    expect(shared == (ranks > cpus), f"{ranks} ranks and {cpus} CPUs", text)

only = run("--map-only")
expect("Latency" not in only and len(re.findall(r"^  R0 ", only, re.M)) == 1, "--map-only measures nothing", only)
print("as it should be")

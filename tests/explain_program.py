"""tutti-explain as people run it: its table, its trace, its files, its errors.

    explain_program.py PROGRAM GOLDEN              checks it; GOLDEN is the folder with what tables look like
    explain_program.py PROGRAM GOLDEN --write      writes those
    explain_program.py PROGRAM GOLDEN --self-test  checks that damaged traces are reported
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

GOLDEN = {
    "all_reduce_ring.txt": ["all_reduce", "--algorithm", "ring", "-n", "4"],
    "gather_tree.txt": ["gather", "--algorithm", "tree", "-n", "3", "--root", "1", "--memory", "any"],
    "barrier.txt": ["barrier", "--algorithm", "dissemination", "-n", "3"],
}
TRACED = [
    ["all_reduce", "--algorithm", "ring", "-n", "4"],
    ["all_reduce", "--algorithm", "tree", "-n", "5", "--memory", "any"],
    ["all_reduce", "--algorithm", "packets", "-n", "3"],
    ["all_to_all", "--algorithm", "pairwise", "-n", "4", "--blocks", "2"],
    ["broadcast", "--algorithm", "direct", "-n", "3", "--root", "2"],
    ["all_reduce", "--algorithm", "halving_doubling", "-n", "6", "--machine", "h100x8", "--cell", "64K"],
    ["all_gather", "--algorithm", "packets", "-n", "4", "--machine", "pcie5x8"],
    ["send_recv", "-n", "2"],
    ["barrier", "-n", "8"],
]


def run(program, *arguments, code=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def trace_of(program, arguments, folder):
    path = folder / "trace.json"
    run(program, *arguments, "--trace", str(path))
    return json.loads(path.read_text())


def trace_faults(trace):
    """What Perfetto and chrome://tracing would not show as it is meant."""
    found = []
    events = trace["traceEvents"]
    last = None
    slices = {}
    named = set()
    for event in events:
        if event["ph"] == "M":
            named.add((event["name"], event["pid"], event["tid"]))
            continue
        if event["ph"] not in "XsfC":
            found.append(f"phase {event['ph']}")
        if not isinstance(event["ts"], (int, float)) or event["ts"] < 0:
            found.append(f"time {event['ts']}")
        if last is not None and event["ts"] < last:
            found.append(f"times go back at {event}")
        last = event["ts"]
        if event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
            if "source" not in event["args"] or ".hpp:" not in event["args"]["source"]:
                found.append(f"no source line in {event}")
            if event["cat"] in ("transfer", "reduce") and event["args"].get("bytes", 0) > 0:
                if not event["args"].get("from") or not event["args"].get("to"):
                    found.append(f"no places in {event}")
    for thread, its in slices.items():
        if ("thread_name", *thread) not in named or ("process_name", thread[0], 0) not in named:
            found.append(f"thread {thread} has no name")
        end = 0
        for event in its:
            if event["ts"] < end - 1e-9:
                found.append(f"slices overlap at {event}")
            end = event["ts"] + event["dur"]
    flows = {}
    for event in events:
        if event["ph"] in "sf":
            flows.setdefault(event["id"], {}).setdefault(event["ph"], []).append(event)
    for number, ends in flows.items():
        if len(ends.get("s", [])) != 1 or len(ends.get("f", [])) != 1:
            found.append(f"flow {number} lacks an end")
            continue
        begin, end = ends["s"][0], ends["f"][0]
        if end.get("bp") != "e":
            found.append(f"flow {number} binds to the next slice")
        if begin["ts"] > end["ts"] + 1e-9:
            found.append(f"flow {number} goes back in time")
        if (begin["name"], begin["cat"]) != (end["name"], end["cat"]):
            found.append(f"flow {number} has two names")
        for event in (begin, end):
            inside = [s for s in slices.get((event["pid"], event["tid"]), [])
                      if s["ts"] - 1e-9 <= event["ts"] <= s["ts"] + s["dur"] + 1e-9]
            if not inside:
                found.append(f"flow {number} ends in no slice")
    if not flows:
        found.append("no flows")
    return found


def timeless(table):
    """Without the predicted time, which is the business of other tests."""
    lines = table.splitlines(keepends=True)
    times = [line for line in lines if line.startswith("time ")]
    assert len(times) == 1 and times[0].endswith(" ns, predicted\n"), times
    return "".join(line for line in lines if line not in times)


def check_tables(program, golden):
    page = (golden.parent.parent / "docs" / "explain.md").read_text()
    shown = page[page.index("\nstep 3 of 7") + 1:]
    assert shown[:shown.index("```")] in (golden / "all_reduce_ring.txt").read_text(), "docs/explain.md shows another step"
    for name, arguments in GOLDEN.items():
        table = timeless(run(program, *arguments))
        assert table == timeless((golden / name).read_text()), f"{name}: './tutti explain {' '.join(arguments)}'"


def check_traces(program, folder):
    for arguments in TRACED:
        trace = trace_of(program, arguments, folder)
        assert trace_faults(trace) == [], (arguments, trace_faults(trace))
        received = {}
        for event in trace["traceEvents"]:
            if event["ph"] == "C":
                received[event["pid"]] = event["args"]["bytes"]
        assert all(value >= 0 for value in received.values())
    trace = trace_of(program, ["all_reduce", "--algorithm", "ring", "-n", "4"], folder)
    # Ring, 4 ranks, 4 cells: 2 (n-1)/n S received by each; every data flag is heard, and `enter` by every peer.
    counters = {e["pid"]: e["args"]["bytes"] for e in trace["traceEvents"] if e["ph"] == "C"}
    assert counters == {rank: 768 for rank in range(4)}, counters
    heard = [e["name"] for e in trace["traceEvents"] if e["ph"] == "s"]
    assert heard.count("enter") == 12 and heard.count("data") == 4 * 6, heard


def check_files(program, folder):
    files = {option: folder / f"of{option}" for option in ("--svg", "--trace", "--story", "--html")}
    arguments = [text for option, path in files.items() for text in (option, str(path))]
    run(program, "all_gather", "--algorithm", "bruck", "-n", "3", *arguments)
    xml.etree.ElementTree.fromstring(files["--svg"].read_bytes())
    story = json.loads(files["--story"].read_text())
    assert story["right"] and story["collective"] == "all_gather" and story["counted"] == story["formula"]
    assert b"<!doctype html>" in files["--html"].read_bytes().lower()
    only = folder / "step.svg"
    run(program, "all_reduce", "--algorithm", "ring", "-n", "3", "--svg", str(only), "--step", "4")
    assert b"step 4 of 5" in only.read_bytes() and b"step 3 of 5" not in only.read_bytes()


def check_errors(program, folder):
    never = folder / "never"
    for arguments in (["all_reduce", "--algorithm", "bruck"], ["all_reduce", "-n", "17"], ["nothing"],
                      ["all_reduce", "--algorithm", "ring", "--cells", "5", "--cell", "256"],
                      ["all_reduce", "--algorithm", "ring", "--step", "99"],
                      ["all_reduce", "--story", str(never)], ["all_reduce", "--machine", "/dev/null"]):
        said = run(program, *arguments, "--svg", str(never), code=2)
        assert said.startswith("tutti explain: ") and said.count("\n") == 1, said
        assert not never.exists(), arguments
    assert "--algorithm" in run(program, "-h")
    for arguments in (["barrier", "--svg", str(never)], ["-h"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "cannot write" in done.stderr, done
        assert not never.exists(), arguments


def self_test(program, folder):
    trace = trace_of(program, ["all_reduce", "--algorithm", "ring", "-n", "3"], folder)
    assert trace_faults(trace) == []

    def damaged(change):
        other = copy.deepcopy(trace)
        change(other["traceEvents"])
        return trace_faults(other)

    def first(events, ph):
        return next(event for event in events if event["ph"] == ph)

    damages = {
        "lacks an end": lambda events: events.remove(first(events, "f")),
        "overlap": lambda events: first(events, "X").update(dur=1000),
        "times go back": lambda events: events.reverse(),
        "ends in no slice": lambda events: first(events, "s").update(tid=7),
        "goes back in time": lambda events: first(events, "s").update(ts=1e6),
        "has no name": lambda events: events.remove(first(events, "M")),
        "no source line": lambda events: first(events, "X")["args"].clear(),
    }
    for expected, change in damages.items():
        assert any(expected in fault for fault in damaged(change)), expected


def main():
    program, golden = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if sys.argv[3:] == ["--write"]:
            golden.mkdir(exist_ok=True)
            for file, arguments in GOLDEN.items():
                (golden / file).write_text(run(program, *arguments))
        elif sys.argv[3:] == ["--self-test"]:
            self_test(program, folder)
        else:
            check_tables(program, golden)
            check_traces(program, folder)
            check_files(program, folder)
            check_errors(program, folder)


main()

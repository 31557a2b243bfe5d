"""Makes one JSON file and a summary of what bench/gpu.sh ran: gpu_report.py FOLDER JSON --fields F,... (see gpu.sh).

FOLDER holds steps.tsv (part, what, state, seconds, log, command, why), gpus.csv and gpus-after.csv (nvidia-smi, in the
order of --fields), and what the parts left: tests.xml (JUnit), limit.json, nvlink.txt, bench-*.json. Exits 1 if
something failed.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys

import gpu_findings
import gpu_summary


NCCL_STARTS = "does NCCL start"


def troubles_of(report):
    """In a line each, what makes the suite fail."""
    tests = report["tests"]
    for step in report["steps"]:
        if step["part"] == "correctness" and tests:
            continue  # the tests say more
        # Without NCCL there is nothing to compare with; sizes and tools for which there was no time are left out.
        fails = step["what"] != NCCL_STARTS if step["state"] == "failed" else \
            step["state"] == "timed_out" and step["part"] == "correctness"
        if fails:
            yield f"{step['part']}: {step['what']}: {step['why']} ({step['log']})"
    if tests:
        for name in tests["failed"]:
            yield f"correctness: {name} failed ({gpu_findings.TESTS_LOG})"
        if not tests["passed"]:
            yield f"correctness: no test of the GPU passed ({gpu_findings.TESTS_LOG})"
    for row in report["bandwidth"]:
        if row["wrong"]:
            yield (f"bandwidth: {row['collective']} of {row['bytes']} bytes by {row['backend']}: "
                   f"{row['wrong']} wrong elements")


def left_out_of(report):
    for step in report["steps"]:
        if step["state"] in ("left_out", "timed_out"):
            yield f"{step['part']}: {step['what']}: {step['why']}"
    tests = report["tests"]
    if tests and (tests["cut_short"] or tests["not_started"]):
        yield f"correctness: no time for {tests['not_started'] + len(tests['cut_short'])} of the GPU tests"


def commit_of_this_tree():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        command = ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("json")
    for name in ("gpus", "ranks", "build-seconds", "seconds", "minutes"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--fields", required=True)
    parser.add_argument("--emulated", action="store_true")
    given = parser.parse_args()

    steps = gpu_findings.steps_of(given.folder)
    fields = given.fields.split(",")
    gpus = gpu_findings.gpus_of(given.folder, "gpus.csv", fields)
    limits = gpu_findings.limits_of(given.folder, gpus)
    ceiling = None if given.emulated else gpu_findings.ceiling_of(limits, given.ranks)
    notes = []
    if given.gpus == 1:
        notes.append("many ranks on one GPU: never NVLink figures; bandwidth is that of one rank in its GPU's memory")
    for step in steps:
        if step["what"] == NCCL_STARTS and step["state"] != "ok":
            notes.append(f"NCCL did not start, so tutti is measured alone ({step['log']} says why)")
    report = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit_of_this_tree(),
        "emulated": given.emulated,
        "machine": {"gpus_used": given.gpus, "ranks": given.ranks, "gpus": gpus,
                    "gpus_after": gpu_findings.gpus_of(given.folder, "gpus-after.csv", fields),
                    "topology": gpu_findings.text_of(given.folder, "topo.txt") or None, "from": "nvidia-smi"},
        "seconds": {"allowed": given.minutes * 60, "taken": given.seconds, "build": given.build_seconds},
        "notes": notes,
        "steps": steps,
        "left_out": [],
        "tests": gpu_findings.tests_of(given.folder),
        "limits": limits,
        "ceiling": ceiling and {"rate": ceiling[0], "unit": "GB/s", "what": ceiling[1]},
        "bandwidth": gpu_findings.rows_of(given.folder, ceiling),
    }
    report["left_out"] = list(left_out_of(report))
    report["troubles"] = list(troubles_of(report))
    with open(given.json, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    print("\n".join(gpu_summary.summary_of(report)))
    print(f"all of it: {given.json}")
    return 1 if report["troubles"] else 0


if __name__ == "__main__":
    sys.exit(main())

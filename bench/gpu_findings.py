"""Reads what bench/gpu.sh left in its folder: of its steps, its tests, its measurements and this machine.

Every figure says where it is from: "measured" here, "nvidia-smi", or "data sheet". What is missing or broken off, since
what wrote it was ended, is left out.
"""

import glob
import json
import os
import re
import xml.etree.ElementTree

# GB/s (10^9 bytes) by NVIDIA's data sheets of these GPUs: of memory, and of all links of a GPU in one direction.
DATA_SHEETS = [
    (r"A100-SXM4-40GB", 1555, 300),
    (r"A100-SXM4-80GB", 2039, 300),
    (r"H100.*HBM3", 3350, 450),
    (r"H200", 4800, 450),
    (r"GB200", 8000, 900),
]


TESTS_LOG = "correctness-GPU_tests.log"


def text_of(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def json_of(folder, name):
    """None if there is no such file, or it is no JSON: what wrote it was ended."""
    try:
        return json.loads(text_of(folder, name) or "null")
    except ValueError:
        return None


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def gpus_of(folder, name, fields):
    gpus = []
    for line in text_of(folder, name).splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == len(fields):
            gpus.append({field: number(value) if number(value) is not None and field != "compute_cap" else value
                         for field, value in zip(fields, values)})
    return gpus


def steps_of(folder):
    steps = []
    for line in text_of(folder, "steps.tsv").splitlines():
        part, what, state, seconds, log, command, why = (line.split("\t") + [""] * 7)[:7]
        steps.append({"part": part, "what": what, "state": state, "seconds": int(seconds), "log": log or None,
                      "command": command.strip() or None, "why": why or None})
    return steps


def tests_of(folder):
    """How many of the GPU tests passed, and which did not. One that the end of the time cut short has not failed."""
    text, log = text_of(folder, "tests.xml"), text_of(folder, TESTS_LOG)
    if not text:
        return None
    cut = re.findall(r"Test +#\d+: (\S+) .*\*\*\*Timeout", log)[-1:] if "stop time has been passed" in log else []
    tests = {"passed": 0, "failed": [], "skipped": [], "cut_short": [], "not_started": 0}
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        status, skipped, name = case.get("status"), case.find("skipped"), case.get("name")
        if status == "run":
            tests["passed"] += 1
        elif skipped is not None and status != "fail":
            said = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if "skip" in line.lower()]
            tests["skipped"].append({"name": name, "why": (said or [skipped.get("message") or ""])[0]})
        else:
            tests["cut_short" if name in cut else "failed"].append(name)
    listed = tests["passed"] + sum(len(tests[kind]) for kind in ("failed", "skipped", "cut_short"))
    if all_of_them := re.search(r"\d+/(\d+) Test +#", log):
        tests["not_started"] = int(all_of_them.group(1)) - listed
    return tests


def links_of(folder):
    """What nvidia-smi says of NVLink, for each GPU: active links, and what they carry one way."""
    links = []
    for line in text_of(folder, "nvlink.txt").splitlines():
        if re.match(r"\s*GPU \d+:", line):
            links.append({"links": 0, "one_way": 0.0, "unit": "GB/s", "from": "nvidia-smi"})
        elif (match := re.match(r"\s*Link \d+: ([\d.]+) GB/s", line)) and links:
            links[-1]["links"] += 1
            links[-1]["one_way"] += float(match.group(1))
    return [link for link in links if link["links"]]


def data_sheet(name):
    for pattern, memory, links in DATA_SHEETS:
        if re.search(pattern, name):
            return {"memory": memory, "links_one_way": links, "unit": "GB/s", "from": "data sheet"}
    return None


def limits_of(folder, gpus):
    measured = json_of(folder, "limit.json") or {}
    return {
        "memory": [{**row, "unit": "GB/s", "from": "measured"} for row in measured.get("memory", [])],
        "link_copies": [{**row, "unit": "GB/s", "from": "measured"} for row in measured.get("links", [])],
        "nvlink": links_of(folder),
        "data_sheet": data_sheet(gpus[0]["name"]) if gpus else None,
    }


def ceiling_of(limits, ranks):
    """What busbw (algbw, of one rank) may reach at most, and what says so; None if nothing does."""
    if ranks < 2:
        copied = [row["copied"] for row in limits["memory"] if row.get("copied")]
        return (min(copied), "a copy within memory, measured") if copied else None
    if limits["nvlink"]:
        return min(link["one_way"] for link in limits["nvlink"]), "NVLink one way, links x rate by nvidia-smi"
    copied = [row["copied"] for row in limits["link_copies"] if row.get("copied")]
    return (min(copied), "a copy between GPUs, measured") if copied else None


def rows_of(folder, ceiling):
    rows = []
    for path in sorted(glob.glob(os.path.join(folder, "bench-*.json"))):
        document = json_of(folder, os.path.basename(path)) or {}
        for row in document.get("rows", []):
            rate = row["busbw"] if row["ranks"] > 1 else row["algbw"]
            share = rate / ceiling[0] if ceiling and rate is not None else None
            rows.append({**row, "of_limit": share, "from": "measured", "command": document.get("command")})
    return sorted(rows, key=lambda row: (row["collective"], row["bytes"], row["backend"]))

"""Checks that a transcript is what a program prints today: bench_transcript.py TRANSCRIPT COMMAND...

The first line of the transcript names the command for people; it is not compared. Nor is what the program prints before
its first blank line: that tells what it runs on, which differs between machines and builds. Times and
ratios of times count as one and the same.
"""

import difflib
import re
import subprocess
import sys



def without_figures(text):
    lines = []
    for line in text.splitlines():
        masked = re.sub(r"\b\d+\.\d\d ([um]?s)\b", "TIME", re.sub(r"\b\d+\.\d\dx", "RATIO", line))
        lines.append(masked if masked == line else re.sub(r"(?<=\S) +", " ", masked))
    return lines


with open(sys.argv[1], encoding="utf-8") as file:
    captured = file.read().split("\n", 1)[1]
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
print(done.stderr, end="", file=sys.stderr)
device, _, printed = done.stdout.partition("\n\n")
faults = list(difflib.unified_diff(without_figures(captured), without_figures(printed), sys.argv[1], "printed now", lineterm=""))
if faults:
    faults.append("If the new output is right, put it into the transcript below its first line.")
if not re.fullmatch(r"tutti on the (CPU|GPU) \(.+\)", device):
    faults.append(f"the first line does not say on what the program runs and why: {device!r}")
if done.returncode:
    faults.append(f"the command ended with exit status {done.returncode}")
print("\n".join(faults))
sys.exit(1 if faults else 0)

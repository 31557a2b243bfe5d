"""Checks that a transcript is what a program prints today: bench_transcript.py TRANSCRIPT COMMAND...

The first line of the transcript names the command for people and is not compared.
"""

import difflib
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    captured = file.read().split("\n", 1)[1]
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
print(done.stderr, end="", file=sys.stderr)
difference = list(difflib.unified_diff(captured.splitlines(), done.stdout.splitlines(), sys.argv[1], "printed now",
                                       lineterm=""))
print("\n".join(difference))
if difference:
    print("If the new output is right, put it into the transcript below its first line.")
if done.returncode:
    print(f"the command ended with exit status {done.returncode}")
sys.exit(1 if difference or done.returncode else 0)

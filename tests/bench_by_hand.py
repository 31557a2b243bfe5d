"""Checks the lines of code that the demo says hand-written collectives have: bench_by_hand.py SOURCE TRANSCRIPT

SOURCE has the functions, NAME_by_hand; TRANSCRIPT what the demo prints, with a line "NAME SIZE LINES TIME 1 TIME ..." for
each. A body's lines count without blank ones, without comments, and without the lines of the braces around it.
"""

import re
import sys


def bodies(source):
    """The lines that count of each function."""
    counts = {}
    for name, body in re.findall(r"^\S.*?\b(\w+)_by_hand\([^{;]*\{\n(.*?)^\}", source, re.M | re.S):
        lines = [re.sub(r"//.*", "", line).strip() for line in body.splitlines()]
        counts[name] = sum(bool(line) for line in lines)
    return counts


def printed(transcript):
    pattern = r"^ +(\w+) +[\d.]+ \w*B +(\d+) +[\d.]+ [um]?s +(\d+) +[\d.]+ [um]?s"
    return [(name, int(by_hand), int(collective)) for name, by_hand, collective in re.findall(pattern, transcript, re.M)]


with open(sys.argv[1], encoding="utf-8") as file:
    counts = bodies(file.read())
with open(sys.argv[2], encoding="utf-8") as file:
    rows = printed(file.read())
faults = [f"{sys.argv[2]}: {name}: {by_hand} lines by hand, in {sys.argv[1]} it has {counts.get(name)}"
          for name, by_hand, _ in rows if by_hand != counts.get(name)]
faults += [f"{sys.argv[2]}: {name}: a collective is one line, not {collective}" for name, _, collective in rows if collective != 1]
faults += [f"{sys.argv[2]}: nothing about {name}" for name in counts if name not in {row[0] for row in rows}]
if not counts:
    faults.append(f"{sys.argv[1]}: no function NAME_by_hand")
print("\n".join(faults))
sys.exit(1 if faults else 0)

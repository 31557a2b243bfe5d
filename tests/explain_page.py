"""Plays the pages that `tutti explain --html` writes, in headless Chromium: explain_page.py TUTTI_EXPLAIN.

Steps, drags, keys and the player are tried; what the cells show is compared with the story as JSON and with sums formed
here. explain_page.py --self-test TUTTI_EXPLAIN: damaged pages are noticed. Skipped (77) without a browser.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import explain_page_browser
from explain_page_checks import CHECKS, Page

ALL_REDUCE = ("packets", "one_shot", "two_shot", "ring", "tree", "recursive_doubling", "halving_doubling")
OTHERS = (("reduce_scatter", "ring"), ("all_gather", "bruck"), ("broadcast", "tree"), ("reduce", "tree"),
          ("gather", "tree"), ("scatter", "direct"), ("all_to_all", "pairwise"), ("send_recv", "direct"),
          ("barrier", "dissemination"))


def write_page(program, folder, collective, algorithms, ranks, *options):
    """A page of these algorithms, and the story of each."""
    def explain(algorithm, *more):
        subprocess.run([program, collective, "--algorithm", algorithm, "-n", str(ranks), *options, *more], check=True,
                       stdout=subprocess.DEVNULL)

    name = os.path.join(folder, "_".join([collective, *algorithms, str(ranks), *options]).replace("/", "_"))
    explain(",".join(algorithms), "--html", name + ".html")
    stories = []
    for algorithm in algorithms:
        stories.append(f"{name}_{algorithm}.json")
        explain(algorithm, "--story", stories[-1])
    return Page(name + ".html", stories)


def test(program, folder, browser):
    problems = []

    def check(name, page):
        found = CHECKS[name](browser, page)
        found += [f"the browser says: {said}" for said in browser.complaints()]
        problems.extend(f"{os.path.basename(page.path)}, {name}: {problem}" for problem in found)

    ring = write_page(program, folder, "all_reduce", ["ring"], 3)
    for name in ("needs no network", "says what it is", "steps there and back", "drags", "keys", "tells of bars", "phone",
                 "contrast", "names for all controls"):
        check(name, ring)
    again = write_page(program, tempfile.mkdtemp(dir=folder), "all_reduce", ["ring"], 3)
    if ring.text != again.text:
        problems.append("two runs wrote different pages")

    quick = write_page(program, folder, "all_reduce", ["two_shot"], 4)
    for name in ("plays to the end", "plays calmly"):
        check(name, quick)

    both = write_page(program, folder, "all_reduce", ["ring", "two_shot"], 4)
    for name in ("side by side", "steps there and back", "phone", "contrast"):
        check(name, both)

    for algorithm in ALL_REDUCE:
        check("steps there and back", write_page(program, folder, "all_reduce", [algorithm], 4))
    for collective, algorithm in OTHERS:
        check("steps there and back", write_page(program, folder, collective, [algorithm], 4))
    check("steps there and back", write_page(program, folder, "all_reduce", ["halving_doubling"], 5, "--memory", "any"))

    memories = os.path.join(folder, "memories.html")
    subprocess.run([program, "all_reduce", "--algorithm", "ring", "--memory", "peer-mapped,any", "--html", memories],
                   check=True, stdout=subprocess.DEVNULL)
    check("names for all controls", Page(memories, []))
    names = browser.run("return [...document.querySelectorAll('h2')].map(e => e.textContent)")
    if names[:2] != ["ring (peer-mapped memory)", "ring (any memory)"]:
        problems.append(f"one algorithm in two memories is called {names[:2]}")

    check("names for all controls", write_page(program, folder, "reduce", ["direct"], 3, "--op", "max"))
    promise = browser.run("return document.getElementById('promise').textContent")
    if promise != "The root ends with the maximum of what all ranks had. The root is rank 0.":
        problems.append(f"a maximum is promised as: {promise}")

    figures = {"ranks": (4, "ranks"), "packet_wire": (2, "bytes per byte")}
    figures.update((key, (0, "ns")) for key in ("launch", "word", "signal", "wait", "flag", "fence", "load"))
    figures.update((key, (1e15, "GB/s")) for key in ("link", "memory", "block", "packet_block"))
    machine = {key: {"value": value, "unit": unit, "source": "estimate: none"} for key, (value, unit) in figures.items()}
    timeless = os.path.join(folder, "timeless.json")
    with open(timeless, "w", encoding="utf-8") as file:
        json.dump({"name": "timeless", "about": "takes no time", "kind": "gpu", "wiring": "switched", **machine}, file)
    check("names for all controls",
          write_page(program, folder, "all_reduce", ["ring", "tree"], 4, "--machine", timeless))
    last = browser.run("return document.body.innerText")
    if "NaN" in last or "times as long" not in last:
        problems.append(f"a page of a machine that takes no time says {last[:400]}")

    small = write_page(program, folder, "all_reduce", ["ring"], 8)
    if len(small.text.encode()) >= 100_000:
        problems.append(f"a page of 8 ranks has {len(small.text.encode())} bytes")
    large = write_page(program, folder, "all_reduce", ["ring"], 16)
    for name in ("steps there and back", "phone"):
        check(name, large)
    return problems


# What is damaged in a page, and the check that must notice.
DAMAGES = [
    ("steps there and back", r'(?s)(.*"changed":\[\[\d+,\d+),\d+', r"\g<1>,77"),
    ("steps there and back", r"this\.step\(-1\)", "this.step(1)"),
    ("steps there and back", r"if \(t <= 0\) return -1;", ""),
    ("drags", r"running \? box\.width \* part : 0", "0"),
    ("steps there and back", r"valueText\(value\);", "String(value + 1);"),
    ("drags", r'this\.slider\.addEventListener\("input"', 'this.slider.addEventListener("unheard"'),
    ("drags", r'addEventListener\("pointermove"', 'addEventListener("unheard"'),
    ("keys", r"End: \(\)", "Pause: ()"),
    ("keys", r'" ": target', '"x": target'),
    ("tells of bars", r"this\.tellLane\(at\(event\)\.time\);", ""),
    ("plays to the end", r"this\.t \+ seconds \* this\.rate", "this.t"),
    ("plays calmly", r"if \(this\.calm\.matches\)", "if (false)"),
    ("side by side", r'classList\.toggle\("beside"', 'classList.toggle("above"'),
    ("side by side", r"\(t / this\.end\) \* this\.wide", "(t / this.story.end) * this.wide"),
    ("phone", r"\.scroll \{ overflow-x: auto; \}", ".story { min-width: 500px; }"),
    ("phone", r"touch-action: pan-y;", "touch-action: auto;"),
    ("contrast", r"--soft: light-dark\(#\w+, #\w+\)", "--soft: light-dark(#b0b0b0, #505050)"),
    ("contrast", r"--card: light-dark\(#ffffff, #\w+\)", "--card: #ffffff"),
    ("names for all controls", r'<button type="button" id="back" aria-label="Step back" title="[^"]*"', '<button id="back"'),
    ("needs no network", r"</main>", '<img src="https://example.org/x.png" alt=""></main>'),
    ("says what it is", r"Times are virtual: predicted", "Times are"),
]


def self_test(program, folder, browser):
    problems = []
    pages = {name: write_page(program, folder, "all_reduce", ["ring"], 3) for name in CHECKS}
    pages["side by side"] = write_page(program, folder, "all_reduce", ["ring", "two_shot"], 4)
    pages["plays to the end"] = pages["plays calmly"] = write_page(program, folder, "all_reduce", ["two_shot"], 2)
    for number, (name, pattern, damage) in enumerate(DAMAGES):
        sound = pages[name]
        text, changes = re.subn(pattern, damage, sound.text)
        path = os.path.join(folder, f"damaged_{number}.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        found = CHECKS[name](browser, Page(path, sound.story_paths))
        if changes == 0:
            problems.append(f"damage {number} changes nothing: {pattern}")
        elif not found and not browser.complaints():
            problems.append(f"damage {number} is not noticed by '{name}': {pattern}")
        browser.complaints()
    print(f"{len(DAMAGES)} damages")
    return problems


def main():
    arguments = sys.argv[1:]
    work = self_test if arguments[:1] == ["--self-test"] else test
    browser = explain_page_browser.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            problems = work(arguments[-1], folder, browser)
    finally:
        browser.close()
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""The tables of docs/predict.md and docs/gpu-speed.md, made by tutti-predict: predict_tables.py PROGRAM PAGE [--write].

Between `<!-- table: NAME -->` and `<!-- end -->` the page must hold what the program predicts now, beside what others
have published; the difference is printed and the result is 1. With --write the page is brought up to date instead.
`predict_tables.py PROGRAM --self-test` damages a page and checks that it is noticed.
"""

import difflib
import json
import re
import subprocess
import sys
import tempfile

K, M, G = 1 << 10, 1 << 20, 1 << 30
# Published figures; where each comes from is told in the page's table of sources.
NCCL_BY_SIZE = {32 * K: 18.7, 128 * K: 19.3, 512 * K: 20.4, M: 27.8, 2 * M: 40.7, 4 * M: 53, 8 * M: 81, 16 * M: 121,
                32 * M: 195}
MSCCLPP = {K: 6.5, 8 * K: 6.5, 32 * K: 6.5, 64 * K: 6.6, 256 * K: 7.4, 512 * K: 8.3, M: 10.3, 4 * M: 22, 16 * M: 68,
           64 * M: 252}
VLLM_TWO_SHOT = {512 * K: 15, M: 17, 2 * M: 22, 4 * M: 37, 16 * M: 125, 64 * M: 468}
VLLM_MULTIMEM = {512 * K: 11, M: 14, 2 * M: 18, 4 * M: 27, 16 * M: 87, 64 * M: 320}
# Of PR 24111, by ranks, size and algorithm.
VLLM_SMALLER = [(2, 512 * K, "one_shot", 7, 11), (2, M, "one_shot", 9, 17), (2, 2 * M, "one_shot", 13, 37),
                (4, 512 * K, "one_shot", 10, 17), (4, 512 * K, "two_shot", 17, 17), (4, M, "one_shot", 15, 19),
                (4, M, "two_shot", 18, 19), (4, 4 * M, "one_shot", 38, 37), (4, 4 * M, "two_shot", 43, 37)]
HOP, LINK = 1.3, 370  # us: flag and wait of bench/machines/h100x8.json; GB/s: its link
RING_BUSBW = {2: "365–370", 4: "365–370", 5: "365–370", 6: "365–370", 7: "365–370", 8: "365–370"}
NVLS_BUSBW = {4: 370, 5: 420, 6: 440, 7: 460, 8: 480}


def predicted(program, *arguments):
    """The rows, by (algorithm, bytes)."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, *arguments, "--json", file.name], check=True, stdout=subprocess.DEVNULL)
        rows = json.load(file)["rows"]
    return {(row["algorithm"], row["bytes"]): row for row in rows}


def size(number):
    for unit, name in ((G, "GiB"), (M, "MiB"), (K, "KiB")):
        if number >= unit:
            return f"{number // unit} {name}"
    return f"{number} B"


def figure(value):
    return "–" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def by_size(program):
    sizes = [K, 8 * K, 32 * K, 64 * K, 128 * K, 256 * K, 512 * K, M, 2 * M, 4 * M, 8 * M, 16 * M, 32 * M, 64 * M]
    rows = predicted(program, "all_reduce", "--machine", "h100x8", "-b", "1K", "-e", "64M", "--algorithm",
                     "packets,one_shot,two_shot")
    lines = []
    for bytes_ in sizes:
        ours = {name: rows.get((name, bytes_)) for name in ("packets", "one_shot", "two_shot")}
        time = {name: row and row["time_us"] for name, row in ours.items()}
        best = next(name for name, row in ours.items() if row and row["best"])
        cells = [f"**{figure(time[name])}**" if name == best else figure(time[name]) for name in ours]
        lines.append([size(bytes_), *cells, figure(NCCL_BY_SIZE.get(bytes_)), figure(MSCCLPP.get(bytes_)),
                      figure(VLLM_TWO_SHOT.get(bytes_)), figure(VLLM_MULTIMEM.get(bytes_))])
    return table(["size", "predicted: packets", "one-shot", "two-shot", "published: NCCL", "MSCCL++", "vLLM two-shot",
                  "vLLM multimem"], lines)


def by_algorithm(program):
    names = ["packets", "one_shot", "two_shot", "ring", "tree", "recursive_doubling", "halving_doubling"]
    rows = predicted(program, "all_reduce", "--machine", "h100x8", "-b", "1K", "-e", "16M", "-f", "4", "--algorithm",
                     "all")
    lines = []
    for bytes_ in sorted({key[1] for key in rows}):
        its = [rows.get((name, bytes_)) for name in names]
        lines.append([size(bytes_), *("–" if row is None else f"{figure(row['time_us'])}, {figure(row['busbw'])}"
                                      for row in its)])
    return table(["size", *names], lines)


def by_ranks(program):
    lines = []
    for ranks in (2, 4, 5, 6, 7, 8):
        row = predicted(program, "all_reduce", "--machine", "h100x8", "--ranks", str(ranks), "-b", "1G", "-e", "1G",
                        "--algorithm", "two_shot")["two_shot", G]
        lines.append([str(ranks), figure(row["busbw"]), RING_BUSBW[ranks], figure(NVLS_BUSBW.get(ranks))])
    return table(["ranks", "predicted: two-shot", "published: NCCL ring", "NCCL with multicast"], lines)


def by_collective(program):
    lines = []
    for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "gather", "scatter"):
        rows = predicted(program, name, "--machine", "h100x8", "-b", "256M", "-e", "256M", "--algorithm", "all").values()
        best = min(rows, key=lambda row: row["time_us"])
        chosen = next(row for row in rows if row["auto"])
        lines.append([name, f"{best['algorithm']} {figure(best['busbw'])}",
                      f"{chosen['algorithm']} {figure(chosen['busbw'])}"])
    return table(["collective", "predicted: the best", "`auto`"], lines)


def by_fewer_ranks(program):
    lines = []
    for ranks, bytes_, name, theirs, nccl in VLLM_SMALLER:
        row = predicted(program, "all_reduce", "--machine", "h100x8", "--ranks", str(ranks), "-b", str(bytes_), "-e",
                        str(bytes_), "--algorithm", name)[name, bytes_]
        lines.append([str(ranks), size(bytes_), name, figure(row["time_us"]), figure(theirs), figure(nccl)])
    return table(["ranks", "size", "algorithm", "predicted", "published: vLLM, the same algorithm", "NCCL"], lines)


def by_machine(program):
    lines = []
    for machine in ("h100x8", "h200x8", "a100x4", "nvl72", "pcie5x8"):
        rows = predicted(program, "all_reduce", "--machine", machine, "-b", "8", "-e", "256M", "-f", "32768", "--algorithm",
                         "auto")
        small, middle = rows["packets", 8], next(row for key, row in rows.items() if key[1] == 256 * K)
        large = predicted(program, "all_reduce", "--machine", machine, "-b", "256M", "-e", "256M")["two_shot", 256 * M]
        limit = 100 * large["limit_us"] / large["time_us"]
        lines.append([machine, figure(small["time_us"]), figure(middle["time_us"]), figure(large["busbw"]),
                      f"{limit:.0f} %"])
    return table(["machine", "8 B, µs", "256 KiB, µs", "256 MiB, busbw", "of the limit"], lines)


def many_ranks(program):
    lines = []
    for ranks in (8, 64, 256, 1024):
        rows = predicted(program, "all_reduce", "--machine", "h100x8", "--ranks", str(ranks), "-b", "64M", "-e", "64M",
                         "--algorithm", "ring,tree")
        lines.append([str(ranks), *(figure(rows[name, 64 * M]["time_us"]) for name in ("ring", "tree"))])
    return table(["ranks", "ring", "tree"], lines)


def floors(program, ranks):
    """Of each algorithm: its steps times HOP and its bytes at the links' rate, and what is predicted of the kernel."""
    sizes = (8, 64 * K, M, 64 * M, G)
    rows = {}
    for bytes_ in sizes:
        rows.update(predicted(program, "all_reduce", "--machine", "h100x8", "--ranks", str(ranks), "-b", str(bytes_), "-e",
                              str(bytes_), "--algorithm", "all"))
    lines = []
    for name in dict.fromkeys(key[0] for key in rows):
        cells = []
        for bytes_ in sizes:
            row = rows.get((name, bytes_))
            floor = row and row["steps"] * HOP + row["link_bytes"] / LINK * 1e-3
            cells.append(f"{figure(floor)}, {figure(row['time_us'])}" if row else "–")
        one = next(row for key, row in rows.items() if key[0] == name)
        lines.append([name, str(one["steps"]), *cells])
    return table(["algorithm", "steps", *(size(bytes_) for bytes_ in sizes)], lines)


TABLES = {"by size": by_size, "by algorithm": by_algorithm, "by ranks": by_ranks, "by collective": by_collective,
          "by fewer ranks": by_fewer_ranks, "by machine": by_machine, "many ranks": many_ranks,
          "floors of eight": lambda program: floors(program, 8), "floors of four": lambda program: floors(program, 4),
          "floors of two": lambda program: floors(program, 2)}
OF_GPU_SPEED = {name for name in TABLES if name.startswith("floors")}


def current(page, program):
    def made(match):
        return match.group(1) + "\n".join(TABLES[match.group(2)](program)) + "\n" + match.group(3)

    return re.sub(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end -->)", made, page, flags=re.S)


def differences(page, program, tables):
    """What is wrong with the page, which has these tables, as lines."""
    missing = [name for name in tables if f"<!-- table: {name} -->" not in page]
    if missing:
        return [f"the page lacks the tables {', '.join(missing)}"]
    return list(difflib.unified_diff(page.split("\n"), current(page, program).split("\n"), "the page", "predicted now",
                                     lineterm="", n=0))


def self_test(program):
    """Damages a page with one table in each way that a test must notice."""
    for name in list(TABLES):
        if name != "by ranks":
            TABLES.pop(name)
    good = current("before\n<!-- table: by ranks -->\n<!-- end -->\nafter\n", program)
    assert not differences(good, program, TABLES), differences(good, program, TABLES)
    assert good.startswith("before\n") and good.endswith("-->\nafter\n"), good
    number = re.search(r"\| 8 \| (\d+) \|", good).group(1)
    for damaged in (good.replace(f"| 8 | {number} |", f"| 8 | {int(number) + 1} |"),
                    good.replace("| ranks |", "| gpus |"), good.replace("<!-- table: by ranks -->", "")):
        assert damaged != good and differences(damaged, program, TABLES), damaged


def main():
    program, name = sys.argv[1:3]
    if name == "--self-test":
        return self_test(program)
    with open(name, encoding="utf-8") as file:
        page = file.read()
    if sys.argv[3:] == ["--write"]:
        with open(name, "w", encoding="utf-8") as file:
            file.write(current(page, program))
        return None
    of_page = OF_GPU_SPEED if name.endswith("gpu-speed.md") else set(TABLES) - OF_GPU_SPEED
    found = differences(page, program, [table_ for table_ in TABLES if table_ in of_page])
    if found:
        print("\n".join(found))
        sys.exit(f"{name} is not what is predicted now: python3 tests/predict_tables.py build/host/bin/tutti-predict "
                 f"{name} --write")
    return None


if __name__ == "__main__":
    main()

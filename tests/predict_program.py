"""The program tutti-predict as people and scripts meet it: predict_program.py PROGRAM.

How its table reads, what its JSON file holds beside bench's, and that what is wrong with arguments is told in one line.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
# Keys of a row of bench's report that only a measurement has.
MEASURED = {"time_us_min", "time_us_max", "wrong", "ratio", "ratio_low", "ratio_high", "rounds", "placement",
            "placement_ns"}
BENCH = {"collective", "backend", "algorithm", "asked_algorithm", "memory", "ranks", "bytes", "count", "type", "op", "root",
         "in_place", "time_us", "algbw", "busbw", "steps", "wire_bytes"} | MEASURED
WRONG = [
    ([], "which collective"),
    (["all_reduce_twice"], "all_reduce_twice"),
    (["all_reduce", "--machine", "h300x8"], "h100x8"),
    (["all_reduce", "--machine", "no/such.json"], "no/such.json"),
    (["all_reduce", "-b", "eight"], "-b 'eight'"),
    (["all_reduce", "-b", "2M", "-e", "1M"], "above"),
    (["all_reduce", "-f", "0"], "-f"),
    (["all_reduce", "-t", "f12"], "f12"),
    (["all_reduce", "--op", "median"], "median"),
    (["all_reduce", "--algorithm", "magic"], "magic"),
    (["gather", "--algorithm", "two_shot"], "gather has"),
    (["gather", "--root", "8"], "the ranks are 0 to 7"),
    (["all_reduce", "--ranks", "1"], "from 2"),
    (["all_reduce", "--ranks", "many"], "many"),
    (["all_reduce", "--blocks", "33"], "from 1 to 32"),
    (["all_reduce", "--memory", "borrowed"], "borrowed"),
    (["all_reduce", "--json", "no/such/folder/rows.json"], "no/such/folder"),
    (["all_reduce", "-e", "2097152G"], "-e 2097152G: use at most 1048576G"),
    (["all_reduce", "--carrier", "pigeon"], "-h lists the options"),
]


def run(*arguments, **keywords):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TUTTI_")}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env=environment, **keywords)


def rows_of(text):
    return [line for line in text.split("\n") if re.match(r" *\d+ +\d+ +\w+ ", line)]


class Predict(unittest.TestCase):
    def test_says_first_that_nothing_was_measured(self):
        for arguments in (["all_reduce", "-e", "1K"], ["barrier", "--machine", "pcie5x8"]):
            self.assertTrue(run(*arguments).stdout.startswith("# PREDICTED, not measured"))

    def test_prints_columns_that_stand_below_their_titles(self):
        text = run("all_reduce", "-b", "8", "-e", "1G", "-f", "1024", "--algorithm", "two_shot,packets").stdout
        titles = next(line for line in text.split("\n") if line.startswith("#     size"))
        rows = rows_of(text)
        self.assertEqual(len(rows), 6)  # three sizes
        for column in ("size", "count", "redop", "root", "blocks", "time", "algbw", "busbw", "wire", "limit"):
            end = titles.index(column) + len(column)
            for row in rows:
                if row.rstrip().endswith("below") and column in ("algbw", "busbw", "wire", "limit"):
                    continue
                self.assertNotEqual(row[end - 1], " ", f"{column} in {row}")
                self.assertEqual((row + " ")[end], " ", f"{column} in {row}")
        for line in text.split("\n"):
            self.assertLessEqual(len(line), 120, line)
            self.assertEqual(line, line.rstrip())

    def test_marks_one_best_row_for_each_size_and_what_auto_runs(self):
        text = run("all_reduce", "-b", "1K", "-e", "1M", "-f", "32", "--algorithm", "all").stdout
        for size in (1024, 32768, 1048576):
            rows = [row for row in rows_of(text) if int(row.split()[0]) == size]
            self.assertEqual(len([row for row in rows if " best" in row]), 1, rows)
            self.assertEqual(len([row for row in rows if row.endswith("auto")]), 1, rows)

    def test_tells_where_auto_is_not_the_fastest(self):
        # The constants that are compiled in are those of another machine.
        text = run("broadcast", "--machine", "pcie5x8", "-b", "16M", "-e", "64M", "--algorithm", "direct,ring").stdout
        self.assertRegex(text, r"# broadcast: auto runs ring at 16M to 64M; the fastest of these rows in 0 of 3\n"
                               r"#   direct would be faster at 16M to 64M: \d+ % less time at most\n")

    def test_predicts_every_collective(self):
        result = run("all", "-b", "64K", "-e", "64K", "--memory", "peer-mapped,any", "--algorithm", "all")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "gather", "scatter",
                     "all_to_all", "send_recv", "barrier"):
            self.assertRegex(result.stdout, rf"(?m)^# {name}(,|$| \()")

    def test_says_when_ranks_are_more_than_the_machine_has(self):
        text = run("all_reduce", "--ranks", "200", "-b", "8", "-e", "8", "--algorithm", "tree").stdout
        self.assertIn("# 200 ranks, as if the machine had so many; it has 8", text)
        self.assertNotIn("as if", run("all_reduce", "--ranks", "4", "-b", "8", "-e", "8").stdout)

    def test_writes_rows_with_the_keys_of_bench(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "rows.json")
            run("all_reduce", "-b", "32K", "-e", "64K", "--algorithm", "all", "--json", name)
            with open(name, encoding="utf-8") as file:
                document = json.load(file)
        self.assertIs(document["predicted"], True)
        self.assertEqual(document["machine"]["name"], "h100x8")
        self.assertIn("source", document["machine"]["link"])
        self.assertEqual(len(document["rows"]), 13)
        for row in document["rows"]:
            self.assertIs(row["predicted"], True)
            self.assertLessEqual(BENCH - MEASURED, set(row))
            self.assertFalse(MEASURED & set(row), "a prediction has nothing that was measured")
            self.assertLessEqual({"link_bytes", "limit_us", "blocks", "best", "auto"}, set(row))
            self.assertAlmostEqual(row["algbw"], row["bytes"] / row["time_us"] / 1000)
        (left_out,) = document["not_applicable"]
        self.assertEqual((left_out["algorithm"], left_out["bytes"]), ("packets", 65536))

    def test_reads_a_machine_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "rows.json")
            run("barrier", "--json", name)
            with open(name, encoding="utf-8") as file:
                machine = json.load(file)["machine"]
            machine["name"] = "mine"
            machine["flag"]["value"] = 100000
            box = os.path.join(folder, "box.json")
            with open(box, "w", encoding="utf-8") as file:
                json.dump(machine, file)
            result = run("barrier", "--machine", box)
            self.assertIn("# mine: ", result.stdout)
            self.assertGreater(float(rows_of(result.stdout)[0].split()[7]), 100)
            machine["flag"].pop("source")
            with open(box, "w", encoding="utf-8") as file:
                json.dump(machine, file)
            result = run("barrier", "--machine", box)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertRegex(result.stderr, r"^tutti predict: .*box\.json: 'flag' has no source: [^\n]*\n$")

    def test_lists_its_machines_and_their_sources(self):
        listed = run("--machines").stdout.split("\n")[:-1]
        self.assertGreaterEqual(len(listed), 5)
        for line in listed:
            self.assertRegex(line, r"^[\w-]+ +.*; numbers: .*")
            name = line.split()[0]
            self.assertRegex(run("--machine", name, "--sources").stdout, r"(?m)^ranks +\d+ ranks +\w+")

    def test_tells_what_is_wrong_in_one_line(self):
        for arguments, part in WRONG:
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(result.stdout, "", arguments)
            self.assertRegex(result.stderr, r"^tutti predict: [^\n]+\n$", arguments)
            self.assertIn(part, result.stderr)

    def test_serves_no_rank_alone_and_no_million(self):
        with tempfile.TemporaryDirectory() as folder:
            box, rows = os.path.join(folder, "box.json"), os.path.join(folder, "rows.json")
            run("barrier", "--json", box)
            with open(box, encoding="utf-8") as file:
                machine = json.load(file)["machine"]
            for ranks in (1, 1000000):
                machine["ranks"]["value"] = ranks
                with open(box, "w", encoding="utf-8") as file:
                    json.dump(machine, file)
                result = run("barrier", "--machine", box, "--json", rows)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(f"has {ranks} ranks: give --ranks, from 2 to 4096\n", result.stderr)
                self.assertFalse(os.path.exists(rows))
                self.assertEqual(run("barrier", "--machine", box, "--ranks", "4").returncode, 0)

    def test_writes_rows_whatever_their_file_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = os.path.join(os.fsencode(folder), b"\xff.json")
            self.assertEqual(run("barrier", "--json", rows).returncode, 0)
            with open(rows, encoding="utf-8") as file:
                self.assertIn("\ufffd.json", json.load(file)["command"])

    def test_finds_nothing_faster_where_nothing_takes_time(self):
        with tempfile.TemporaryDirectory() as folder:
            box = os.path.join(folder, "box.json")
            run("barrier", "--json", box)
            with open(box, encoding="utf-8") as file:
                machine = json.load(file)["machine"]
            for number in machine.values():
                if isinstance(number, dict) and number["unit"] == "ns":
                    number["value"] = 0
            with open(box, "w", encoding="utf-8") as file:
                json.dump(machine, file)
            result = run("barrier", "--machine", box, "--algorithm", "all")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("the fastest of these rows in 1 of 1\n", result.stdout)
            self.assertNotIn("nan", result.stdout)

    def test_says_when_its_table_is_lost(self):
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w", encoding="utf-8") as full:
            rows = os.path.join(folder, "rows.json")
            result = subprocess.run([PROGRAM, "barrier", "--json", rows], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=120)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, r"^tutti predict: cannot write [^\n]+\n$")
            self.assertFalse(os.path.exists(rows))

    def test_shows_help(self):
        result = run("-h")
        self.assertEqual(result.returncode, 0)
        for word in ("--machine", "--algorithm", "--ranks", "examples", "Nothing is measured"):
            self.assertIn(word, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

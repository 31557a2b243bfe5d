"""What `./tutti check` promises: check_program.py PROGRAM SOURCE

Exit codes, what a finding says, that its command finds the same again, and that threads change nothing.
"""

import os
import pty
import re
import shlex
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1:3]
WRONG = [
    (["surplus"], "surplus"),
    (["--kernel", "ring_all_reduces"], "ring_all_reduces"),
    (["--kernel", ""], "--kernel"),
    (["--ranks", "1"], "one rank"),
    (["--ranks", "65"], "65"),
    (["--ranks", "8..2"], "8..2"),
    (["--ranks", "two"], "two"),
    (["--ranks", "2,,3"], "2,,3"),
    (["--seeds", "0"], "--seeds"),
    (["--seeds", "-1"], "--seeds"),
    (["--seeds", "many"], "--seeds"),
    (["--count", "-1"], "--count"),
    (["--count", "4", "--size", "16"], "--count"),
    (["--size", "1G"], "--size"),
    (["--type", "f31"], "f31"),
    (["--op", "xor"], "xor"),
    (["--root", "3", "--ranks", "3"], "--root 3"),
    (["--memory", "any"], "any"),
    (["--blocks", "0"], "--blocks"),
    (["--slots", "2"], "--slots"),
    (["--in-place", "--out-of-place"], "place"),
    (["--jobs", "0"], "--jobs"),
    (["--minutes", "soon"], "--minutes"),
    (["--minutes", "nan"], "--minutes"),
    (["--first-seed", "-1"], "--first-seed"),
    (["--first-seed", "18446744073709551616"], "--first-seed"),
    (["--plant", "wait:nothing"], "nothing"),
    (["--plant", "leave:data"], "leave"),
    (["--plant", "think"], "think"),
    (["--sequences", "--count", "4"], "--sequences"),
    (["--sequences", "--ranks", "10"], "10"),
    (["--kernel", "ring_all_reduce", "--op", "avg", "--type", "i32", "--ranks", "3"], "takes"),
]


def check(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)


def report_of(output):
    """The first finding: its heading, its lines, the command that repeats it."""
    match = re.search(r"^(\S.*, seed \d+:)\n((?:  .*\n)+?)  again: (.*)\n", output, re.MULTILINE)
    assert match, output
    return match.group(1), match.group(2), match.group(3)


def rows_of(output):
    """By name: ranks, trials, schedules, words, findings."""
    rows = {}
    for line in output.splitlines():
        match = re.match(r"(\S+) +(.*?) +([\d,]+) +([\d,]+) +([\d,]+) +(\d+)$", line)
        if match:
            rows[match.group(1)] = [match.group(2)] + [int(n.replace(",", "")) for n in match.groups()[2:]]
    return rows


class Check(unittest.TestCase):
    def test_counts_what_it_ran(self):
        ran = check("--kernel", "ring_all_reduce,dissemination_barrier", "--ranks", "2..4,6", "--seeds", "30")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(ran.stderr, "")
        rows = rows_of(ran.stdout)
        self.assertEqual(set(rows), {"ring_all_reduce", "dissemination_barrier", "all"})
        self.assertEqual(rows["ring_all_reduce"][:3] + rows["ring_all_reduce"][4:], ["2 to 4, 6", 120, 120, 0])
        # Blocks, slots and memory are all that a barrier's trials differ in.
        self.assertEqual(rows["dissemination_barrier"][1:3], [4 * 30, 120])
        self.assertEqual(rows["all"][2], 240)
        self.assertGreater(rows["ring_all_reduce"][3], 120 * 2 * 2 * 5)

    def test_runs_everything_if_nothing_is_named(self):
        rows = rows_of(check("--seeds", "1", "--ranks", "3").stdout)
        self.assertEqual(len(rows), 37 + 2)  # recv is the other end of send; sequences, all
        for name, row in rows.items():
            self.assertEqual(row[2:3] + row[4:], [38 if name == "all" else 1, 0], name)

    def test_names_what_it_found_and_where_and_finds_it_again(self):
        for arguments, defect in [
            (["--kernel", "ring_all_reduce", "--ranks", "5", "--plant", "wait:data"], "race"),
            (["--kernel", "two_shot_all_reduce", "--ranks", "6", "--memory", "mapped", "--plant", "leave"], "race"),
            (["--kernel", "tree_broadcast", "--ranks", "6", "--plant", "signal:data"], "deadlock"),
            (["--kernel", "send", "--ranks", "2..3", "--size", "2K", "--memory", "staged", "--plant", "wait:p2p_credit"], "race"),
            (["--sequences", "--ranks", "4", "--plant", "signal:data"], "deadlock"),
        ]:
            with self.subTest(arguments):
                ran = check("--seeds", "60", *arguments)
                self.assertEqual(ran.returncode, 1, ran.stdout)
                heading, lines, again = report_of(ran.stdout)
                self.assertIn("sequences" if "--sequences" in arguments else arguments[1], heading)
                self.assertRegex(heading, r", \d ranks, ")
                self.assertIn(defect + ":", lines)
                self.assertRegex(lines, r"rank \d+ (of communicator \d+ )?block \d in \w+, call \d+, step \d+, word \d+")
                if defect == "race":
                    self.assertRegex(lines, r"\[\d+, \d+\) of ")
                self.check_places(lines)
                # The same, and nothing else, with as many threads as one likes.
                command = shlex.split(again)
                self.assertEqual(command[:2], ["./tutti", "check"])
                for jobs in "1", "3":
                    repeated = check(*command[2:], "--jobs", jobs)
                    self.assertEqual(repeated.returncode, 1, again)
                    self.assertEqual(report_of(repeated.stdout), (heading, lines, again))
                clean = check(*command[2:command.index("--plant")])
                self.assertEqual(clean.returncode, 0, clean.stdout)

    def check_places(self, lines):
        """Each word stands in the line of the kernel's file that is named."""
        places = re.findall(r"\((\w+) at (\w+\.hpp):(\d+)\)", lines)
        self.assertTrue(places, lines)
        for word, file, number in places:
            with open(os.path.join(SOURCE, "kernels", file), encoding="utf-8") as source:
                line = source.read().splitlines()[int(number) - 1]
            self.assertRegex(line, rf"\b{word}\(", f"{file}:{number}")

    def test_tells_the_first_finding_of_each_kernel_in_short(self):
        ran = check("--kernel", "ring_all_reduce,ring_all_gather,barrier", "--ranks", "4", "--seeds", "40", "--memory",
                    "staged", "--plant", "wait:data")
        self.assertEqual(ran.returncode, 1)
        rows = rows_of(ran.stdout)
        self.assertEqual([row[4] for row in rows.values()], [1, 1, 0, 2])
        self.assertEqual(rows["barrier"][2], 40)
        self.assertLess(rows["ring_all_reduce"][2], 40)
        self.assertEqual(ran.stdout.count("again: "), 2)
        self.assertLess(len(ran.stdout.splitlines()), 24)

    def test_threads_change_nothing(self):
        arguments = "--kernel", "tree_all_reduce,packets_gather", "--ranks", "2..5", "--seeds", "40"
        one, three = (rows_of(check(*arguments, "--jobs", jobs).stdout) for jobs in "13")
        self.assertEqual(one, three)

    def test_stops_when_time_is_up_and_says_what_was_left_out(self):
        ran = check("--kernel", "halving_doubling_all_reduce", "--ranks", "8", "--seeds", "1000000", "--minutes", "0.01")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r"Left out when time was up: [\d,]+ schedules")
        self.assertLess(rows_of(ran.stdout)["halving_doubling_all_reduce"][2], 1000000)

    def test_shows_on_a_terminal_how_far_it_is(self):
        ours, theirs = pty.openpty()
        command = [PROGRAM, "--kernel", "two_shot_all_reduce", "--ranks", "8", "--seeds", "100000", "--minutes", "0.02"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL) as ran:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    part = os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
        os.close(ours)
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(shown.decode(), r"\r\x1b\[K +\d+ %, [\d,]+ of 100,000 schedules, about .* left; "
                                         r"now two_shot_all_reduce with 8 ranks")
        self.assertNotIn(b"\n", shown)

    def test_explains_itself(self):
        ran = check("-h")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        for part in ("examples:", "--kernel", "--sequences", "--ranks", "--seeds", "--first-seed", "--minutes", "--plant",
                     "ring_all_reduce"):
            self.assertIn(part, ran.stdout)

    def test_says_in_one_line_what_is_wrong_with_its_arguments(self):
        for arguments, named in WRONG:
            with self.subTest(arguments):
                ran = check(*arguments)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
                self.assertTrue(ran.stderr.startswith("tutti check: "), ran.stderr)
                self.assertIn(named, ran.stderr)

    def test_says_when_its_report_is_lost(self):
        for arguments in (["--kernel", "send", "--ranks", "2", "--seeds", "1"], ["-h"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                ran = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(ran.returncode, 2, arguments)
            self.assertRegex(ran.stderr, r"^tutti check: cannot write [^\n]+\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

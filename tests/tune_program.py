"""The program tutti-tune as people meet it: tune_program.py PROGRAM MPIEXEC.

What it writes is read by sessions and steers them; what is wrong is told in one line, by one rank, and nothing hangs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MPIEXEC = sys.argv[1:3]
SMALL = ("all_reduce,barrier", "-e", "64K", "-f", "32", "--rounds", "1", "--seconds", "1")
WRONG = [
    (["all_reduce_twice"], "all_reduce_twice"),
    (["-b", "eight"], "-b 'eight'"),
    (["-b", "2M", "-e", "1M"], "above"),
    (["--rounds", "0"], "--rounds"),
    (["--seconds", "0"], "--seconds"),
    (["--memory", "borrowed"], "borrowed"),
    (["--memory", "any"], "--judge"),
    (["-o", "no/such/folder/file.json"], "no/such/folder"),
    (["-o", ""], "-o"),
    (["-o", "/"], "-o '/'"),
    (["--judge", "-o", "file.json"], "exclude"),
    (["--judge", "--machine", "h100x8"], "exclude"),
    (["--worlds", "2"], "--machine"),
    (["--machine", "h100x8", "--worlds", "1"], "--worlds"),
    (["--machine", "no/such.json"], "no/such.json"),
    (["--carrier", "pigeon"], "-h lists the options"),
]


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "my tuning.json")

    def run_it(self, *arguments, ranks=2, **variables):
        launch = [] if ranks == 1 else [MPIEXEC, "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
        kept = {name: value for name, value in os.environ.items() if name == "TUTTI_TIMEOUT" or not name.startswith("TUTTI_")}
        return subprocess.run([*launch, PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=300, cwd=self.folder, env={**kept, "TUTTI_DEVICE": "cpu", **variables})

    def got(self, done):
        return f"exit {done.returncode}, stdout {done.stdout!r}, stderr {done.stderr!r}"

    def tune(self, *arguments, **keywords):
        done = self.run_it(*SMALL, "-o", self.file, *arguments, **keywords)
        self.assertEqual(done.returncode, 0, self.got(done))
        with open(self.file) as file:
            return done, json.load(file)

    def test_writes_what_sessions_then_choose_by(self):
        done, tuning = self.tune()
        self.assertEqual(tuning["ranks"], [2])
        self.assertRegex(tuning["how"], r"^measured \d{4}-\d\d-\d\d, 2 ranks$")
        self.assertRegex(tuning["machine"], r"^\d+ cores? of ")
        self.assertIn("tune all_reduce,barrier", tuning["command"])
        for algorithm in ("packets", "one_shot", "two_shot", "ring", "tree"):
            formula = tuning["formulas"]["all_reduce"][algorithm]
            self.assertGreater(formula["base"] + formula["step"] + formula["peer"], 0, algorithm)
        # One that no time would choose, chosen because the file says so.
        tuning["formulas"]["all_reduce"]["tree"] = {"base": 0, "step": 0, "peer": 0, "byte": [0] * 10}
        with open(self.file, "w") as file:
            json.dump(tuning, file)
        done = self.run_it("--judge", *SMALL, TUTTI_TUNING=self.file)
        self.assertEqual(done.returncode, 0, self.got(done))
        self.assertIn(f"constants: file {self.file}", done.stdout)
        choices = re.findall(r"^ *\d+[KM]? +peer-mapped +\w+ +(\w+)", done.stdout, re.M)
        self.assertEqual(choices, ["tree"] * len(choices))
        self.assertGreater(len(choices), 1, done.stdout)

    def test_tells_choices_times_and_the_worst_ratio(self):
        done, _ = self.tune()
        for title in ("# all_reduce, 2 ranks; times measured", "# barrier, 2 ranks; times measured"):
            self.assertIn(title, done.stdout)
        ratios = [float(ratio) for ratio in re.findall(r" (\d+\.\d\d)(?: !)?$", done.stdout, re.M)]
        self.assertGreaterEqual(len(ratios), 4, done.stdout)
        self.assertTrue(all(ratio >= 1 for ratio in ratios), ratios)
        worst = re.search(r"auto's choice takes at most (\d+\.\d\d) times", done.stdout)
        self.assertAlmostEqual(float(worst.group(1)), max(ratios), places=2)

    def test_predicts_the_times_of_a_machine_that_is_not_there(self):
        done, tuning = self.tune("--machine", "h100x8", "--worlds", "2,4", ranks=1)
        self.assertEqual((tuning["device"], tuning["machine"], tuning["ranks"]), ("gpu", "h100x8", [2, 4]))
        self.assertRegex(tuning["how"], r"^predicted .*; never measured$")
        self.assertIn("# all_reduce, 4 ranks; times predicted", done.stdout)

    def test_what_is_wrong_is_one_line_and_exit_2(self):
        for arguments, words in WRONG:
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments, ranks=1)
                self.assertEqual((done.returncode, done.stdout), (2, ""), self.got(done))
                self.assertRegex(done.stderr, r"\A[^\n]+\n\Z", self.got(done))
                self.assertIn(words, done.stderr)
        done = self.run_it("--check-arguments", "--ranks", "1")
        self.assertEqual((done.returncode, done.stdout), (2, ""), self.got(done))
        self.assertIn("nothing to choose", done.stderr)

    def test_a_bad_tuning_file_is_one_line_that_names_file_and_remedy(self):
        for text, words in ((None, "no such file"), ("{", "is no JSON"), ('{"tutti_tuning": 0}', "tutti_tuning is 0"),
                            ('{"tutti_tuning": 1, "device": "gpu", "formulas": {}}', "is for GPUs")):
            with self.subTest(text=text):
                if text is not None:
                    with open(self.file, "w") as file:
                        file.write(text)
                done = self.run_it("--judge", *SMALL, TUTTI_TUNING=self.file)
                self.assertNotEqual(done.returncode, 0, self.got(done))
                lines = [line for line in done.stderr.split("\n") if line.startswith("tutti tune:")]
                self.assertEqual(len(lines), 1, self.got(done))
                for part in (words, self.file, "TUTTI_TUNING"):
                    self.assertIn(part, lines[0])

    def test_help_shows_examples(self):
        done = self.run_it("-h", ranks=1)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in ("examples", "TUTTI_TUNING", "--judge", "--seconds"):
            self.assertIn(part, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

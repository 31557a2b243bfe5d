"""Checks of the command line of tutti's programs that need no rank: command_line.py PROGRAM...

Each program promises the front door: `--check-arguments --ranks N ARGUMENTS` only reads the arguments and exits 0, or
prints one line and exits 2; `-h` prints help with examples and exits 0, as one process and without MPI.
"""

import os
import subprocess
import sys
import unittest

PROGRAMS = sys.argv[1:]
# Per program: arguments that are right, and some that are wrong.
RIGHT = {
    "tutti-demo": [[]],
    "tutti-bench": [["all_reduce"], ["all_reduce,all_gather", "-b", "8", "-e", "64M", "-f", "2", "--backend", "native,mpi"]],
    "tutti-train": [["--preset", "fashion", "--parallel", "data"], ["--preset", "lecture", "--parallel", "serial"]],
}
WRONG = {
    "tutti-demo": [["surplus"]],
    "tutti-bench": [["all_reduce_twice"], ["all_reduce", "-b", "eight"], ["all_reduce", "-e", "-1"],
                    ["all_reduce", "--backend", "carrier-pigeon"], ["all_reduce", "--algorithm", "magic"]],
    "tutti-train": [["--preset", "none"], ["--parallel", "sideways"], ["--batch", "0"], ["--lr", "fast"], ["surplus"]],
}


def run(program, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_"))}
    return subprocess.run([program, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20,
                          env=environment)


def got(done):
    return f"exit {done.returncode}, stdout {done.stdout!r}, stderr {done.stderr!r}"


class CommandLine(unittest.TestCase):
    def each(self, table):
        for program in PROGRAMS:
            for arguments in table[os.path.basename(program)]:
                yield [program, "--check-arguments", "--ranks", "4", *arguments]

    def test_right_arguments_are_accepted_in_silence(self):
        for command in self.each(RIGHT):
            with self.subTest(command=command):
                done = run(*command)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_wrong_argument_is_one_clear_line_and_exit_2(self):
        for command in self.each({name: [["--no-such-option"], *cases] for name, cases in WRONG.items()}):
            with self.subTest(command=command):
                done = run(*command)
                self.assertEqual((done.returncode, done.stdout), (2, ""), got(done))
                self.assertRegex(done.stderr, r"\A[^\n]+\n\Z", got(done))

    def test_help_has_examples(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                done = run(program, "-h")
                self.assertEqual((done.returncode, done.stderr), (0, ""), got(done))
                self.assertIn("example", done.stdout.lower())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

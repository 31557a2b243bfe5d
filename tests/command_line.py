"""Checks of the command line of tutti's programs that need no rank: command_line.py PROGRAM...

Each program promises the front door: `--check-arguments --ranks N ARGUMENTS` only reads the arguments and exits 0, or
prints one line and exits 2; `-h` prints help with examples and exits 0, as one process and without MPI.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = sys.argv[1:]
# Per program: arguments that are right, and some that are wrong.
RIGHT = {
    "tutti-demo": [[]],
    "tutti-bench": [["all_reduce"], ["all", "--algorithm", "all", "--root", "all", "--costs", "--backend", "native"],
                    ["all_reduce,all_gather", "-b", "8", "-e", "64M", "-f", "2"]],
    "tutti-topo": [[], ["-b", "64M", "--seconds", "0.5"], ["--map-only", "--no-hold"]],
    "tutti-train": [["--preset", "fashion", "--parallel", "data"], ["--preset", "lecture", "--parallel", "serial"],
                    ["--preset", "lecture", "--seed", str(2**64 - 1), "--steps", str(2**63 - 1), "--lr", "1e-3"]],
}
WRONG = {
    "tutti-demo": [["surplus"], ["--threads", "0"], ["--threads", "2"], ["--compare", "serial.json"]],
    "tutti-bench": [["all_reduce_twice"], ["all_reduce", "-b", "eight"], ["all_reduce", "-e", "-1"],
                    ["all_reduce", "--backend", "carrier-pigeon"], ["all_reduce", "--algorithm", "magic"],
                    ["gather", "--algorithm", "two_shot"], ["gather", "--root", "4"]],
    "tutti-topo": [["surplus"], ["-b", "4"], ["-b", "x"], ["--seconds", "0"], ["--seconds", "soon"], ["--json", ""],
                   ["--json", "no/such/folder/topo.json"], ["-b", "4096G"]],
    "tutti-train": [["--preset", "none"], ["--parallel", "sideways"], ["--batch", "0"], ["--lr", "fast"], ["surplus"],
                    ["--steps", "0"], ["--steps", "-1"], ["--steps", "9" * 20], ["--steps", ""], ["--seed", "-1"],
                    ["--seed", str(2**64)], ["--lr", ""], ["--batch", "9" * 20], ["--json", ""],
                    ["--backend", "carrier-pigeon"]],
}
# Per program: something short to do.
SHORT = {
    "tutti-demo": ["--collectives-only"],
    "tutti-bench": ["all", "-b", "64", "-e", "64", "--rounds", "1", "-n", "1", "--backend", "native"],
    "tutti-topo": [],
    "tutti-train": ["--preset", "lecture", "--parallel", "data", "--layers", "8-8-8", "--steps", "1"],
}
HAS_GPU = os.path.exists("/dev/nvidiactl")
# Variables that steer every program: values that are wrong, and what the message must hold.
WRONG_VARIABLES = [
    ("TUTTI_BACKEND", "carrier-pigeon", "carrier-pigeon"), ("TUTTI_TIMEOUT", "soon", "soon"),
    ("TUTTI_TIMEOUT", "0", "more than 0"), ("TUTTI_DEVICE", "tpu", "tpu"),
]
if not HAS_GPU:
    WRONG_VARIABLES += [("TUTTI_BACKEND", "nccl", "needs GPUs"), ("TUTTI_DEVICE", "gpu", "TUTTI_DEVICE=cpu")]
RIGHT_VARIABLES = [("TUTTI_BACKEND", ""), ("TUTTI_TIMEOUT", ""), ("TUTTI_DEVICE", ""), ("TUTTI_BACKEND", "mpi"),
                   ("TUTTI_TIMEOUT", "2.5"), ("TUTTI_DEVICE", "cpu"), ("TUTTI_DEVICE", "auto")]


def run(program, *arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "TUTTI_"))}
    environment.update(variables)
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

    def test_a_wrong_variable_is_one_clear_line_and_exit_2_before_anything_starts(self):
        for command in self.each({name: cases[:1] for name, cases in RIGHT.items()}):
            for variable, value, words in WRONG_VARIABLES:
                for arguments in (command, [command[0], *command[4:]]):
                    with self.subTest(command=arguments, variable=variable, value=value):
                        done = run(*arguments, **{variable: value})
                        self.assertEqual((done.returncode, done.stdout), (2, ""), got(done))
                        self.assertRegex(done.stderr, r"\A[^\n]+\n\Z", got(done))
                        self.assertIn(variable, done.stderr)
                        self.assertIn(words, done.stderr)

    def test_nccl_is_refused_on_the_cpu(self):
        for name in ("tutti-bench", "tutti-train"):
            for command in self.each({**{program: [] for program in RIGHT}, name: [RIGHT[name][0] + ["--backend", "nccl"]]}):
                with self.subTest(command=command):
                    done = run(*command, TUTTI_DEVICE="cpu")
                    self.assertEqual((done.returncode, done.stdout), (2, ""), got(done))
                    self.assertRegex(done.stderr, r"(?i)\A[^\n]*nccl[^\n]*\n\Z", got(done))

    def test_a_right_variable_is_accepted_in_silence(self):
        for command in self.each({name: cases[:1] for name, cases in RIGHT.items()}):
            for variable, value in RIGHT_VARIABLES:
                with self.subTest(command=command, variable=variable, value=value):
                    done = run(*command, **{variable: value})
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_mistake_on_several_ranks_is_told_by_rank_0_alone(self):
        for program in PROGRAMS:
            for rank in ("0", "1", "3"):
                with self.subTest(program=program, rank=rank):
                    done = run(program, "--no-such-option", OMPI_COMM_WORLD_RANK=rank)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), got(done))
                    self.assertEqual(done.stderr.count("\n"), 1 if rank == "0" else 0, got(done))

    def test_a_run_says_once_that_and_why_it_is_on_the_cpu(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                done = run(program, *SHORT[os.path.basename(program)], TUTTI_DEVICE="cpu")
                self.assertEqual(done.returncode, 0, got(done))
                self.assertEqual(len(re.findall(r"the CPU \([^)]+\)", done.stdout)), 1, got(done))

    def test_a_run_on_the_device_that_is_there_says_once_which_it_is(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                done = run(program, *SHORT[os.path.basename(program)], TUTTI_DEVICE="auto")
                self.assertEqual(done.returncode, 0, got(done))
                self.assertEqual(len(re.findall(r"the (CPU|GPU) \([^)]+\)", done.stdout)), 1, got(done))

    def test_a_loss_that_is_not_finite_ends_training_with_one_line_and_exit_1(self):
        for program in PROGRAMS:
            if os.path.basename(program) != "tutti-train":
                continue
            for layout in ("serial", "data", "tensor", "pipeline"):
                with self.subTest(layout=layout):
                    done = run(program, "--preset", "lecture", "--parallel", layout, "--layers", "8-8-8", "--epochs", "5",
                               "--lr", "1e30")
                    self.assertEqual(done.returncode, 1, got(done))
                    self.assertRegex(done.stderr, r"\A[^\n]*the loss of step 2 is (nan|infinite)[^\n]*--lr[^\n]*\n\Z", got(done))

    def test_a_comparison_is_printed_by_rank_0_alone_and_not_while_arguments_are_checked(self):
        for program in PROGRAMS:
            if os.path.basename(program) != "tutti-demo":
                continue
            with tempfile.TemporaryDirectory() as folder:
                files = [os.path.join(folder, f"{layout}.json") for layout in ("serial", "data")]
                for layout, file in zip(("serial", "data"), files):
                    with open(file, "w") as out:
                        json.dump({"config": {"parallel": layout}, "losses": [2.0] * 20, "accuracy": 0.88, "seconds": 1}, out)
                done = run(program, "--check-arguments", "--ranks", "4", "--compare", *files)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                done = run(program, "--compare", *files, OMPI_COMM_WORLD_RANK="1")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                done = run(program, "--compare", *files)
                self.assertEqual((done.returncode, done.stdout.count("All agree")), (0, 1), got(done))

    def test_help_has_examples_and_the_variables(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                done = run(program, "-h")
                self.assertEqual((done.returncode, done.stderr), (0, ""), got(done))
                self.assertIn("example", done.stdout.lower())
                for variable in sorted({variable for variable, _ in RIGHT_VARIABLES}):
                    self.assertIn(variable, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

"""Tests of the script ./tutti on a small project of its own, in a folder with a space in its name.

front_door.py SCRIPT PRESETS [unittest arguments]: the script and the CMakePresets.json to test.
front_door.py SCRIPT PRESETS --self-test: damages copies of the script and checks that the tests notice.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT, PRESETS = (os.path.abspath(path) for path in sys.argv[1:3])

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
add_custom_target(programs)
add_custom_target(sanitize)
foreach(name demo bench topo train check predict explain fit tune)
  add_executable(tutti-${name} program.cpp)
  add_dependencies(programs tutti-${name})
endforeach()
enable_testing()
if(EXISTS "${PROJECT_SOURCE_DIR}/slow")
  add_custom_target(slow ALL COMMAND sh "${PROJECT_SOURCE_DIR}/slow")
  add_test(NAME slow COMMAND sh "${PROJECT_SOURCE_DIR}/slow")
endif()
add_test(NAME passes COMMAND true)
add_test(NAME full COMMAND sh -c "test 0$TUTTI_FULL != 01 || touch '${PROJECT_BINARY_DIR}/was_full'")
add_test(NAME passes_everywhere COMMAND true)
add_test(NAME skips COMMAND sh -c "echo skipped: no moon tonight; exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(passes_everywhere PROPERTIES LABELS sanitize)
if(EXISTS "${PROJECT_SOURCE_DIR}/fail")
  add_test(NAME fails COMMAND false)
  add_test(NAME never_built COMMAND no_such_program)
endif()
"""
# Stands in for tutti's programs: it keeps the same promises about --check-arguments, --ranks and -h.
PROGRAM = r"""
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "(null)";
}

int main(int count, char** arguments) {
  bool check = count > 1 && std::strcmp(arguments[1], "--check-arguments") == 0;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "-h") == 0) return std::puts("the options of the program"), 0;
    if (check && std::strcmp(arguments[i], "--wrong") == 0)
      return std::fprintf(stderr, "%s: unknown option --wrong\n", arguments[0]), 2;
  }
  if (check) return std::strcmp(arguments[2], "--ranks") == 0 ? 0 : 3;
  char folder[4096];
  char line[16384];
  const bool sockets = std::getenv("TUTTI_RENDEZVOUS") != nullptr;
  const char* const rank = variable(sockets ? "TUTTI_RANK" : "OMPI_COMM_WORLD_RANK");
  int length = std::snprintf(line, sizeof line, "rank %s of %s in <%s> terminal %s pid %d", rank,
                             variable(sockets ? "TUTTI_SIZE" : "OMPI_COMM_WORLD_SIZE"), getcwd(folder, sizeof folder),
                             variable("TUTTI_TERMINAL"), getpid());
  if (sockets) length += std::snprintf(line + length, sizeof line - length, " rendezvous %s mpi %s",
                                       variable("TUTTI_RENDEZVOUS"), variable("OMPI_COMM_WORLD_RANK"));
  for (int i = 1; i < count; ++i) length += std::snprintf(line + length, sizeof line - length, " [%s]", arguments[i]);
  std::puts(line);
  std::fflush(stdout);
  for (int i = 1; i + 1 < count; ++i)
    if (std::strcmp(arguments[i], "--exit") == 0) return std::atoi(arguments[i + 1]);
  if (count > 1 && std::strcmp(arguments[1], "--sleep") == 0) sleep(60);
  // --rank R WHAT: rank R ends by exit code or signal WHAT (such as 7 or -9), the others stay, deaf to SIGTERM if
  // there is one more argument.
  if (count > 3 && std::strcmp(arguments[1], "--rank") == 0) {
    if (count > 4) std::signal(SIGTERM, SIG_IGN);
    if (std::strcmp(arguments[2], rank) != 0) return sleep(60), 0;
    const int what = std::atoi(arguments[3]);
    if (what < 0) std::raise(-what);
    return what;
  }
  // FAIL_AT: an argument, or for the program without arguments "demo". SLEEP_AT alike.
  auto named = [&](const char* variable) {
    const char* name = std::getenv(variable);
    if (name == nullptr) return false;
    if (count == 1) return std::strcmp(name, "demo") == 0;
    for (int i = 1; i < count; ++i)
      if (std::strcmp(arguments[i], name) == 0) return true;
    return false;
  };
  if (named("SLEEP_AT")) sleep(60);
  if (named("FAIL_AT")) return 9;
}
"""


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class FrontDoor(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="tutti ")
        cls.root = os.path.join(cls.folder, "a clone")
        os.mkdir(cls.root)
        cls.script = shutil.copy(SCRIPT, os.path.join(cls.root, "tutti"))
        shutil.copy(PRESETS, cls.root)
        cls.write("CMakeLists.txt", CMAKE)
        cls.write("program.cpp", PROGRAM)
        # What the test's own caller was told must not reach the script.
        kept = {name: value for name, value in os.environ.items() if not re.match(r"(OMPI|PMIX|CTEST|TUTTI)_", name)}
        cls.environment = {**kept, "TUTTI_CUDA": "OFF"}
        done = cls.run_script("build")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def write(cls, name, text):
        pathlib.Path(cls.root, name).write_text(text)

    @classmethod
    def run_script(cls, *arguments, script=None, environment=None, **options):
        options = {"stdin": subprocess.DEVNULL, "timeout": 120, **options}
        return subprocess.run([script or cls.script, *arguments], capture_output=True, text=True,
                              env={**cls.environment, **(environment or {})}, **options)

    def expect_one_line(self, done, code, words):
        got = f"exit {done.returncode}, stdout {done.stdout!r}, stderr {done.stderr!r}"
        self.assertEqual(done.returncode, code, got)
        self.assertEqual(done.stdout, "", got)
        self.assertRegex(done.stderr, r"\A[^\n]+\n\Z", got)
        self.assertIn(words, done.stderr, got)

    def ranks(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(done.stdout.splitlines())

    def test_a_wrong_command_line_is_one_line_and_exit_2(self):
        for arguments, words in (
            ([], "no verb given"),
            (["fly"], "unknown verb 'fly'"),
            ([""], "unknown verb ''"),
            (["--fly", "demo"], "unknown option '--fly'"),
            (["-n"], "needs a number"),
            (["-n", "demo"], "-n 'demo'"),
            (["-n", "0", "demo"], "1 to 64"),
            (["-n", "-1", "demo"], "1 to 64"),
            (["-n", "04", "demo"], "1 to 64"),
            (["-n", "65", "demo"], "1 to 64"),
            (["-n", "99999999999999999999", "demo"], "1 to 64"),
            (["-n", "2.0", "demo"], "1 to 64"),
            (["-n", "2"], "no verb given"),
            (["-n", "2", "-n", "2", "demo"], "-n is given twice"),
            (["-n", "2", "test"], "test starts no ranks"),
            (["-n", "2", "build"], "build starts no ranks"),
            (["--no-mpi", "test"], "test starts no ranks"),
            (["--no-mpi"], "no verb given"),
            (["-n", "2", "predict"], "predict is one process"),
            (["--no-mpi", "check"], "check is one process"),
            (["setup", "now"], "setup takes no argument"),
            (["build", "release"], "build 'release'"),
            (["emulate"], "nothing to run"),
            (["emulate", "--fly"], "unknown option '--fly'"),
            (["emulate", "-n", "0", "demo"], "1 to 64"),
            (["-n", "2", "emulate", "-n", "2", "demo"], "-n is given twice"),
            (["emulate", "--gpus", "0", "demo"], "--gpus '0'"),
            (["emulate", "--gpus"], "--gpus ''"),
        ):
            with self.subTest(arguments=arguments):
                self.expect_one_line(self.run_script(*arguments), 2, words)
        self.expect_one_line(self.run_script("build", environment={"TUTTI_CUDA": "yes"}), 2, "TUTTI_CUDA is 'yes'")
        self.expect_one_line(self.run_script("emulate", "demo", environment={"TUTTI_CUDA": "OFF"}), 1, "needs nvcc")

    def test_every_verb_explains_itself_with_examples(self):
        programs = ("demo", "bench", "topo", "train", "check", "predict", "explain", "fit", "tune")
        for arguments in ([], *([verb] for verb in ("setup", "build", "test", "emulate", *programs))):
            for flag in ("-h", "--help"):
                with self.subTest(arguments=[*arguments, flag]):
                    done = self.run_script(*arguments, flag)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertRegex(done.stdout, r"usage: ./tutti")
                    self.assertRegex(done.stdout, r"examples?:\n  (\w+=\w+ )?./tutti")
                    self.assertEqual("the options of the program" in done.stdout, bool(arguments and arguments[0] in programs))

    def test_programs_start_with_their_own_number_of_ranks_unless_told(self):
        gpus = "/proc/driver/nvidia/gpus"
        devices = len(os.listdir(gpus)) if os.path.isdir(gpus) else 0
        machine = min(8, max(2, devices or len(os.sched_getaffinity(0))))
        for arguments, size in ((["demo", "x"], 4), (["train"], 4), (["bench"], 2), (["tune"], 2), (["-n", "3", "demo", "x"], 3),
                                (["-n", "1", "train"], 1), (["topo"], machine), (["-n", "3", "topo"], 3)):
            with self.subTest(arguments=arguments):
                lines = self.ranks(self.run_script(*arguments))
                self.assertEqual([line.split(" in ")[0] for line in lines], [f"rank {i} of {size}" for i in range(size)])

    def test_a_verb_of_one_process_is_started_without_mpi_and_its_exit_code_passed_on(self):
        for verb in ("check", "predict", "explain", "fit"):
            with self.subTest(verb=verb):
                done = self.run_script(verb, "-n", "4", "a b", "", "--exit", "1")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stdout, r"\Arank \(null\) of \(null\) .* \[-n\] \[4\] \[a b\] \[\] \[--exit\] \[1\]\n\Z")

    def test_the_demo_without_options_shows_trains_and_compares_in_this_order(self):
        done = self.run_script("-n", "2", "demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = []  # who ran, on how many ranks
        for line in done.stdout.splitlines():
            if line.startswith("rank 0 "):
                parallel = re.search(r"\[--parallel\] \[(\w+)\]", line)
                steps.append((parallel.group(1) if parallel else "demo", line.split(" ")[3]))
            elif line.startswith("rank (null)"):
                files = re.findall(r"\[([^\]]*\.json)\]", line)
                self.assertIn("[--compare]", line)
                steps.append(("compare", " ".join(os.path.basename(file) for file in files)))
        self.assertEqual(steps, [("demo", "2"), ("serial", "1"), ("data", "2"), ("tensor", "2"), ("pipeline", "2"),
                                 ("compare", "serial.json data.json tensor.json pipeline.json")])
        self.assertEqual(done.stdout.count("[--decay] [cosine]"), 1 + 3 * 2)
        self.assertEqual(done.stdout.count("--decay cosine"), 1, "the demo says once how it trains")

    def test_the_demo_ends_with_the_exit_code_of_the_part_that_failed(self):
        for part in ("demo", "tensor", "--compare"):
            with self.subTest(part=part):
                self.assertEqual(self.run_script("-n", "2", "demo", environment={"FAIL_AT": part}).returncode, 9)

    def test_arguments_and_the_callers_folder_reach_the_program_unchanged(self):
        elsewhere = os.path.join(self.folder, "else where")
        os.makedirs(elsewhere, exist_ok=True)
        lines = self.ranks(self.run_script("-n", "1", "bench", "a b", "", "$x", '"', "--json", "f", cwd=elsewhere))
        self.assertEqual(len(lines), 1)
        self.assertIn(f"in <{os.path.realpath(elsewhere)}>", lines[0])
        self.assertTrue(lines[0].endswith(' [a b] [] [$x] ["] [--json] [f]'), lines[0])
        self.assertIn("terminal 0", lines[0])

    def test_a_wrong_argument_stops_before_any_rank_starts(self):
        self.expect_one_line(self.run_script("-n", "4", "demo", "--wrong"), 2, "unknown option --wrong")

    def test_the_exit_code_of_the_program_is_passed_on(self):
        for code in (0, 1, 7):
            self.assertEqual(self.run_script("-n", "2", "demo", "--exit", str(code)).returncode, code)

    def test_it_runs_with_standard_input_closed(self):
        done = subprocess.run(["bash", "-c", 'exec "$1" -n 2 train <&-', "-", self.script], capture_output=True, text=True,
                              env=self.environment, timeout=60)
        self.assertEqual(len(self.ranks(done)), 2)

    def test_a_symbolic_link_to_the_script_finds_the_tree(self):
        link = os.path.join(self.folder, "link")
        os.symlink(self.script, link)
        self.assertEqual(len(self.ranks(self.run_script("-n", "2", "train", script=link))), 2)

    def test_a_second_run_starts_within_two_seconds_and_says_nothing_of_building(self):
        self.run_script("train")
        seconds = []
        # The best of three: what else the machine does is not what is tested.
        for _ in range(3):
            start = time.monotonic()
            done = self.run_script("train")
            seconds.append(time.monotonic() - start)
            self.assertNotIn("tutti:", done.stderr)
        self.assertLess(min(seconds), 2.0)

    def test_libraries_to_measure_beside_are_looked_for_again(self):
        self.run_script("train")
        for arguments, again in ((["x"], False), (["x", "--peers", "gloo"], True), (["x", "--peers=gloo"], True)):
            with self.subTest(arguments=arguments):
                done = self.run_script("bench", *arguments)
                self.assertEqual((done.returncode, "configuring build/host" in done.stderr), (0, again), done.stderr)

    def test_a_build_that_fails_shows_the_compilers_error_and_runs_nothing(self):
        self.write("program.cpp", PROGRAM + "\nint broken = nonsense;\n")
        try:
            done = self.run_script("demo")
        finally:
            self.write("program.cpp", PROGRAM)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("nonsense", done.stderr)
        self.assertIn("build.log", done.stderr)
        self.assertEqual(self.run_script("-n", "2", "train").returncode, 0)

    def test_a_configuration_that_fails_says_so_and_is_repeated(self):
        self.write("CMakeLists.txt", 'cmake_minimum_required(VERSION 3.25)\nmessage(FATAL_ERROR "no such thing as moonlib")\n')
        shutil.rmtree(os.path.join(self.root, "build", "asan"), ignore_errors=True)
        try:
            first, second = self.run_script("build", "asan"), self.run_script("build", "asan")
        finally:
            self.write("CMakeLists.txt", CMAKE)
        for done in (first, second):
            self.assertEqual(done.returncode, 1)
            self.assertIn("no such thing as moonlib", done.stderr)
        self.assertEqual(self.run_script("build", "asan").returncode, 0)

    def test_a_clone_that_was_moved_builds_afresh(self):
        copy = os.path.join(self.folder, "moved clone")
        shutil.copytree(self.root, copy, symlinks=True)
        pathlib.Path(copy, "program.cpp").write_text(PROGRAM.replace("rank %s", "moved %s"))
        lines = self.ranks(self.run_script("-n", "2", "train", script=os.path.join(copy, "tutti")))
        self.assertEqual([line.split()[0] for line in lines], ["moved", "moved"])
        self.assertTrue(self.ranks(self.run_script("-n", "1", "train"))[0].startswith("rank"))

    def test_an_interrupted_run_leaves_no_process_behind(self):
        by_mpi, by_sockets = [], ["--no-mpi"]
        for signal_number, whole_group, before, arguments in (
            (signal.SIGINT, True, by_mpi, ["--sleep"]),
            (signal.SIGTERM, False, by_mpi, ["--sleep"]),
            (signal.SIGINT, True, by_mpi, []),
            (signal.SIGTERM, False, by_mpi, []),
            (signal.SIGINT, True, by_sockets, ["--sleep"]),
            (signal.SIGINT, False, by_sockets, ["--sleep"]),
            (signal.SIGTERM, False, by_sockets, ["--sleep"]),
            (signal.SIGTERM, False, by_sockets, []),
            (signal.SIGKILL, False, by_sockets, ["--sleep"]),
        ):
            with self.subTest(signal=signal_number, before=before, arguments=arguments):
                started = subprocess.Popen([self.script, "-n", "3", *before, "demo", *arguments], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                           env={**self.environment, "SLEEP_AT": "demo"}, start_new_session=True)
                pids = [int(re.search(r"pid (\d+)", started.stdout.readline()).group(1)) for _ in range(3)]
                self.assertTrue(all(alive(pid) for pid in pids))
                if whole_group:
                    os.killpg(started.pid, signal_number)
                else:
                    os.kill(started.pid, signal_number)
                self.assertNotEqual(started.wait(timeout=30), 0)
                started.stdout.close()
                deadline = time.monotonic() + 10
                while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertEqual([pid for pid in pids if alive(pid)], [])

    def test_a_build_and_a_test_that_are_told_to_end_leave_no_process_behind(self):
        pid_file = os.path.join(self.root, "slow.pid")
        for arguments, to_end in ((["build", "host"], 1), (["test", "--no-sanitizers", "-R", "slow"], 2)):
            for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                # The first run of the script that is to sleep is the build's, the second the test's.
                self.write("slow", f"echo $$ >>'{pid_file}'\n[ $(wc -l <'{pid_file}') -lt {to_end} ] || sleep 15\n")
                os.utime(os.path.join(self.root, "CMakeLists.txt"))
                try:
                    started = subprocess.Popen([self.script, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, env=self.environment, start_new_session=True)
                    deadline = time.monotonic() + 60
                    pids = []
                    while len(pids) < to_end and time.monotonic() < deadline:
                        time.sleep(0.05)
                        if os.path.exists(pid_file):
                            pids = [int(line) for line in pathlib.Path(pid_file).read_text().split()]
                    case = f"{arguments}, signal {signal_number}"
                    self.assertEqual(len(pids), to_end, case)
                    self.assertTrue(alive(pids[-1]), case)
                    os.kill(started.pid, signal_number)
                    self.assertEqual(started.wait(timeout=10), 143, case)
                    # It has waited: nothing that it started in its session is left at this moment.
                    self.assertEqual(self.left_of_session(started.pid), [], case)
                finally:
                    os.remove(os.path.join(self.root, "slow"))
                    os.remove(pid_file)
                    os.utime(os.path.join(self.root, "CMakeLists.txt"))

    @staticmethod
    def left_of_session(session):
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and alive(entry):
                try:
                    if os.getsid(int(entry)) == session:
                        command = pathlib.Path("/proc", entry, "cmdline").read_text().replace("\0", " ")
                        found += [command] if command else []  # one that has ended meanwhile has none
                except OSError:
                    pass
        return found

    def test_full_reaches_the_tests_and_says_how_long_it_takes(self):
        mark = os.path.join(self.root, "build", "host", "was_full")
        for arguments, full in (([], False), (["--full"], True)):
            with self.subTest(arguments=arguments):
                done = self.run_script("test", "--no-sanitizers", "-R", "full", *arguments)
                self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1 passed, 0 failed, 0 skipped"))
                self.assertEqual(os.path.exists(mark), full)
                self.assertEqual(bool(re.search(r"--full: .*(minutes|hour)", done.stderr)), full, done.stderr)

    def test_without_mpi_the_ranks_get_their_places_by_their_environment(self):
        seen = set()
        for arguments in (["-n", "3", "--no-mpi"], ["--no-mpi", "-n", "3"]):
            with self.subTest(arguments=arguments):
                lines = self.ranks(self.run_script(*arguments, "bench", "a b", ""))
                self.assertEqual([line.split(" in ")[0] for line in lines], [f"rank {i} of 3" for i in range(3)])
                names = {re.search(r"rendezvous ([0-9a-f]{32}) mpi \(null\)", line).group(1) for line in lines}
                self.assertEqual(len(names), 1, "all ranks meet at one place")
                seen |= names
                self.assertTrue(all(line.endswith(" [a b] []") for line in lines), lines)
        self.assertEqual(len(seen), 2, "each job has a place of its own")
        self.assertEqual(len(self.ranks(self.run_script("--no-mpi", "demo", "x"))), 4)

    def test_without_mpi_the_demo_shows_trains_and_compares_too(self):
        done = self.run_script("-n", "2", "--no-mpi", "demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(r"^rank 1 of 2 .* rendezvous ", done.stdout, re.M)), 4)
        self.assertIn("[--compare]", done.stdout)
        self.assertEqual(self.run_script("-n", "2", "--no-mpi", "demo", environment={"FAIL_AT": "tensor"}).returncode, 9)

    def test_without_mpi_the_first_failure_ends_the_others_and_is_the_result(self):
        for what, code, words, deaf in ((7, 7, "", False), (-9, 137, "rank 1 (process", False), (5, 5, "", True)):
            with self.subTest(what=what, deaf=deaf):
                start = time.monotonic()
                done = self.run_script("-n", "3", "--no-mpi", "bench", "--rank", "1", str(what), *(["deaf"] if deaf else []))
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertLess(time.monotonic() - start, 30)
                if words:
                    self.assertRegex(done.stderr, r"\Atutti: rank 1 \(process \d+\) was ended by SIGKILL\n\Z")
                else:
                    self.assertEqual(done.stderr, "")
                pids = [int(pid) for pid in re.findall(r"pid (\d+)", done.stdout)]
                self.assertEqual(len(pids), 3)
                self.assertEqual([pid for pid in pids if alive(pid)], [])

    def test_without_mpi_codes_are_passed_on_and_standard_input_may_be_closed(self):
        for code in (0, 1, 7):
            self.assertEqual(self.run_script("-n", "2", "--no-mpi", "demo", "--exit", str(code)).returncode, code)
        done = subprocess.run(["bash", "-c", 'exec "$1" -n 2 --no-mpi train <&-', "-", self.script], capture_output=True,
                              text=True, env=self.environment, timeout=60)
        self.assertEqual(len(self.ranks(done)), 2)

    def test_tests_end_with_one_line_that_counts_all_builds(self):
        done = self.run_script("test")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # Three and a skip in the host build, and one in each sanitizer build.
        self.assertEqual(done.stdout.splitlines()[-1], "5 passed, 0 failed, 1 skipped")
        self.assertIn("skipped skips: skipped: no moon tonight", done.stderr)
        done = self.run_script("test", "--no-sanitizers", "-R", "everywhere")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1 passed, 0 failed, 0 skipped"))

    def test_a_failed_test_and_one_that_was_not_built_fail_the_whole(self):
        self.write("fail", "")
        os.utime(os.path.join(self.root, "CMakeLists.txt"))
        try:
            done = self.run_script("test", "--no-sanitizers")
        finally:
            os.remove(os.path.join(self.root, "fail"))
            os.utime(os.path.join(self.root, "CMakeLists.txt"))
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "3 passed, 2 failed, 1 skipped"))

    def test_tests_fail_when_a_build_fails(self):
        self.write("program.cpp", "int broken = nonsense;\n")
        try:
            done = self.run_script("test", "--no-sanitizers")
        finally:
            self.write("program.cpp", PROGRAM)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed, 0 skipped"))


class Setup(unittest.TestCase):
    """The script on a machine that lacks packages, played by stand-ins for dpkg-query, id, sudo, apt-get and apt-cache."""

    # What the two systems call what tutti needs (packages.debian.org, packages.ubuntu.com), and Ubuntu's component.
    NEEDED = {"g++": "main", "cmake": "main", "ninja-build": "universe", "libopenmpi-dev": "universe",
              "openmpi-bin": "universe", "libopenblas-dev": "universe", "libboost-context-dev": "universe",
              "libgtest-dev": "universe", "zlib1g-dev": "main", "liblz4-dev": "main", "libzstd-dev": "main",
              "libcli11-dev": "universe", "nlohmann-json3-dev": "universe", "libfmt-dev": "universe", "python3": "main"}
    OPTIONAL = {"dataset-fashion-mnist": "universe", "clang-format-14": "universe", "chromium": "universe",
                "chromium-driver": "universe", "python3-selenium": "universe"}
    SYSTEMS = {"debian 12": "ID=debian\nVERSION_ID=\"12\"\n", "ubuntu 24.04": "ID=ubuntu\nVERSION_ID=\"24.04\"\n"}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tutti ")
        self.addCleanup(shutil.rmtree, self.folder)
        self.clone = os.path.join(self.folder, "clone")
        os.mkdir(self.clone)
        self.script = shutil.copy(SCRIPT, os.path.join(self.clone, "tutti"))
        self.log = os.path.join(self.folder, "log")
        # What is "installed" is a file of that name; apt-get makes them, of what the system has.
        self.installed_folder = os.path.join(self.folder, "installed")
        os.mkdir(self.installed_folder)
        self.has({*self.NEEDED, *self.OPTIONAL})
        self.install({*self.NEEDED, *self.OPTIONAL} - {"libfmt-dev"})
        self.stand_in("dpkg-query", f"""for package; do
            case $package in -*) continue ;; esac
            [ -e '{self.installed_folder}'/$package ] && echo "$package installed"; done; true""")
        self.stand_in("apt-cache", f"""grep -qx "$2" '{self.folder}/has' && echo "Package: $2"; true""")
        self.stand_in("apt-get", f"""echo "$@" >>'{self.log}'
            case "$*" in *install*) ;; *) exit 0 ;; esac
            while [ "$1" != --no-install-recommends ]; do shift; done; shift
            for package; do grep -qx -- $package '{self.folder}/has' || {{ echo "E: Unable to locate package $package"; exit 100; }}; done
            for package; do touch '{self.installed_folder}'/$package; done""")
        self.system("debian 12")
        self.stand_in("id", "echo 0")

    def stand_in(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def system(self, name):
        pathlib.Path(self.folder, "os-release").write_text(self.SYSTEMS.get(name, name))

    def has(self, packages):
        pathlib.Path(self.folder, "has").write_text("\n".join(packages) + "\n")

    def install(self, packages):
        for name in os.listdir(self.installed_folder):
            os.remove(os.path.join(self.installed_folder, name))
        for name in packages:
            pathlib.Path(self.installed_folder, name).touch()

    def run_setup(self):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                       "TUTTI_OS_RELEASE": os.path.join(self.folder, "os-release")}
        return subprocess.run([self.script, "setup"], capture_output=True, text=True, env=environment,
                              stdin=subprocess.DEVNULL, timeout=60)

    def installed(self):
        lines = pathlib.Path(self.log).read_text().splitlines() if os.path.exists(self.log) else []
        return [re.sub(r".*--no-install-recommends ", "", line) for line in lines if " install " in line]

    def test_root_installs_just_what_is_missing(self):
        done = self.run_setup()
        self.assertEqual((done.returncode, self.installed()), (0, ["libfmt-dev"]), done.stderr)
        again = self.run_setup()
        self.assertEqual((again.returncode, self.installed()), (0, ["libfmt-dev"]), again.stderr)

    def test_each_system_is_asked_for_its_own_names(self):
        commands = {"g++": "g++", "cmake": "cmake", "ninja-build": "ninja", "python3": "python3",
                    "clang-format-14": "clang-format-14", "chromium": "chromium", "chromium-driver": "chromedriver"}
        for system in self.SYSTEMS:
            with self.subTest(system=system):
                self.system(system)
                self.install([])
                if os.path.exists(self.log):
                    os.remove(self.log)
                done = self.run_setup()
                self.assertEqual(done.returncode, 0, done.stderr)
                asked = set(" ".join(self.installed()).split())
                # A package that is needed for its command only is not asked for where the command is there.
                here = {package for package, command in commands.items() if shutil.which(command)}
                self.assertEqual(asked, {*self.NEEDED, *self.OPTIONAL} - here)

    def test_another_system_is_told_what_to_install(self):
        self.system("ID=arch\n")
        done = self.run_setup()
        if done.returncode == 0:  # the commands it looks for are all here
            self.assertEqual(self.installed(), [])
        else:
            self.assertRegex(done.stderr, r"\A[^\n]*neither Debian 12 nor Ubuntu 24.04, and lacks: [^\n]*libfmt-dev[^\n]*\n\Z")

    def test_another_user_installs_with_sudo(self):
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", '[ "$1" = -n ] && shift; exec "$@"')
        self.assertEqual((self.run_setup().returncode, self.installed()), (0, ["libfmt-dev"]))

    def test_without_sudo_it_says_what_to_run_and_changes_nothing(self):
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", "exit 1")
        done = self.run_setup()
        self.assertEqual((done.returncode, self.installed()), (1, []))
        self.assertRegex(done.stderr, r"\A[^\n]*apt-get install -y --no-install-recommends libfmt-dev *\n\Z")

    def test_an_installation_that_fails_is_told(self):
        self.stand_in("apt-get", "echo E: no such server; exit 100")
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such server", done.stderr)
        self.assertIn("could not install all of: libfmt-dev", done.stderr)

    def test_a_needed_package_that_the_system_does_not_have_is_told_with_what_to_do(self):
        self.has({*self.NEEDED} - {"libfmt-dev"})
        for system, words in (("debian 12", "run apt-get update"), ("ubuntu 24.04", "add-apt-repository universe")):
            with self.subTest(system=system):
                self.system(system)
                done = self.run_setup()
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr.splitlines()[-1])
                self.assertIn("do not have libfmt-dev", done.stderr.splitlines()[-1])

    def test_an_optional_package_that_the_system_does_not_have_is_told_and_does_not_stop(self):
        self.has(self.NEEDED)
        for package, lost in (("dataset-fashion-mnist", "--preset fashion"), ("clang-format-14", "format skips"),
                              ("python3-selenium", "browser skip")):
            with self.subTest(package=package):
                if package == "clang-format-14" and shutil.which(package):
                    continue  # its command is here, which is all that it is for
                self.install({*self.NEEDED, *self.OPTIONAL} - {package})
                done = self.run_setup()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, rf"going on without {package}: [^\n]*{lost}")


# A damage to the script, and the test that must fail on it.
DAMAGES = [
    ("=~ ^[1-9][0-9]?$", "=~ ^0*[1-9][0-9]?$", "a_wrong_command_line_is_one_line_and_exit_2"),
    ("exit 2; }", "exit 1; }", "a_wrong_command_line_is_one_line_and_exit_2"),
    ('verb_alone "$verb" "$@"', 'verb_program "$verb" 1 "$@"', "a_verb_of_one_process_is_started_without_mpi"),
    ("look_again=yes", ":", "libraries_to_measure_beside"),
    ('"${ranks:-2}"', '"${ranks:-4}"', "programs_start_with_their_own_number_of_ranks_unless_told"),
    ('"$program" "$@" </dev/null\n}', '"$program" $* </dev/null\n}', "arguments_and_the_callers_folder"),
    ('"$bin/tutti-demo" || exit', '"$bin/tutti-demo" || true', "the_demo_ends_with_the_exit_code"),
    ("trap 'end_group", "trap ': end_group", "an_interrupted_run_leaves_no_process_behind"),
    ("((rc == 0)) || exit", "((rc >= 0)) || exit", "a_wrong_argument_stops_before_any_rank_starts"),
    ('\n  exec "${launch[@]}"', '\n  "${launch[@]}"', "an_interrupted_run_leaves_no_process_behind"),
    ('$(<"$dir/configured") == "$root"', '-n "$root"', "a_clone_that_was_moved_builds_afresh"),
    ('echo "$passed passed, $failed failed', 'echo "$passed passed, 0 failed', "a_failed_test_and_one_that_was_not_built"),
    ('"Unable" not in', '"" in', "a_failed_test_and_one_that_was_not_built"),
    ('wait "$pid" || rc=$?', 'wait "$pid" || rc=3', "without_mpi_codes_are_passed_on"),
    ('tell_ranks "$harshest"', ":", "without_mpi_the_first_failure"),
    ("harshest=KILL", ":", "without_mpi_the_first_failure"),
    ("setpriv --pdeathsig TERM", "", "an_interrupted_run_leaves_no_process_behind"),
    ("TUTTI_RANK=$rank TUTTI_SIZE", "TUTTI_RANK=0 TUTTI_SIZE", "without_mpi_the_ranks_get_their_places"),
    ("command_of() {", "command_of() {\n echo sh; return", "root_installs_just_what_is_missing"),
    ("may_install || fail", "true || fail", "without_sudo_it_says_what_to_run_and_changes_nothing"),
    ("libfmt-dev python3)", "fmt-dev python3)", "each_system_is_asked_for_its_own_names"),
    ("add-apt-repository universe", "true", "a_needed_package_that_the_system_does_not_have"),
    ('say "going on without', 'fail "going on without', "an_optional_package_that_the_system_does_not_have"),
    ('kill -TERM -- "-$1"', ': "$1"', "a_build_and_a_test_that_are_told_to_end"),
    ("export TUTTI_FULL=1", ":", "full_reaches_the_tests"),
]


def unnoticed(damage):
    """Why the tests do not notice this damage; empty if they do."""
    old, new, test = damage
    whole = pathlib.Path(SCRIPT).read_text()
    if whole.count(old) < 1:
        return f"the script has no {old!r} to damage"
    with tempfile.TemporaryDirectory() as folder:
        damaged = shutil.copy(SCRIPT, os.path.join(folder, "tutti"))
        pathlib.Path(damaged).write_text(whole.replace(old, new))
        # The first failure will do: some damages make every case wait.
        done = subprocess.run([sys.executable, "-B", __file__, damaged, PRESETS, "--failfast", "-k", test],
                              capture_output=True, text=True)
    if done.returncode == 0 or "FAILED (" not in done.stderr or "Ran 1 test" not in done.stderr:
        return f"{old!r} became {new!r} and test {test} did not fail: {done.stderr[-500:]}"
    return ""


def self_test():
    # Most of the time they wait, for mpirun and for each other's ends.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = [text for text in pool.map(unnoticed, DAMAGES) if text]
    print("\n".join(found) or f"all {len(DAMAGES)} damages are noticed")
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[3:] == ["--self-test"]:
        sys.exit(self_test())
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)

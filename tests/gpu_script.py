"""Tests of bench/gpu.sh and the report that it makes, on a machine without a GPU: its tools are stand-ins.

gpu_script.py BENCH [unittest arguments]  BENCH is the folder of gpu.sh.
gpu_script.py BENCH --self-test           damages copies of the scripts and checks that the tests notice.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(sys.argv[1]).resolve()
# What gpu.sh uses of the system, and nothing of NVIDIA's that may be there.
SYSTEM = "bash cat cp cut date dirname env git grep head id mkdir nproc python3 readlink rm sed sort tail timeout tr wc"

NVIDIA_SMI = r"""
case "$1" in
  --query-gpu=*) cat "$PLANTED/gpus" ;;
  nvlink) cat "$PLANTED/nvlink" ;;
  topo) echo "GPU0 GPU1 NV18" ;;
esac
"""
CTEST = r"""
while (($# > 0)); do
  [[ $1 != --output-junit ]] || cp "$PLANTED/tests.xml" "$2"
  [[ $1 != -L ]] || [[ $2 == '^cuda$' ]] || exit 99
  shift
done
cat "$PLANTED/tests.log"
exit "$(cat "$PLANTED/tests.rc")"
"""
MPIRUN = r"""
while [[ $1 == -* ]]; do
  case $1 in -n) export RANKS=$2; shift ;; --bind-to) shift ;; esac
  shift
done
exec "$@"
"""
SANITIZER = r"""
[[ $1 == --tool ]] || exit 99
tool=$2
shift 4
[[ ! -f $PLANTED/$tool.rc ]] || exit "$(cat "$PLANTED/$tool.rc")"
exec "$@"
"""
# A row per backend: of each size that is asked for, 1 MiB takes 10 us natively and 20 us by NCCL.
BENCH_PROGRAM = r"""#!/usr/bin/env python3
import json, os, sys
a = sys.argv[1:]
value = lambda name, default=None: a[a.index(name) + 1] if name in a else default
if os.environ.get("TUTTI_DEVICE") != "gpu": sys.exit("the CPU is no place for this")
backends, ranks = value("--backend").split(","), int(os.environ["RANKS"])
if "nccl" in backends and os.path.exists(os.environ["PLANTED"] + "/no_nccl"): sys.exit("no NCCL")
if value("--json") is None: sys.exit(0)
rows = []
for size in {"8": [8, 32768], "256K": [1 << 20, 1 << 30]}[value("-b")]:
    for backend in backends:
        us = size / (1 << 20) * (10 if backend == "native" else 20)
        algbw = size / us * 1e-3
        rows.append({"collective": a[0], "backend": backend, "ranks": ranks, "bytes": size, "time_us": us,
                     "algbw": algbw, "busbw": algbw * 2 * (ranks - 1) / ranks, "wrong": int(os.environ.get("WRONG", 0)),
                     "ratio": {"nccl": 2.0} if backend == "native" and "nccl" in backends else {}})
json.dump({"command": "tutti " + " ".join(a), "rows": rows}, open(value("--json"), "w"))
if os.path.exists(os.environ["PLANTED"] + "/cut_" + a[0]):
    open(value("--json"), "w").write('{"rows": [')
    sys.exit(124)
"""
LIMIT = r"""
echo '{"memory": [{"gpu": 0, "name": "NVIDIA H100 80GB HBM3", "copied": 1300.0, "read_and_written": 2600.0}],
 "links": [{"from_gpu": 0, "to_gpu": 1, "peer_access": true, "copied": 390.0}]}'
"""
GPU = ("{0}, NVIDIA H100 80GB HBM3, GPU-{0}, 580.65.06, 9.0, 81559, 1980, 2619, 1980, 2619, 700.00, 41, "
       "00000000:0{0}:00.0\n")
NVLINK = "".join(f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-{gpu})\n" +
                 "".join(f"\t Link {link}: {'26.562 GB/s' if link < 18 else '<inactive>'}\n" for link in range(19))
                 for gpu in range(2))
TESTS = """<testsuite>
<testcase name="collectives_cuda" time="9" status="run"/>
<testcase name="graphs_cuda" time="5" status="run"/>
<testcase name="backend_nccl_cuda" time="1" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>skipped: NCCL wants a GPU for each rank</system-out></testcase>
{}</testsuite>"""


class GpuScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu script ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin, self.planted, self.build = (self.folder / name for name in ("bin", "planted", "build"))
        for path in (self.bin, self.planted, self.build, self.build / "bin"):
            path.mkdir()
        for name in SYSTEM.split():
            if found := shutil.which(name):
                (self.bin / name).symlink_to(found)
        self.program(self.bin / "nvidia-smi", NVIDIA_SMI)
        self.program(self.bin / "ctest", CTEST)
        self.program(self.bin / "mpirun", MPIRUN)
        self.program(self.bin / "compute-sanitizer", SANITIZER)
        self.program(self.build / "bin/tutti-bench", BENCH_PROGRAM)
        self.program(self.build / "bin/tutti-gpu-limit", LIMIT)
        self.program(self.build / "bin/trainers_maths_cuda", "echo passed")
        self.plant("gpus", GPU.format(0) + GPU.format(1))
        self.plant("nvlink", NVLINK)
        self.plant_tests()
        (self.build / "CMakeCache.txt").write_text("TUTTI_CUDA_ARCHITECTURES:STRING=80;90\n")
        self.report_file = self.folder / "report.json"

    def program(self, path, text):
        path.write_text(text if text.startswith("#!") else f"#!{shutil.which('bash')}\n{text}")
        path.chmod(0o755)

    def plant(self, name, text):
        (self.planted / name).write_text(text)

    def plant_tests(self, rc=0, more="", log="3/3 Test  #3: backend_nccl_cuda ... Skipped\n"):
        self.plant("tests.xml", TESTS.format(more))
        self.plant("tests.log", log)
        self.plant("tests.rc", str(rc))

    def run_script(self, *arguments, **environment):
        done = subprocess.run([BENCH / "gpu.sh", *arguments], capture_output=True, text=True, timeout=300,
                              env={"PATH": str(self.bin), "PLANTED": str(self.planted), **environment})
        return done.returncode, done.stdout, done.stderr

    def measure(self, *arguments, expected=0, **environment):
        """The report and the summary of a whole run."""
        rc, out, err = self.run_script("--build", str(self.build), "--json", str(self.report_file), *arguments,
                                       **environment)
        self.assertEqual(rc, expected, f"{out}\n{err}")
        return json.loads(self.report_file.read_text()), out

    def states(self, report):
        return {f"{step['part']}: {step['what']}": step["state"] for step in report["steps"]}

    # ---- what comes before anything runs ----

    def test_wrong_arguments_are_one_line_and_exit_2(self):
        for arguments in (["--minutes", "1"], ["--minutes", "61"], ["--minutes", "soon"], ["--minutes"],
                          ["--parts", "all"], ["--parts", "correctness,"], ["--build", "/nowhere"],
                          ["--json", "/nowhere/x.json"], ["quick"]):
            rc, out, err = self.run_script(*arguments)
            self.assertEqual((rc, out, err.count("\n")), (2, "", 1), f"{arguments}: {rc} {out} {err}")
            self.assertIn(arguments[0], err)

    def test_help_says_what_it_does_and_exits_0(self):
        rc, out, err = self.run_script("-h")
        self.assertEqual((rc, err), (0, ""))
        for word in ("correctness", "sanitizer", "bandwidth", "--minutes", "--json", "77", "CUDA_VISIBLE_DEVICES"):
            self.assertIn(word, out)

    def test_without_a_driver_it_is_one_line_and_exits_77(self):
        cases = {"not found": None, "Failed to initialize": "echo 'Failed to initialize NVML: no driver' >&2; exit 9",
                 "lists none": "true", "compute capability": "echo '0, card, GPU-0, 1, [N/A], 1, 1, 1, 1, 1, 1, 1, 0'"}
        for words, text in cases.items():
            (self.bin / "nvidia-smi").unlink(missing_ok=True)
            if text:
                self.program(self.bin / "nvidia-smi", text)
            rc, out, err = self.run_script()
            self.assertEqual((rc, out, err.count("\n")), (77, "", 1), f"{words}: {rc} {out} {err}")
            self.assertIn(words, err)

    def test_hidden_gpus_are_no_gpus(self):
        rc, _, err = self.run_script(CUDA_VISIBLE_DEVICES="-1")
        self.assertEqual(rc, 77, err)

    # ---- whole runs ----

    def test_two_gpus_are_tested_and_measured(self):
        report, out = self.measure()
        self.assertEqual(report["machine"]["gpus_used"], 2)
        gpu = report["machine"]["gpus"][1]
        self.assertEqual((gpu["name"], gpu["driver_version"], gpu["compute_cap"], gpu["clocks.max.sm"]),
                         ("NVIDIA H100 80GB HBM3", "580.65.06", "9.0", 1980))
        self.assertEqual(len(report["machine"]["gpus_after"]), 2)
        self.assertRegex(report["date"], r"^20\d\d-\d\d-\d\dT")
        self.assertEqual(report["tests"]["passed"], 2)
        self.assertEqual(report["tests"]["skipped"],
                         [{"name": "backend_nccl_cuda", "why": "skipped: NCCL wants a GPU for each rank"}])
        self.assertEqual((report["troubles"], report["left_out"], report["notes"]), ([], [], []))
        self.assertEqual(set(self.states(report).values()), {"ok"})
        for step in report["steps"]:
            self.assertTrue(step["command"] and (self.build / "gpu-report" / step["log"]).exists(), step)
        self.assertIn("mpirun -n 2", report["steps"][1]["command"])
        # 18 links of 26.562 GB/s, the inactive one left out.
        self.assertEqual([link["links"] for link in report["limits"]["nvlink"]], [18, 18])
        self.assertAlmostEqual(report["ceiling"]["rate"], 478.116)
        self.assertEqual(report["limits"]["data_sheet"], {"memory": 3350, "links_one_way": 450, "unit": "GB/s",
                                                          "from": "data sheet"})
        self.assertEqual(report["limits"]["memory"][0]["from"], "measured")
        rows = [row for row in report["bandwidth"] if (row["collective"], row["bytes"]) == ("all_reduce", 1 << 30)]
        self.assertEqual([row["backend"] for row in rows], ["native", "nccl"])
        self.assertAlmostEqual(rows[0]["of_limit"], 104.8576 / 478.116)
        self.assertTrue(all(row["from"] == "measured" and row["command"] for row in report["bandwidth"]))
        self.assertEqual({row["bytes"] for row in report["bandwidth"] if row["collective"] == "all_reduce"},
                         {8, 32768, 1 << 20, 1 << 30})
        self.assertEqual({row["collective"] for row in report["bandwidth"]},
                         {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "reduce",
                          "send_recv", "gather", "scatter"})
        self.assertRegex(out, r"all_reduce +1 GiB +10240\.00 +104\.86 +22% +20480\.00 +52\.43 +2\.00\n")
        self.assertIn("GPU tests: 2 passed, 0 failed, 1 skipped", out)
        self.assertIn("NVLink: 18 links, 478 GB/s one way, by nvidia-smi", out)
        self.assertIn("GPU 0 to GPU 1: 390 GB/s copied, measured", out)
        self.assertTrue(out.splitlines()[-2].startswith("passed"), out)

    def test_on_one_gpu_nothing_is_said_of_links(self):
        self.plant("gpus", GPU.format(0))
        report, out = self.measure()
        self.assertIn("many ranks on one GPU: never NVLink figures", report["notes"][0])
        self.assertIn("many ranks on one GPU: never NVLink figures", out)
        self.assertEqual({row["ranks"] for row in report["bandwidth"]}, {1})
        self.assertNotIn("send_recv", {row["collective"] for row in report["bandwidth"]})
        self.assertEqual(report["limits"]["nvlink"], [])
        self.assertEqual(report["ceiling"], {"rate": 1300.0, "unit": "GB/s", "what": "a copy within memory, measured"})
        self.assertIn("algbw GB/s", out)
        self.assertIn("-n 2 ", report["steps"][1]["command"], "under the sanitizer two ranks exchange something")

    def test_visible_gpus_alone_are_used(self):
        report, _ = self.measure(CUDA_VISIBLE_DEVICES="1")
        self.assertEqual(report["machine"]["gpus_used"], 1)

    def test_parts_that_are_not_asked_for_are_left_out(self):
        report, out = self.measure("--parts", "correctness")
        self.assertEqual(report["left_out"], ["sanitizer: all: not asked for", "bandwidth: all: not asked for"])
        self.assertIn("left out: bandwidth: all: not asked for", out)
        self.assertEqual(report["bandwidth"], [])

    def test_a_test_that_fails_fails_the_suite(self):
        self.plant_tests(8, '<testcase name="memory_cuda" time="3" status="fail"><failure message=""/></testcase>',
                         "4/4 Test  #4: memory_cuda ...***Failed  3.00 sec\n")
        report, out = self.measure("--parts", "correctness", expected=1)
        self.assertEqual(report["tests"]["failed"], ["memory_cuda"])
        self.assertIn("FAILED: correctness: memory_cuda failed", out)
        self.assertEqual(out.splitlines()[-2], "failed")

    def test_tests_that_did_not_fit_are_left_out(self):
        self.plant_tests(8, '<testcase name="memory_cuda" time="3" status="fail"><failure message=""/></testcase>',
                         "4/9 Test  #4: memory_cuda ....***Timeout   3.74 sec\nThe stop time has been passed.\n")
        report, out = self.measure("--parts", "correctness")
        self.assertEqual((report["tests"]["failed"], report["tests"]["cut_short"]), ([], ["memory_cuda"]))
        self.assertIn("correctness: no time for 6 of the GPU tests", report["left_out"])
        self.assertIn("left out: correctness: no time for 6 of the GPU tests", out)

    def test_a_hang_is_a_failure(self):
        self.plant_tests(8, '<testcase name="memory_cuda" time="240" status="fail"><failure message=""/></testcase>',
                         "4/4 Test  #4: memory_cuda ....***Timeout 240.00 sec\n")
        report, _ = self.measure("--parts", "correctness", expected=1)
        self.assertEqual(report["tests"]["failed"], ["memory_cuda"])

    def test_skipped_tests_alone_prove_nothing(self):
        self.plant("tests.xml", '<testsuite><testcase name="collectives_cuda" status="notrun"><skipped message="x"/>'
                                "</testcase></testsuite>")
        report, _ = self.measure("--parts", "correctness", expected=1)
        self.assertIn("no test of the GPU passed", report["troubles"][0])

    def test_what_the_sanitizer_finds_fails_the_suite(self):
        self.plant("racecheck.rc", "9")
        report, out = self.measure("--parts", "sanitizer", expected=1)
        self.assertEqual(self.states(report), {
            "sanitizer: memcheck of collectives, 2 ranks": "ok",
            "sanitizer: synccheck of collectives, 2 ranks": "ok",
            "sanitizer: memcheck of the trainers' kernels": "ok",
            "sanitizer: racecheck of the trainers' kernels": "failed",
            "correctness: all": "left_out", "bandwidth: all": "left_out"})
        self.assertIn("FAILED: sanitizer: racecheck", out)

    def test_without_a_sanitizer_that_part_is_left_out(self):
        (self.bin / "compute-sanitizer").unlink()
        report, _ = self.measure("--parts", "sanitizer")
        self.assertIn("there is no compute-sanitizer", "\n".join(report["left_out"]))

    def test_the_sanitizer_is_found_beside_the_compiler(self):
        beside = self.folder / "toolkit"
        beside.mkdir()
        (self.bin / "compute-sanitizer").rename(beside / "compute-sanitizer")
        with (self.build / "CMakeCache.txt").open("a") as cache:
            cache.write(f"TUTTI_NVCC:FILEPATH={beside}/nvcc\n")
        report, _ = self.measure("--parts", "sanitizer")
        self.assertEqual(self.states(report)["sanitizer: memcheck of the trainers' kernels"], "ok")

    def test_without_nccl_it_measures_what_there_is(self):
        self.plant("no_nccl", "")
        report, out = self.measure("--parts", "bandwidth")
        self.assertEqual({row["backend"] for row in report["bandwidth"]}, {"native"})
        self.assertEqual(self.states(report)["bandwidth: does NCCL start"], "failed")
        self.assertIn("NCCL did not start", out)
        self.assertRegex(out, r"all_reduce +1 GiB +10240\.00 +104\.86 +22% +- +- +-\n")

    def test_a_measurement_that_is_ended_is_left_out(self):
        self.plant("cut_all_gather", "")
        report, out = self.measure("--parts", "bandwidth")
        self.assertNotIn("all_gather", {row["collective"] for row in report["bandwidth"]})
        self.assertIn("all_reduce", {row["collective"] for row in report["bandwidth"]})
        self.assertIn("left out: bandwidth: all_gather 256K to 1G: not done after", out)

    def test_wrong_elements_fail_the_suite(self):
        report, out = self.measure("--parts", "bandwidth", expected=1, WRONG="3")
        self.assertIn("bandwidth: all_gather of 8 bytes by native: 3 wrong elements", report["troubles"])
        self.assertIn("FAILED: bandwidth: all_gather of 8 bytes by native: 3 wrong elements", out)

    def test_an_emulated_gpu_has_no_speed(self):
        (self.bin / "nvidia-smi").unlink()
        report, out = self.measure(TUTTI_EMULATED_GPUS="2")
        self.assertTrue(report["emulated"])
        self.assertEqual((report["bandwidth"], report["ceiling"], report["tests"]["passed"]), ([], None, 2))
        self.assertEqual([line.split(":")[0] for line in report["left_out"]], ["sanitizer", "bandwidth"])
        self.assertIn("EMULATED", out)
        self.assertNotIn("GB/s", out)

    def test_what_nvidia_smi_does_not_know_is_no_number(self):
        self.plant("gpus", GPU.format(0).replace("700.00", "[N/A]") + GPU.format(1))
        report, _ = self.measure("--parts", "correctness")
        self.assertEqual([gpu["power.limit"] for gpu in report["machine"]["gpus"]], ["[N/A]", 700.0])

    def test_a_folder_for_other_gpus_is_said(self):
        (self.build / "CMakeCache.txt").write_text("TUTTI_CUDA_ARCHITECTURES:STRING=80;100\n")
        rc, _, err = self.run_script("--build", str(self.build), "--parts", "correctness")
        self.assertEqual(rc, 0)
        self.assertIn("not built for these GPUs (sm_90)", err)


# file, what is damaged and how, the test that must notice.
DAMAGES = [
    ("gpu.sh", r"exit 77", "exit 0", "without_a_driver_it_is_one_line_and_exits_77"),
    ("gpu.sh", r"exit 2;", "exit 1;", "wrong_arguments_are_one_line_and_exit_2"),
    ("gpu.sh", r"wc -l <<<\"\$facts\"", "echo 1", "two_gpus_are_tested_and_measured"),
    ("gpu.sh", r"-L '\^cuda\$'", "-L cuda", "two_gpus_are_tested_and_measured"),
    ("gpu.sh", r"state=failed why", "state=ok why", "what_the_sanitizer_finds_fails_the_suite"),
    ("gpu.sh", r"state=timed_out why", "state=failed why", "a_measurement_that_is_ended_is_left_out"),
    ("gpu.sh", r"many=\$\(\(ranks < 2 \? 2 :", "many=$((ranks < 2 ? 1 :", "on_one_gpu_nothing_is_said_of_links"),
    ("gpu.sh", r"\|\|\n    backends=native", "|| true", "without_nccl_it_measures_what_there_is"),
    ("gpu.sh", r"measure all_reduce 8 64K", "true", "two_gpus_are_tested_and_measured"),
    ("gpu.sh", r"(left_out bandwidth all[^\n]*)\n *return", r"\1", "an_emulated_gpu_has_no_speed"),
    ("gpu.sh", r"\|\| \(\(ranks > 1\)\); then", "|| true; then", "on_one_gpu_nothing_is_said_of_links"),
    ("gpu.sh", r"env TUTTI_DEVICE=gpu TUTTI_TIMEOUT=60", "env", "two_gpus_are_tested_and_measured"),
    ("gpu.sh", r"\{CUDA_VISIBLE_DEVICES:-\} == -\*", "{CUDA_VISIBLE_DEVICES:-} == x", "hidden_gpus_are_no_gpus"),
    ("gpu.sh", r"-n \$\{CUDA_VISIBLE_DEVICES:-\} \]\]; then", "-n '' ]]; then", "visible_gpus_alone_are_used"),
    ("gpu.sh", r"if asked_for \"\$part\"", "if true", "parts_that_are_not_asked_for_are_left_out"),
    ("gpu.sh", r"program=\$\(dirname \"\$nvcc\"\)/", "program=/", "the_sanitizer_is_found_beside_the_compiler"),
    ("gpu.sh", r"say \"\$build_dir is not built", ": \"", "a_folder_for_other_gpus_is_said"),
    ("gpu_findings.py", r"stop time has been passed", "no such words", "tests_that_did_not_fit_are_left_out"),
    ("gpu_findings.py", r"if \"stop time[^\n]*", "", "a_hang_is_a_failure"),
    ("gpu_findings.py", r"ranks < 2", "False", "on_one_gpu_nothing_is_said_of_links"),
    ("gpu_findings.py", r"rate / ceiling\[0\]", "ceiling[0] / rate", "two_gpus_are_tested_and_measured"),
    ("gpu_findings.py", r"except ValueError:\n        return None\n\n\ndef gpus_of",
     "except KeyError:\n        return None\n\n\ndef gpus_of", "what_nvidia_smi_does_not_know_is_no_number"),
    ("gpu_findings.py", r"(or \"null\"\)\n    except) ValueError", r"\1 KeyError",
     "a_measurement_that_is_ended_is_left_out"),
    ("gpu_findings.py", r"\"from\": \"data sheet\"", '"from": "measured"', "two_gpus_are_tested_and_measured"),
    ("gpu_findings.py", r"\+= float", "= float", "two_gpus_are_tested_and_measured"),
    ("gpu_report.py", r"if row\[\"wrong\"\]", "if False", "wrong_elements_fail_the_suite"),
    ("gpu_report.py", r"if not tests\[\"passed\"\]", "if False", "skipped_tests_alone_prove_nothing"),
    ("gpu_report.py", r"return 1 if report", "return 0 if report", "a_test_that_fails_fails_the_suite"),
    ("gpu_report.py", r"given\.gpus == 1", "given.gpus == 0", "on_one_gpu_nothing_is_said_of_links"),
    ("gpu_report.py", r"for name in tests\[\"failed\"\]", "for name in []", "a_test_that_fails_fails_the_suite"),
    ("gpu_report.py", r"!= NCCL_STARTS if", "!= '' if", "without_nccl_it_measures_what_there_is"),
    ("gpu_summary.py", r"100 \* native", "1 * native", "two_gpus_are_tested_and_measured"),
    ("gpu_summary.py", r"FAILED: ", "", "a_test_that_fails_fails_the_suite"),
    ("gpu_summary.py", r"EMULATED", "emulated", "an_emulated_gpu_has_no_speed"),
]


def notices(damage):
    name, pattern, replacement, test = damage
    with tempfile.TemporaryDirectory() as folder:
        copies = pathlib.Path(folder, "bench")
        copies.mkdir()
        for path in BENCH.glob("gpu*.*"):
            shutil.copy(path, copies)
        text = (copies / name).read_text()
        damaged = re.sub(pattern, replacement, text)
        (copies / name).write_text(damaged)
        command = [sys.executable, "-B", __file__, str(copies), f"GpuScript.test_{test}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return damaged != text and done.returncode == 1 and "FAIL" in done.stderr + done.stdout


def self_test():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        unnoticed = [damage for damage, noticed in zip(DAMAGES, threads.map(notices, DAMAGES)) if not noticed]
    for name, pattern, replacement, test in unnoticed:
        print(f"{name}: {pattern} -> {replacement}: there is nothing to damage, or {test} does not notice")
    print(f"{len(DAMAGES)} damages, {len(unnoticed)} not noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    if sys.argv[2:] == ["--self-test"]:
        sys.exit(self_test())
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

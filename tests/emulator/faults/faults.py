"""Runs a program of tutti with faults planted in the stand-in runtime, and checks what it makes of them.

faults.py PROGRAM [FILTER]: PROGRAM is calls_cuda.cpp's. Whatever is planted, every rank must end in time, with tutti's own
error in a line that says what happened or with the right results, and nothing may be left behind.
"""

import concurrent.futures
import os
import re
import secrets
import signal
import subprocess
import sys
import time

PATIENCE = 240  # seconds in which all ranks must have ended, on a busy machine
TIMEOUT = 10   # seconds that tutti waits for a rank that does not come
RIGHT, ERROR, KILLED = 0, 3, -signal.SIGKILL


def run(program, ranks, faults, gpus):
    """The exit status and the text of each rank; None for one that had to be ended."""
    job = {**os.environ, "TUTTI_RENDEZVOUS": secrets.token_hex(16), "TUTTI_SIZE": str(ranks), "TUTTI_DEVICE": "gpu",
           "TUTTI_TIMEOUT": str(TIMEOUT), "TUTTI_EMULATED_GPUS": str(gpus), "TUTTI_EMULATED_FAULTS": faults}
    started = [subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**job, "TUTTI_RANK": str(rank)}, text=True) for rank in range(ranks)]
    end = time.monotonic() + PATIENCE
    outcome = []
    for rank in started:
        try:
            text, _ = rank.communicate(timeout=max(0.1, end - time.monotonic()))
            outcome.append((rank.returncode, text))
        except subprocess.TimeoutExpired:
            rank.kill()
            outcome.append((None, rank.communicate()[0]))
    return outcome


def left_behind():
    """What a run could leave: segments of shared memory. Its processes have been waited for."""
    return sorted(name for name in os.listdir("/dev/shm") if "tutti" in name)


def judge(outcome, allowed, pattern):
    """What is wrong with how the ranks ended; empty if nothing is."""
    faults = []
    for rank, (status, text) in enumerate(outcome):
        if status is None:
            faults.append(f"rank {rank} hangs: {text[-300:]!r}")
            continue
        if status not in allowed[rank]:
            faults.append(f"rank {rank} ended with {status}, expected one of {allowed[rank]}: {text[-300:]!r}")
        if status == ERROR:
            lines = [line for line in text.splitlines() if line.startswith("tutti error: ")]
            if len(lines) != 1:
                faults.append(f"rank {rank} says its error in {len(lines)} lines: {text[-300:]!r}")
            elif not re.search(pattern, lines[0]):
                faults.append(f"rank {rank}: no {pattern!r} in {lines[0]!r}")
    return faults


# Name, ranks, GPUs, what is planted, the exit statuses of each rank, and what each error must say.
BOTH_FAIL = [[ERROR], [ERROR]]
CASES = [
    ("NothingPlantedIsRight", 2, 2, "", [[RIGHT], [RIGHT]], ""),
    ("ASlowRankIsWaitedFor", 2, 2, "1/slow:200", [[RIGHT], [RIGHT]], ""),
    ("NoMemoryIsAnErrorOnAllRanks", 2, 2, "1/allocation:1", BOTH_FAIL, "rank 1.*cudaMalloc.*out of memory"),
    ("NoMemoryForAnArenaIsAnErrorOnAllRanks", 2, 2, "1/allocation:2", BOTH_FAIL, "out of memory|cannot give"),
    ("NoMemoryLaterIsAnErrorOnAllRanks", 2, 2, "0/allocation:4", BOTH_FAIL, "out of memory|cannot give"),
    ("AMappingThatFailsIsAnErrorOnAllRanks", 2, 2, "0/ipc_open:1", BOTH_FAIL, "rank 0.*cannot map the memory of rank 1"),
    ("ALaterMappingThatFailsIsAnErrorOnAllRanks", 2, 2, "1/ipc_open:2", BOTH_FAIL, "rank 1.*cannot map the memory of rank 0"),
    ("AProbeThatCannotBeLaunchedIsAnErrorOnAllRanks", 2, 2, "1/launch:1", BOTH_FAIL, "rank 1.*launching the probe"),
    ("ACallThatCannotBeLaunchedIsAnErrorOnAllRanks", 2, 2, "1/launch:5", BOTH_FAIL,
     "too many resources asked for|rank 1|has failed"),
    ("ACopyThatFailsIsAnErrorOnAllRanks", 2, 2, "0/copy:1", BOTH_FAIL, "invalid argument|rank 0|has failed"),
    # CASES L2.
    ("WritesThatVanishAreFoundOnAllRanks", 2, 2, "0/vanish:1", BOTH_FAIL, "ranks? 0 .*do not read what they write"),
    ("WritesThatVanishOnOneGpuAreFoundToo", 2, 1, "1/vanish:1", BOTH_FAIL, "do not read what they write"),
    ("FlagsThatVanishLaterEndTheWait", 2, 2, "1/vanish:20", BOTH_FAIL, "rank|waited"),
    # CASES F1.
    ("ARankThatDiesBetweenDataAndFlagIsMissed", 2, 2, "1/die:4", [[ERROR], [KILLED]], "ranks? 1"),
    ("ARankThatDiesInItsFirstSignalIsMissed", 2, 2, "0/die:1", [[KILLED], [ERROR]], "ranks? 0"),
    ("OneOfThreeThatDiesIsMissedByBothOthers", 3, 3, "2/die:7", [[ERROR], [ERROR], [KILLED]], "ranks? [012]"),
]


def main():
    program = sys.argv[1]
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""

    def try_case(case):
        name, ranks, gpus, faults, allowed, pattern = case
        begin = time.monotonic()
        outcome = run(program, ranks, faults, gpus)
        problems = judge(outcome, allowed, pattern)
        print(f"{'FAILED' if problems else 'ok'}: {name} ({faults or 'no fault'}), {time.monotonic() - begin:.1f} s",
              *[f"  {problem}" for problem in problems], sep="\n", flush=True)
        return not problems

    before = left_behind()
    # Several at a time: most of it is waiting for ranks that do not come.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        good = all(list(pool.map(try_case, [case for case in CASES if wanted in case[0]])))
    left = [name for name in left_behind() if name not in before]
    if left:
        print(f"FAILED: left behind in /dev/shm: {left}")
    return 0 if good and not left else 1


if __name__ == "__main__":
    sys.exit(main())

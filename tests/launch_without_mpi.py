"""Starts a program as the ranks of a job that needs no MPI, and waits for all of them.

launch_without_mpi.py RANKS PROGRAM [argument...]: the exit status is 0 if every rank's is, else 1. Unlike the front
door it lets the others go on when a rank fails, so that tests can see what they notice.
"""

import os
import secrets
import subprocess
import sys


def main():
    size, command = int(sys.argv[1]), sys.argv[2:]
    job = {**os.environ, "TUTTI_RENDEZVOUS": secrets.token_hex(16), "TUTTI_SIZE": str(size)}
    ranks = [subprocess.Popen(command, stdin=subprocess.DEVNULL, env={**job, "TUTTI_RANK": str(rank)}) for rank in range(size)]
    return max(int(rank.wait() != 0) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())

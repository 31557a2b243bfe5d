"""What a kernel may use, and which kernels use more.

The registers that a thread may have follow from the threads of a block (65,536 to a multiprocessor, given out by 8 to a
thread): 384 threads can have 168. Kernels are held to less than they could have, so that growth is seen before it
becomes a spill; a new compiler may move these numbers by a few.
"""

import collections

Limits = collections.namedtuple("Limits", "threads registers shared barriers")

COLLECTIVE = Limits(threads=384, registers=160, shared=0, barriers=1)
# A loop over messages around both send and recv: sm_80 gives it 162.
MESSAGES = Limits(threads=384, registers=168, shared=0, barriers=1)
# sm_90 gives these 164 and 167 since calls cut their slots and enter knows of more kinds of memory; which of the two, and
# how to have them back, is not found out. No spill.
CROWDED = Limits(threads=384, registers=168, shared=0, barriers=1)
PROBE = Limits(threads=None, registers=32, shared=0, barriers=0)
# The trainers' launch 256 threads and need no bound. One value of 8 bytes per thread is shared in sums.
MATHS = Limits(threads=None, registers=80, shared=2048, barriers=1)


def of(name):
    """The limits of a kernel by the name that machine_code_static.py gives it; of an unknown one, a collective's."""
    if "_kernel" in name:
        return MATHS
    return {"messages": MESSAGES, "probe": PROBE, "ring_all_reduce": CROWDED, "tree_broadcast": CROWDED}.get(name, COLLECTIVE)


def excesses(kernel, limits):
    """What a machine_code_cubin.Kernel uses beyond its limits, in words."""
    if kernel.registers is None or kernel.frame is None or kernel.stack is None:
        yield "its cubin does not say how many registers and how much of a stack it uses"
        return
    if kernel.frame or kernel.stack:
        yield f"a stack frame of {max(kernel.frame, kernel.stack)} bytes"
    for figure in ("registers", "shared", "barriers"):
        used, most = getattr(kernel, figure), getattr(limits, figure)
        if used > most:
            what = {"shared": "bytes of shared memory"}.get(figure, figure)
            yield f"{used} {what}, {most} are its limit"
    if kernel.threads != limits.threads:
        yield f"compiled for blocks of {kernel.threads or 'any number of'} threads, expected {limits.threads or 'any'}"

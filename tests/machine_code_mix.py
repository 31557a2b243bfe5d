"""Holds the memory and synchronisation instructions of a kernel's machine code against the PTX that it is made from.

ptxas may copy code (it unrolls loops), merge equal ends of branches, narrow what is half used and drop what is not used
at all. With nvcc 13.0, in every kernel and for sm_80, 90 and 100, these hold and are checked:

strong loads      as many as relaxed loads, plus acquires whose value is used. Of an acquire whose value nobody uses,
                  the load is dropped and its invalidation of L1 kept, behind the poll that saw the flag: relaxed load,
                  then the order of an acquire, which the PTX memory model accepts as a pattern of its own.
                  Each is of 64 bits; of a packet of which only the tag is looked at, 32 may be loaded.
invalidations     as many as acquires; on every way from a poll to one there is no access of payload. (Weak loads of 64
                  bits are not looked at: ptxas may read the own base of a count behind the first poll.)
strong stores     as many as relaxed and release stores, each of 64 bits
fences            as many of system scope as releases, each followed by a strong store with no access between. Those of
                  a block, which ptxas adds for sm_100, are not counted; others must not be.
barriers          as many
16-byte loads     as many; weak loads and stores are the payload's
16-byte stores    19 of 20 at least, as ptxas merges equal ends of copies that nvcc had unrolled (at most 2 of 70 here);
                  it may also unroll more
rows              at least one loop keeps four 16-byte loads in flight where the PTX has such a loop
never             other scopes; the constant path; local, generic or unknown accesses; atomics; and shared memory in a
                  kernel that declares none
"""

import collections

import machine_code_decoder
import ptx_program

STRONG = ".STRONG.SYS"
ALLOWED = {"LDC", "LDCU", "ERRBAR", "BAR", "CCTL.IVALL", "MEMBAR.ALL.SYS", "MEMBAR.ALL.CTA"}
ALLOWED |= {f"{kind}.{width}" for kind in ("LDG", "STG") for width in (8, 16, 32, 64, 128)}
ALLOWED |= {"LDG.64" + STRONG, "LDG.32" + STRONG, "STG.64" + STRONG}
# Of kernels through a switch: MEMBAR.SC.GPU, MEMBAR.SC.SYS and CCTL.IVALL are one fence.proxy.alias, LDGMC is a load that
# the switch reduces, a strong store of 16 bytes one that it replicates.
BY_THE_SWITCH = {"MEMBAR.SC.GPU", "MEMBAR.SC.SYS", "LDGMC", "STG.128" + STRONG}
IN_SHARED_MEMORY = ("LDS.", "STS.")
ROW = 4
LEAST_STORES = 0.95


class Expected:
    """What the PTX of a kernel asks of its machine code."""

    def __init__(self, kernel):
        ops = collections.Counter(instruction.op for instruction in kernel.code)

        def count(prefix, suffix=""):
            return sum(n for op, n in ops.items() if op.startswith(prefix) and op.endswith(suffix))

        self.uses = uses_of(kernel)
        acquires = [i for i in kernel.code if i.op.startswith("ld.acquire.sys.global.")]
        polls = [i for i in kernel.code if i.op.startswith("ld.relaxed.sys.global.")]
        self.strong_loads = len(polls) + sum(bool(self.uses.get(i.operands[0])) for i in acquires)
        self.tags = sum(self._only_the_tag(i.operands[0]) for i in polls)
        self.alias_fences = count("fence.proxy.alias")
        self.switch_loads, self.switch_stores = count("multimem.ld_reduce."), count("multimem.st.")
        self.invalidations = len(acquires) + self.alias_fences
        self.releases = count("st.release.sys.global.")
        self.strong_stores = self.releases + count("st.relaxed.sys.global.") + self.switch_stores
        self.barriers = count("bar")
        self.wide_loads, self.wide_stores = count("ld.global.v4."), count("st.global.v4.")
        accesses = [i for i, at in enumerate(kernel.code) if at.op.startswith(("ld.global", "st.global"))]
        self.rows = any(all(kernel.code[i].op.startswith("ld.global.v4") for i in accesses[at:at + ROW]) and
                        ptx_program.in_a_loop(kernel, accesses[at]) for at in range(len(accesses) - ROW + 1))

    def _only_the_tag(self, register):
        """Whether all that comes of a loaded packet is its upper half, whatever registers hold it on the way."""
        seen, todo = set(), [register]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            for instruction in self.uses.get(at, []):
                if instruction.op in ("mov.b64", "mov.u64") and instruction.operands[1] == at:
                    todo.append(instruction.operands[0])
                elif instruction.op != "shr.u64" or instruction.operands[1:] != [at, "32"]:
                    return False
        return True


def uses_of(kernel):
    """{register: the instructions that read it}"""
    uses = {}
    for instruction in kernel.code:
        read = list(instruction.registers(instruction.guard or ""))
        for i, operand in enumerate(instruction.operands):
            if i > 0 or not instruction.writes:
                read += instruction.registers(operand)
        for register in read:
            uses.setdefault(register, []).append(instruction)
    return uses


def rows_of_loads(instructions):
    """How often four 16-byte loads follow one another in a loop, with no other access of global memory between."""
    accesses = [i for i in instructions if i.name.startswith(("LDG", "STG"))]
    if not any(i.name == "LDG.128" for i in accesses):
        return 0
    loops = machine_code_decoder.in_loops(instructions)
    return sum(all(i.name == "LDG.128" and loops[i.index] for i in accesses[at:at + ROW])
               for at in range(len(accesses) - ROW + 1))


def unreleased(instructions):
    """The fences of system scope that no strong store follows."""
    for at, fence in enumerate(instructions):
        if fence.name != "MEMBAR.ALL.SYS":
            continue
        after = next((i for i in instructions[at + 1:] if i.name not in ("", "ERRBAR", "LDC", "LDCU") or i.ends), None)
        if after is None or after.name != "STG.64" + STRONG:
            yield fence


def of_an_alias_fence(instructions, invalidation):
    named = [i.name for i in instructions[:invalidation.index] if i.name]
    return named[-1:] == ["MEMBAR.SC.SYS"]


def accesses_before_their_acquire(instructions):
    """Weak accesses of payload on a way from a strong load, or a barrier, to the invalidation that acquires."""
    before = {}
    for at in range(len(instructions)):
        for after in machine_code_decoder.successors(instructions, at):
            before.setdefault(after, []).append(at)
    found = set()
    for acquire in instructions:
        if acquire.name != "CCTL.IVALL" or of_an_alias_fence(instructions, acquire):
            continue
        seen, todo = set(), list(before.get(acquire.index, []))
        while todo:
            at = todo.pop()
            name = instructions[at].name
            if at in seen or name.endswith(STRONG) or name == "BAR":
                continue
            seen.add(at)
            if name.startswith(("LDG", "STG")) and name != "LDG.64":
                found.add(at)
            todo += before.get(at, [])
    return [instructions[at] for at in sorted(found)]


def differences(instructions, shared, kernel):
    """In words, where the machine code of a kernel is not what its PTX (a ptx_program.Kernel) asks for."""
    expected, mix = Expected(kernel), collections.Counter(i.name for i in instructions)
    for name in sorted(mix):
        if name in BY_THE_SWITCH:
            continue  # compared below
        if name and name not in ALLOWED and not (shared and name.startswith(IN_SHARED_MEMORY)):
            yield f"{mix[name]} {name}, which no kernel of tutti may have"

    def compare(what, found, wanted):
        if found != wanted:
            yield f"{found} {what}, {wanted} in its PTX"

    strong = {kind: sum(n for name, n in mix.items() if name.startswith(kind) and name.endswith(STRONG))
              for kind in ("LDG", "STG")}
    yield from compare("strong loads", strong["LDG"], expected.strong_loads)
    yield from compare("strong stores", strong["STG"], expected.strong_stores)
    yield from compare("fences of system scope", mix["MEMBAR.ALL.SYS"], expected.releases)
    yield from compare("invalidations of L1 (acquires)", mix["CCTL.IVALL"], expected.invalidations)
    yield from compare("fences of aliases", mix["MEMBAR.SC.SYS"], expected.alias_fences)
    yield from compare("loads through the switch", mix["LDGMC"], expected.switch_loads)
    yield from compare("stores through the switch", mix["STG.128" + STRONG], expected.switch_stores)
    yield from compare("barriers", mix["BAR"], expected.barriers)
    yield from compare("16-byte loads", mix["LDG.128"], expected.wide_loads)
    if mix["LDG.32" + STRONG] > expected.tags:
        yield (f"{mix['LDG.32' + STRONG]} strong loads of 32 bits, "
               f"{expected.tags} loads of packets whose tag alone is looked at in its PTX")
    if mix["STG.128"] < LEAST_STORES * expected.wide_stores:
        yield f"{mix['STG.128']} 16-byte stores, {expected.wide_stores} in its PTX"
    if expected.rows and not rows_of_loads(instructions):
        yield "no loop keeps four 16-byte loads in flight"
    for early in accesses_before_their_acquire(instructions):
        yield f"the {early.name} at {early.address:#x} comes before its wait has acquired"
    for fence in unreleased(instructions):
        yield f"no strong store follows the fence at {fence.address:#x}"

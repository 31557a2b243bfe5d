"""The memory and synchronisation instructions of NVIDIA's machine code, decoded.

Since sm_70 an instruction has 16 bytes. NVIDIA does not document them: the fields below were found by compiling
kernels whose instructions are known (machine_code_probes.py does that again in each test), and agree with nvdisasm
where there is one (machine_code_disassembled.py). What lies in the range of operations of memory but is not known
here has a name of its own, UNKNOWN, that no check accepts.

Fields, as bits of the 128: 0-8 operation, 12-14 guard and 15 its negation; of accesses 73-75 width and 77-80 order; of
fences 76-78 scope and 79 kind; of cache control 87-90 what it does; of branches 34-81 the distance.
"""

import struct

INSTRUCTION = 16  # bytes

OPERATIONS = {
    0x181: "LDG", 0x186: "STG", 0x180: "LD", 0x185: "ST", 0x183: "LDL", 0x187: "STL", 0x184: "LDS", 0x188: "STS",
    0x182: "LDC", 0x1AC: "LDCU", 0x192: "MEMBAR", 0x1AB: "ERRBAR", 0x18F: "CCTL", 0x1A8: "ATOMG", 0x1A9: "ATOMG.CAS",
    0x18E: "REDG", 0x1AE: "LDGSTS", 0x1AF: "LDGDEPBAR", 0x11D: "BAR", 0x1A4: "LDGMC", 0x1A5: "LDGMC",
}
MEMORY = range(0x180, 0x1C0)
ACCESSES = {"LDG", "STG", "LD", "ST", "LDL", "STL", "LDS", "STS"}
WIDTHS = {0: 8, 1: 8, 2: 16, 3: 16, 4: 32, 5: 64, 6: 128}  # bits; 1 and 3 are signed
ORDERS = {0x0: "", 0x4: ".CONSTANT", 0x5: ".STRONG.SM", 0x7: ".STRONG.GPU", 0xA: ".STRONG.SYS"}
SCOPES = {0: ".CTA", 2: ".GPU", 3: ".SYS"}
INVALIDATE_ALL = 4
BRANCH, ENDS = 0x147, {0x14D, 0x150}  # BRA; EXIT, RET
JUMPS_BY_TABLE = 0x149  # BRX: where to is not known here
ALWAYS, NEVER = 7, 15  # guards


def bits(word, first, count):
    return word >> first & ((1 << count) - 1)


class Instruction:
    """`name` is as nvdisasm's, less the words that say nothing of order or width; "" for what only computes."""

    def __init__(self, index, low, high, architecture):
        self.index, self.address = index, index * INSTRUCTION
        operation = bits(low, 0, 9)
        guard = bits(low, 12, 4)
        self.never = guard == NEVER
        self.name = "" if self.never else self._name(operation, high)
        self.ends = operation in ENDS | {JUMPS_BY_TABLE} and guard == ALWAYS
        self.target = None
        if operation == BRANCH and not self.never:
            self.target = index + 1 + self._distance(low, high, architecture) // INSTRUCTION
            self.ends = guard == ALWAYS and bits(high, 23, 4) == ALWAYS  # a branch has a second condition

    @staticmethod
    def _name(operation, high):
        name = OPERATIONS.get(operation)
        if name is None:
            return f"UNKNOWN.{operation:#05x}" if operation in MEMORY else ""
        if name in ACCESSES:
            width = WIDTHS.get(bits(high, 9, 3), "UNKNOWN")
            order = ORDERS.get(bits(high, 13, 4), ".UNKNOWN") if name in ("LDG", "STG", "LD", "ST") else ""
            return f"{name}.{width}{order}"
        if name == "MEMBAR":
            return name + (".ALL" if bits(high, 15, 1) else ".SC") + SCOPES.get(bits(high, 12, 3), ".UNKNOWN")
        if name == "CCTL":
            return name + (".IVALL" if bits(high, 23, 4) == INVALIDATE_ALL else ".UNKNOWN")
        return name

    @staticmethod
    def _distance(low, high, architecture):
        """Bytes from the next instruction to the target."""
        words = bits(low, 34, 30) | bits(high, 0, 18) << 30
        words -= words >> 47 << 48
        if architecture >= 90:  # there the low 8 bits lie elsewhere
            words = words << 8 | bits(low, 16, 8)
        return 4 * words


def decode(code, architecture):
    """The instructions of a kernel's code. Raises ValueError if a branch leaves it: then this is no such code."""
    if len(code) % INSTRUCTION != 0:
        raise ValueError(f"{len(code)} bytes are no whole number of instructions")
    instructions = [Instruction(at // INSTRUCTION, *struct.unpack_from("<QQ", code, at), architecture)
                    for at in range(0, len(code), INSTRUCTION)]
    for instruction in instructions:
        if instruction.target is not None and not 0 <= instruction.target < len(instructions):
            raise ValueError(f"the branch at {instruction.address:#x} leads out of the kernel")
    return instructions


def successors(instructions, index):
    instruction = instructions[index]
    after = [] if instruction.target is None else [instruction.target]
    if not instruction.ends and index + 1 < len(instructions):
        after.append(index + 1)
    return after


def in_loops(instructions):
    """For each instruction whether control can come back to it: those in strongly connected parts (Tarjan, 1972)."""
    count = len(instructions)
    order, low, on_stack = [None] * count, [0] * count, [False] * count
    stack, looping, visited = [], [False] * count, 0
    for root in range(count):
        if order[root] is not None:
            continue
        work = [(root, iter(successors(instructions, root)))]
        while work:
            at, after = work[-1]
            if order[at] is None:
                order[at] = low[at] = visited
                visited += 1
                stack.append(at)
                on_stack[at] = True
            for to in after:
                if order[to] is None:
                    work.append((to, iter(successors(instructions, to))))
                    break
                if on_stack[to]:
                    low[at] = min(low[at], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == order[at]:
                    part = []
                    while not part or part[-1] != at:
                        part.append(stack.pop())
                        on_stack[part[-1]] = False
                    if len(part) > 1:
                        for member in part:
                            looping[member] = True
    return looping

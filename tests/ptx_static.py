"""Reads the GPU code that a library or program embeds, and checks what can be checked without a GPU.

ptx_static.py FILE LAYOUT              prints each kernel's registers and one line per violation; exits 1 if there is any.
ptx_static.py FILE LAYOUT --self-test  damages the PTX in many ways and checks that each is reported.

LAYOUT is what tests/layout_cuda.cpp prints: where the kernels' parameters hold the places of flags and entries.

Machine code (per kernel): no stack frame; so no spills either. PTX (per kernel):
- flags, and the counts of entries, are touched by st.release.sys, ld.relaxed.sys and ld.acquire.sys of u64 alone;
- the payload of an entry is written and read by weak 8-byte accesses beside the count;
- every release is of a flag, an entry's count or a failure record, and what comes between the block barrier and the
  release of a flag stores nothing;
- every poll of a flag ends in ld.acquire.sys of the same flag, or in a report of failure, before a barrier or the end;
- copies and reductions have 16-byte loads and stores in loops, copies four loads in a row;
- packets are 8-byte scalars, strong at system scope;
- nothing is volatile, atomic, non-coherent, of a smaller scope, local, or a call.
"""

import json
import re
import struct
import sys

FATBIN = 0xBA55ED50
MOVES_BYTES = {"ring_all_reduce", "ring_reduce_scatter", "ring_all_gather", "two_shot_all_reduce", "one_shot_all_reduce",
               "direct_reduce_scatter", "direct_all_gather", "direct_broadcast", "messages"}
COPIES = MOVES_BYTES - {"one_shot_all_reduce", "direct_reduce_scatter"}
RELEASE = "st.release.sys.global.u64"
POLL = "ld.relaxed.sys.global.u64"
ACQUIRE = "ld.acquire.sys.global.u64"
REPORT = "st.relaxed.sys.global.u64"
FLAG_WORDS = {RELEASE, POLL, ACQUIRE}
PACKET_WORDS = {"st.relaxed.sys.global.b64", "ld.relaxed.sys.global.b64"}
WEAK = re.compile(r"(ld|st)\.global\.(v4\.u32|v2\.[usb]\d+|[usbf]\d+)$")
BARRIER = re.compile(r"(bar|barrier)\.")


# ---- what is embedded ----

def fat_entries(data):
    """(kind, bytes) of each entry of each fatbin container in `data`; kind 1 is PTX, 2 machine code."""
    at = 0
    while (at := data.find(struct.pack("<I", FATBIN), at)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, at)
        entry, end = at + header, at + header + size
        while entry < end:
            kind, = struct.unpack_from("<H", data, entry)
            head, = struct.unpack_from("<I", data, entry + 4)
            length, = struct.unpack_from("<Q", data, entry + 8)
            compressed, = struct.unpack_from("<I", data, entry + 16)
            body = data[entry + head:entry + head + length]
            if compressed:
                sys.exit("the embedded code is compressed; build it with --no-compress")
            yield kind, body
            entry += head + length
        at += 4


def frames_and_registers(elf):
    """{kernel: (frame bytes, registers)} of a cubin."""
    sections, = struct.unpack_from("<Q", elf, 40)
    width, count, names_at = struct.unpack_from("<HHH", elf, 58)
    table = [struct.unpack_from("<IIQQQQIIQQ", elf, sections + i * width) for i in range(count)]

    def text(strings, offset):
        begin = table[strings][4] + offset
        return elf[begin:elf.index(b"\0", begin)].decode()

    kernels, frames, registers, symbols = [], {}, {}, None
    for name, kind, _, _, offset, size, link, info, _, _ in table:
        if kind == 2:
            symbols = (offset, link)
    for name, kind, _, _, offset, size, link, info, _, _ in table:
        section = text(names_at, name)
        if section.startswith(".text."):
            kernels.append(section[6:])
        if section == ".nv.info":
            at = offset
            while at < offset + size:
                form, attribute, value = struct.unpack_from("<BBH", elf, at)
                of = {0x11: frames, 0x2F: registers}.get(attribute)  # the attributes of a function
                if form == 4 and of is not None:
                    symbol, number = struct.unpack_from("<II", elf, at + 4)
                    string, = struct.unpack_from("<I", elf, symbols[0] + symbol * 24)
                    of[text(symbols[1], string)] = number
                at += 4 + (value if form == 4 else 0)
    return {kernel: (frames[kernel], registers[kernel]) for kernel in kernels}


# ---- PTX ----

class Instruction:
    def __init__(self, line, text):
        self.line, self.text = line, text
        self.guard = None
        if text.startswith("@"):
            self.guard, text = text.split(None, 1)
        self.op, _, rest = text.partition(" ")
        self.operands = [o.strip() for o in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,]+", rest.strip()) if o.strip()]
        self.address = next((o[1:-1] for o in self.operands if o.startswith("[")), None)

    def registers(self, operand):
        return re.findall(r"%[a-z]+\d+", operand)

    @property
    def writes(self):
        if self.op.startswith(("st.", "bra", "bar", "ret", "setp")) or not self.operands:
            return []
        return self.registers(self.operands[0])

    @property
    def reads(self):
        return [r for operand in self.operands[1:] for r in self.registers(operand)]


class Kernel:
    def __init__(self, name, parameters, body, first_line, text):
        self.name, self.parameters, self.text = name, parameters, text
        self.code, self.labels = [], {}
        line = first_line
        for statement in re.split(r"(\n)", body):
            if statement == "\n":
                line += 1
                continue
            statement = statement.split("//")[0].strip()
            while label := re.match(r"(\$\w+):\s*", statement):
                self.labels[label.group(1)] = len(self.code)
                statement = statement[label.end():]
            statement = statement.strip("{} \t")
            for part in (p.strip() for p in statement.split(";")):
                if part and not part.startswith("."):
                    self.code.append(Instruction(line, part))
        self.defined_by = {}
        for index, instruction in enumerate(self.code):
            for register in instruction.writes:
                self.defined_by.setdefault(register, []).append(index)

    def successors(self, index):
        instruction = self.code[index]
        if instruction.op.startswith("bra"):
            target = self.labels[instruction.operands[-1]]
            return [target] + ([index + 1] if instruction.guard else [])
        if instruction.op in ("ret", "exit", "trap") and not instruction.guard:
            return []
        return [index + 1] if index + 1 < len(self.code) else []


def statements_of(ptx):
    """One statement per line, so that operand lists cut over lines are whole."""
    return re.sub(r",\s*\n\s*", ", ", ptx)


def end_of_braces(text, at):
    """One past the brace that closes the one at `at`."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    raise ValueError("a brace is not closed")


def kernels_of(ptx):
    ptx = statements_of(ptx)
    for match in re.finditer(r"\.entry\s+(\w+)\s*\((.*?)\)[^{]*", ptx, re.S):
        parameters = [(name, int(size or 0))
                      for name, size in re.findall(r"(\w+_param_\d+)(?:\[(\d+)\])?", match.group(2))]
        end = end_of_braces(ptx, match.end())
        body = ptx[match.end() + 1:end - 1]
        yield Kernel(match.group(1), parameters, body, ptx.count("\n", 0, match.end()) + 1, ptx[match.start():end])


def short_name(mangled, names):
    if match := re.search(r"collectiveILNS_6KernelE(\d+)E", mangled):
        return names[int(match.group(1))]
    return "messages" if "messages" in mangled else "probe"


class Places:
    """Which parameter fields each register's value derives from, whatever path the kernel takes."""

    def __init__(self, kernel, layout):
        self.kernel = kernel
        team = next(name for name, size in kernel.parameters if size == layout["team"])
        reports = next((name for name, size in kernel.parameters if size == layout["reports"]), None)
        self.fields = {(team, layout["flags"]): "flags", (team, layout["entries"]): "entries",
                       (team, layout["board"]): "board", (team, layout["packets"]): "packets"}
        for offset in range(0, layout["reports"], 8):
            self.fields[reports, offset] = "reports"
        self.constant, self.origin = {}, {}
        self.follow_addresses_of_parameters()
        self.follow_values()

    def follow_addresses_of_parameters(self):
        """Registers that hold the address of a parameter plus a constant."""
        changed = True
        while changed:
            changed = False
            for instruction in self.kernel.code:
                if not instruction.writes or instruction.writes[0] in self.constant:
                    continue
                value = None
                if instruction.op.startswith("mov.b64") or instruction.op.startswith("mov.u64"):
                    value = self.parameter_at(instruction.operands[1])
                elif instruction.op.startswith("add.s64") and re.fullmatch(r"-?\d+", instruction.operands[2]):
                    base = self.constant.get(instruction.operands[1])
                    value = (base[0], base[1] + int(instruction.operands[2])) if base else None
                if value:
                    self.constant[instruction.writes[0]] = value
                    changed = True

    def parameter_at(self, address):
        base, _, offset = address.partition("+")
        offset = int(offset or 0)
        if base in self.constant:
            return self.constant[base][0], self.constant[base][1] + offset
        if "_param_" in base:
            return base, offset
        return None

    def follow_values(self):
        changed = True
        while changed:
            changed = False
            for instruction in self.kernel.code:
                for i, register in enumerate(instruction.writes):
                    origins = set()
                    if instruction.op.startswith("ld.param"):
                        parameter = self.parameter_at(instruction.address)
                        width = int(re.search(r"(\d+)$", instruction.op).group(1)) // 8
                        if parameter and (parameter[0], parameter[1] + i * width) in self.fields:
                            origins.add(self.fields[parameter[0], parameter[1] + i * width])
                    elif not instruction.op.startswith("ld."):
                        for source in instruction.reads:
                            origins |= self.origin.get(source, set())
                    if origins - self.origin.get(register, set()):
                        self.origin.setdefault(register, set()).update(origins)
                        changed = True

    def of(self, address):
        origins = set()
        for register in re.findall(r"%[a-z]+\d+", address):
            origins |= self.origin.get(register, set())
        return origins

    def base_and_offset(self, address):
        """A register and what is added to it, seen through additions of constants."""
        base, _, offset = address.partition("+")
        offset = int(offset or 0)
        while len(defined := self.kernel.defined_by.get(base, [])) == 1:
            instruction = self.kernel.code[defined[0]]
            if not instruction.op.startswith("add.s64") or not re.fullmatch(r"-?\d+", instruction.operands[2]):
                break
            base, offset = instruction.operands[1], offset + int(instruction.operands[2])
        return base, offset


def in_a_loop(kernel, index):
    seen, todo = set(), list(kernel.successors(index))
    while todo:
        at = todo.pop()
        if at == index:
            return True
        if at not in seen:
            seen.add(at)
            todo.extend(kernel.successors(at))
    return False


def check_access(instruction, places, counts):
    op, origins = instruction.op, places.of(instruction.address)
    if not (op in FLAG_WORDS | PACKET_WORDS | {REPORT} or WEAK.match(op)):
        return f"{op} is no access that tutti makes"
    if op == RELEASE and not origins & {"flags", "entries", "reports"}:
        return "a release of something that is no flag"
    if op == ACQUIRE and not origins & {"flags", "entries"}:
        return "an acquire of something that is no flag"
    if "flags" in origins and op not in FLAG_WORDS:
        return f"{op} touches a flag"
    if "entries" in origins and op not in FLAG_WORDS:
        if op not in ("st.global.u64", "ld.global.u64"):
            return f"{op} touches an entry"
        base, offset = places.base_and_offset(instruction.address)
        beside = {8, 16, 24, 32, 40}
        if not any(offset - count in beside for count in counts.get(base, [])):
            return f"{op} touches an entry elsewhere than in the payload beside its count"
    if op in PACKET_WORDS and "packets" not in origins:
        return "a packet outside the packets"
    if "packets" in origins and op not in PACKET_WORDS:
        return f"{op} touches a packet"
    return None


def check_poll(kernel, index, places):
    """Every way on from a poll acquires the flag or reports a failure before the block goes on."""
    flag = places.base_and_offset(kernel.code[index].address)
    seen, todo = set(), list(kernel.successors(index))
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        instruction = kernel.code[at]
        if instruction.op == ACQUIRE and places.base_and_offset(instruction.address) == flag:
            continue
        if instruction.op == REPORT and "board" in places.of(instruction.address):
            continue
        if BARRIER.match(instruction.op) or instruction.op in ("ret", "exit"):
            return f"a poll goes on to line {instruction.line} without ld.acquire.sys of its flag"
        todo.extend(kernel.successors(at))
    return None


def check_release(kernel, index, predecessors):
    """Every way to the release of a flag comes from a barrier with no store between."""
    seen, todo = set(), list(predecessors.get(index, []))
    if index == 0:
        return "a release without a barrier before it"
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        instruction = kernel.code[at]
        if BARRIER.match(instruction.op):
            continue
        if instruction.op.startswith("st."):
            return f"the store at line {instruction.line} comes after the barrier of the release"
        if at == 0:
            return "a release without a barrier before it"
        todo.extend(predecessors.get(at, []))
    return None


def check_kernel(kernel, name, layout):
    places = Places(kernel, layout)
    predecessors, counts = {}, {}
    for index, instruction in enumerate(kernel.code):
        for after in kernel.successors(index):
            predecessors.setdefault(after, []).append(index)
        if instruction.op in FLAG_WORDS and "entries" in places.of(instruction.address):
            base, offset = places.base_and_offset(instruction.address)
            counts.setdefault(base, set()).add(offset)

    def report(instruction, trouble):
        return f"{name}, PTX line {instruction.line}: {trouble}: {instruction.text}"

    ops = {}
    for index, instruction in enumerate(kernel.code):
        op = instruction.op
        ops.setdefault(op, []).append(index)
        if op.startswith(("atom", "red.", "call", "cp.", "multimem", "prefetch", "tex", "membar")) or ".local" in op:
            yield report(instruction, f"{op} has no place in a kernel of tutti")
        if not op.startswith(("ld.", "st.")) or op.startswith(("ld.param", "ld.const")):
            continue
        if trouble := check_access(instruction, places, counts):
            yield report(instruction, trouble)
            continue
        origins = places.of(instruction.address)
        if op == POLL and origins & {"flags", "entries"}:
            if trouble := check_poll(kernel, index, places):
                yield report(instruction, trouble)
        if op == RELEASE and "flags" in origins:
            if trouble := check_release(kernel, index, predecessors):
                yield report(instruction, trouble)

    wide = {kind: [i for i in ops.get(f"{kind}.global.v4.u32", []) if in_a_loop(kernel, i)] for kind in ("ld", "st")}
    if name in MOVES_BYTES:
        for kind in wide:
            if not wide[kind]:
                yield f"{name}: no 16-byte {kind} in a loop"
    if name in COPIES:
        loads = [i for i, instruction in enumerate(kernel.code) if instruction.op.startswith(("ld.global", "st.global"))]
        rows = [loads[i:i + 4] for i in range(len(loads) - 3)]
        if not any(all(kernel.code[i].op == "ld.global.v4.u32" for i in row) and in_a_loop(kernel, row[0]) for row in rows):
            yield f"{name}: no loop keeps four 16-byte loads in flight"
    if name == "packets_all_reduce":
        for op in PACKET_WORDS:
            if op not in ops:
                yield f"{name}: no {op}"
    if name not in ("probe",):
        for op in FLAG_WORDS:
            if op not in ops:
                yield f"{name}: no {op}"


def check_ptx(modules, layout):
    found = set()
    for ptx in modules:
        for kernel in kernels_of(ptx):
            name = short_name(kernel.name, layout["kernels"])
            found.add(name)
            yield from check_kernel(kernel, name, layout)
    for name in sorted(set(layout["kernels"]) - {"send", "recv"} | {"messages", "probe"}):
        if name not in found:
            yield f"{name}: its PTX is not embedded"


def check_machine_code(cubins, layout):
    found = set()
    for elf in cubins:
        for mangled, (frame, registers) in frames_and_registers(elf).items():
            name = short_name(mangled, layout["kernels"])
            found.add(name)
            print(f"{name}: {registers} registers, frame {frame}")
            if frame != 0:
                yield f"{name}: a stack frame of {frame} bytes"
            if registers > 168:
                yield f"{name}: {registers} registers, more than 384 threads of a block can have"
    for name in sorted(set(layout["kernels"]) - {"send", "recv"} | {"messages", "probe"}):
        if name not in found:
            yield f"{name}: its machine code is not embedded"


# ---- damages ----

def nth(pattern, replacement, which=0):
    """Replaces match `which` of the pattern; fails if there is none."""
    def damage(ptx):
        matches = list(re.finditer(pattern, ptx))
        if not matches:
            return None
        match = matches[min(which, len(matches) - 1)]
        return ptx[:match.start()] + match.expand(replacement) + ptx[match.end():]
    return damage


def every(pattern, replacement):
    return lambda ptx: re.sub(pattern, replacement, ptx)


# Releases are damaged all at once: the first may be of a failure record, which need not be released.
DAMAGES = {
    "a relaxed signal": every(r"st\.release\.sys", "st.relaxed.sys"),
    "a signal of GPU scope": every(r"st\.release\.sys", "st.release.gpu"),
    "a weak signal": every(r"st\.release\.sys\.global", "st.global"),
    "a volatile signal": every(r"st\.release\.sys\.global", "st.volatile.global"),
    "a wait without an acquire": nth(r"ld\.acquire\.sys", "ld.relaxed.sys"),
    "an acquire of GPU scope": nth(r"ld\.acquire\.sys", "ld.acquire.gpu"),
    "an acquire that is gone": nth(r"\n\s*ld\.acquire\.sys[^\n]*", ""),
    "a volatile poll": nth(r"ld\.relaxed\.sys\.global\.u64", "ld.volatile.global.u64"),
    "a weak poll": nth(r"ld\.relaxed\.sys\.global\.u64(?=[^\n]*\n(?:[^\n]*\n){0,6}?\s*ld\.acquire)", "ld.global.u64"),
    "a second access to a flag": every(r"(\n\s*)st\.release\.sys\.global\.u64 (\[[^\]]*\]), ([^;]*);",
                                     r"\1st.release.sys.global.u64 \2, \3;\1st.global.u64 \2, \3;"),
    "an atomic on a flag": every(r"st\.release\.sys\.global\.u64 (\[[^\]]*\]), ([^;]*);", r"red.release.sys.global.add.u64 \1, \2;"),
    "a signal without its barrier": nth(r"\n\s*bar(rier)?\.(cta\.)?sync\s[^\n]*", ""),
    "a load past coherence": nth(r"ld\.global\.v4\.u32", "ld.global.nc.v4.u32"),
    "a spilled value": nth(r"\n\s*ret;", "\nst.local.u64 [%rd1], %rd1;\nret;"),
    "a call": nth(r"\n\s*ret;", "\ncall.uni helper;\nret;"),
}
BULK = {
    "16-byte loads split": lambda ptx: re.sub(r"ld\.global\.v4\.u32\s*\{(%r\d+), [^}]*\}", r"ld.global.u32 \1", ptx),
    "16-byte stores split": lambda ptx: re.sub(r"(st\.global)\.v4\.u32\s*(\[[^\]]*\]), \{(%r\d+), [^}]*\}", r"\1.u32 \2, \3", ptx),
}
PACKETS = {
    "a packet as a vector": nth(r"st\.relaxed\.sys\.global\.b64 (\[[^\]]*\]), (%rd\d+)", r"st.relaxed.sys.global.v2.b32 \1, {%r1, %r2}"),
    "a weak packet": nth(r"st\.relaxed\.sys\.global\.b64", "st.global.u64"),
    "a packet read weakly": nth(r"ld\.relaxed\.sys\.global\.b64", "ld.global.u64"),
}


def self_test(modules, layout):
    """Damages one kernel at a time, and expects a violation that the whole one has not."""
    undetected = 0
    tried = 0
    for ptx in modules:
        for kernel in kernels_of(ptx):
            name = short_name(kernel.name, layout["kernels"])
            if name not in ("barrier", "direct_broadcast", "messages", "packets_all_reduce"):
                continue  # nothing in the others that these have not
            damages = PACKETS if name == "packets_all_reduce" else DAMAGES | (BULK if name in MOVES_BYTES else {})
            for what, damage in damages.items():
                damaged = damage(kernel.text)
                if damaged is None or damaged == kernel.text:
                    continue
                tried += 1
                parsed, = kernels_of(damaged)
                if not any(True for _ in check_kernel(parsed, name, layout)):
                    undetected += 1
                    print(f"{name}: not noticed: {what}")
    print(f"{tried} damages, {undetected} not noticed")
    return 1 if undetected or tried < len(DAMAGES) + len(BULK) + len(PACKETS) else 0


def main():
    with open(sys.argv[1], "rb") as file:
        entries = list(fat_entries(file.read()))
    with open(sys.argv[2], encoding="ascii") as file:
        layout = json.load(file)
    modules = [body.split(b"\0")[0].decode() for kind, body in entries if kind == 1]
    cubins = [body for kind, body in entries if kind == 2]
    if not any(".entry" in module for module in modules):
        sys.exit(f"{sys.argv[1]}: no PTX of kernels is embedded")
    if sys.argv[3:] == ["--self-test"]:
        sys.exit(self_test(modules, layout))
    violations = list(check_machine_code(cubins, layout)) + list(check_ptx(modules, layout))
    for violation in violations:
        print(violation)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()

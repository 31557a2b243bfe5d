"""Reads the PTX that a library or program embeds, and checks what can be checked without a GPU.

ptx_static.py FILE LAYOUT              prints one line per violation; exits 1 if there is any.
ptx_static.py FILE LAYOUT --self-test  damages the PTX in many ways and checks that each is reported.

LAYOUT is what tests/layout_cuda.cpp prints: where the kernels' parameters hold the places of flags and entries.

Per kernel (what ptxas makes of it: machine_code_static.py):
- flags, and the counts of entries, are touched by st.release.sys, ld.relaxed.sys and ld.acquire.sys of u64 alone;
- the payload of an entry is written and read by weak 8-byte accesses beside the count;
- every release is of a flag, an entry's count or a failure record, and what comes between the block barrier and the
  release of a flag stores nothing;
- kernels that enter do so first: nothing but the entry is written before its release, which no barrier precedes;
- every poll of a flag ends in ld.acquire.sys of the same flag, or in a report of failure, before a barrier or the end;
- copies and reductions have 16-byte loads and stores in loops, copies four loads in a row;
- packets are 8-byte scalars, strong at system scope, stored and polled in loops by the kernels by packets alone, which
  look at the tag of each;
- the kernels of the switch, and no others, reach it: by relaxed multimem accesses of system scope;
- nothing is volatile, atomic, non-coherent, of a smaller scope, local, or a call.
"""

import json
import re
import sys

import ptx_damages
from ptx_embedded import fat_entries
from ptx_program import Places, in_a_loop, kernels_of, short_name

RELEASE = "st.release.sys.global.u64"
POLL = "ld.relaxed.sys.global.u64"
ACQUIRE = "ld.acquire.sys.global.u64"
REPORT = "st.relaxed.sys.global.u64"
FLAG_WORDS = {RELEASE, POLL, ACQUIRE}
PUT, GET = "st.relaxed.sys.global.b64", "ld.relaxed.sys.global.b64"
PACKET_WORDS = {PUT, GET}
WEAK = re.compile(r"(ld|st)\.global\.(v4\.u32|v2\.[usb]\d+|[usbf]\d+)$")
SWITCH = re.compile(r"multimem\.(ld_reduce|st)\.relaxed\.sys\.global\.")
BARRIER = re.compile(r"(bar|barrier)\.")


# ---- what kernels are expected to do, by their names ----

def by_packets(name):
    return name.startswith("packets_")


def enters(name):
    return not by_packets(name) and name not in ("dissemination_barrier", "messages", "probe")


def by_the_switch(name):
    return name.startswith("multicast_")


def moves_bytes(name):
    """By packets: those in which a rank keeps a part of its input."""
    if by_packets(name):
        return name.endswith(("all_gather", "_gather", "_scatter", "all_to_all")) and "reduce" not in name
    return not name.endswith("barrier") and name != "probe"


def copies(name):
    return moves_bytes(name) and name not in ("one_shot_all_reduce", "direct_reduce_scatter")


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


def check_enter(kernel, index, predecessors, places):
    """Nothing that another thread must order comes before the release of an entry."""
    seen, todo = set(), list(predecessors.get(index, []))
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        instruction = kernel.code[at]
        if BARRIER.match(instruction.op):
            return f"the barrier at line {instruction.line} comes before the release of an entry"
        if instruction.op.startswith("st.") and not places.of(instruction.address) & {"entries", "board"}:
            return f"the store at line {instruction.line} comes before the release of an entry"
        todo.extend(predecessors.get(at, []))
    return None


def check_packet(kernel, index):
    """The load of a packet is followed by a look at its tag, before the block's next barrier."""
    word = kernel.code[index].operands[0]
    seen, todo = set(), list(kernel.successors(index))
    while todo:
        at = todo.pop()
        instruction = kernel.code[at]
        if instruction.op == "shr.u64" and instruction.operands[1:] == [word, "32"]:
            return None
        if at not in seen and not BARRIER.match(instruction.op):
            todo.extend(kernel.successors(at))
        seen.add(at)
    return "nobody looks at the tag of the packet"


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
        if op.startswith(("atom", "red.", "call", "cp.", "prefetch", "tex", "membar")) or ".local" in op:
            yield report(instruction, f"{op} has no place in a kernel of tutti")
        if op.startswith("multimem") and not (by_the_switch(name) and SWITCH.match(op)):
            yield report(instruction, f"{op} in a kernel that is not of the switch, or not a relaxed one of system scope")
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
        if op == RELEASE and "entries" in origins:
            if trouble := check_enter(kernel, index, predecessors, places):
                yield report(instruction, trouble)
        if op == GET and name != "probe":
            if trouble := check_packet(kernel, index):
                yield report(instruction, trouble)

    wide = {kind: [i for i in ops.get(f"{kind}.global.v4.u32", []) if in_a_loop(kernel, i)] for kind in ("ld", "st")}
    if moves_bytes(name):
        for kind in wide:
            if not wide[kind]:
                yield f"{name}: no 16-byte {kind} in a loop"
    if copies(name):
        loads = [i for i, instruction in enumerate(kernel.code) if instruction.op.startswith(("ld.global", "st.global"))]
        rows = [loads[i:i + 4] for i in range(len(loads) - 3)]
        if not any(all(kernel.code[i].op == "ld.global.v4.u32" for i in row) and in_a_loop(kernel, row[0]) for row in rows):
            yield f"{name}: no loop keeps four 16-byte loads in flight"
    if by_the_switch(name) and not any(op.startswith("multimem") for op in ops):
        yield f"{name}: no multimem"
    if name != "probe":
        for op in PACKET_WORDS:
            if by_packets(name) and not any(in_a_loop(kernel, i) for i in ops.get(op, [])):
                yield f"{name}: no {op} in a loop"
            if not by_packets(name) and op in ops:
                yield f"{name}: {op} in a kernel that is not by packets"
        entries = [i for i in ops.get(RELEASE, []) if "entries" in places.of(kernel.code[i].address)]
        if enters(name) != bool(entries):
            yield f"{name}: {len(entries)} releases of entries"
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


def main():
    with open(sys.argv[1], "rb") as file:
        entries = list(fat_entries(file.read()))
    with open(sys.argv[2], encoding="ascii") as file:
        layout = json.load(file)
    modules = [body.split(b"\0")[0].decode() for kind, _, body in entries if kind == 1]
    if not any(".entry" in module for module in modules):
        sys.exit(f"{sys.argv[1]}: no PTX of kernels is embedded")
    if sys.argv[3:] == ["--self-test"]:
        sys.exit(ptx_damages.self_test(modules, layout, check_kernel))
    violations = list(check_ptx(modules, layout))
    for violation in violations:
        print(violation)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()

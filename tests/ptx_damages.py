"""Ways to damage the PTX of a kernel, each of which a check of it must report."""

import re

from ptx_program import kernels_of, short_name, without_source_lines


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
    "a packet elsewhere": nth(r"\n\s*ret;", "\nld.relaxed.sys.global.b64 %rd1, [%rd1];\nret;"),
}
ENTER = {
    "a store before enter": nth(r"\n\s*ld\.param", r"\nst.global.u32 [%rd99999], %r1;\g<0>"),
    "a barrier before enter": nth(r"\n\s*ld\.param", r"\nbar.sync 0;\g<0>"),
    "nobody enters": every(r"\n\s*st\.release\.sys[^\n]*", ""),
}
BULK = {
    "16-byte loads split": lambda ptx: re.sub(r"ld\.global\.v4\.u32\s*\{(%r\d+), [^}]*\}", r"ld.global.u32 \1", ptx),
    "16-byte stores split": lambda ptx: re.sub(r"(st\.global)\.v4\.u32\s*(\[[^\]]*\]), \{(%r\d+), [^}]*\}", r"\1.u32 \2, \3", ptx),
}
PACKETS = {
    "a packet as a vector": nth(r"st\.relaxed\.sys\.global\.b64 (\[[^\]]*\]), (%rd\d+)", r"st.relaxed.sys.global.v2.b32 \1, {%r1, %r2}"),
    "a weak packet": nth(r"st\.relaxed\.sys\.global\.b64", "st.global.u64"),
    "a packet read weakly": nth(r"ld\.relaxed\.sys\.global\.b64", "ld.global.u64"),
    "a packet taken as it comes": every(r"shr\.u64 (%rd\d+), (%rd\d+), 32;", r"mov.u64 \1, \2;"),
    "nothing put": every(r"\n\s*st\.relaxed\.sys\.global\.b64[^\n]*", ""),
    "nothing got": every(r"\n\s*ld\.relaxed\.sys\.global\.b64[^\n]*", ""),
}
SWITCH = {
    "a weak access by the switch": nth(r"multimem\.(ld_reduce|st)\.relaxed\.sys", r"multimem.\1.weak"),
    "a switch of GPU scope": nth(r"multimem\.(ld_reduce|st)\.relaxed\.sys", r"multimem.\1.relaxed.gpu"),
    "an atomic at the switch": nth(r"multimem\.st\.relaxed", "multimem.red.relaxed"),
    "no switch": every(r"\n\s*multimem\.[^\n]*", ""),
}
# The first barrier of a direct broadcast stands behind another, with nothing stored between.
REDUNDANT = "a signal without its barrier"
# Nothing in the other kernels that these have not.
PLAN = {
    "barrier": DAMAGES | ENTER | {"a stray access by the switch": nth(r"\n\s*ret;", "\nmultimem.st.relaxed.sys.global.v4.f32 [%rd1], {%f1, %f1, %f1, %f1};\nret;")},
    "dissemination_barrier": DAMAGES,
    "direct_broadcast": {what: DAMAGES[what] for what in DAMAGES if what != REDUNDANT} | ENTER | BULK,
    "tree_scatter": DAMAGES | ENTER | BULK,
    "messages": DAMAGES | BULK,
    "packets_all_reduce": PACKETS,
    "packets_gather": PACKETS | BULK,
    "multicast_all_reduce": SWITCH,
}


def self_test(modules, layout, check_kernel):
    """Damages one kernel at a time, and expects a violation that the whole one has not."""
    undetected, tried = 0, set()
    for ptx in modules:
        for kernel in kernels_of(ptx):
            name = short_name(kernel.name, layout["kernels"])
            for what, damage in PLAN.get(name, {}).items():
                whole = without_source_lines(kernel.text)
                damaged = damage(whole)
                if damaged is None or damaged == whole:
                    continue
                tried.add((name, what))
                parsed, = kernels_of(damaged)
                if not any(True for _ in check_kernel(parsed, name, layout)):
                    undetected += 1
                    print(f"{name}: not noticed: {what}")
    nowhere = {what for damages in PLAN.values() for what in damages} - {what for _, what in tried}
    for what in sorted(nowhere):
        print(f"not tried in any kernel: {what}")
    for name in sorted(set(PLAN) - {name for name, _ in tried}):
        print(f"{name}: not embedded, so not tried")
    print(f"{len(tried)} damages, {undetected} not noticed")
    return 1 if undetected or nowhere or set(PLAN) != {name for name, _ in tried} else 0

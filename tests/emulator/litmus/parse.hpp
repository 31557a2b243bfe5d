// The text form of litmus tests. One statement a line; // begins a comment; instructions are written as in PTX, without
// `.global` and the semicolon:
//
//   location data u32            name, type of an element; `u32[4]` is an array; `= 5` what each element holds at first
//   location flag u64
//   thread writer gpu 0 cta 0    instructions follow; `after a b`: in a later kernel of the stream than a and b
//     st.weak.u32 [data], 1
//     st.release.sys.u64 [flag], 1
//   thread reader gpu 1 cta 0
//     ld.relaxed.sys.u64 r0, [flag] until r0 >= 1     repeated until that holds
//     if r0 == 1: ld.weak.u32 r1, [data]              runs only if that holds
//   expect race-free             or racy
//   expect forbidden reader.r0 == 1 && reader.r1 == 0     or allowed, or required: holds at every end
//
// Instructions: ld, st (.weak, .relaxed, .acquire, .release, .volatile; .v2, .v4), atom and red (add, exch, cas, min,
// max, and, or, xor), fence.{sc,acq_rel,acquire,release}.SCOPE, membar.{cta,gl,sys}, bar.sync N, bar.arrive N.
// Registers are of 64 bits and start as 0. A value is a constant, a register, or a register plus a constant; hi(r) and
// lo(r) in questions are 32 bits of it. [data] in an `expect` is what the memory holds at the end.
#pragma once
#include <string>
#include <string_view>

#include "tests/emulator/litmus/program.hpp"

namespace tutti::emulator::litmus {

/// Throws std::runtime_error ("name:line: what is wrong") for anything that is not exactly as above. A test must say
/// race-free or racy.
LitmusTest parse(std::string_view text, const std::string& name);
LitmusTest parse_file(const std::string& path);

/// The program as text that `parse` reads; without expectations.
std::string print(const Program& program);
/// One instruction of one thread, as `print` writes it.
std::string print(const Program& program, const Thread& thread, const Instruction& instruction);

/// The order as the text form and PTX spell it.
const char* spelling_of(Order order);

}  // namespace tutti::emulator::litmus

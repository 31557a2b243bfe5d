// The memory consistency model of PTX, decided over all executions of a small program.
//
// `explore` makes every execution of a program: each way in which reads may take their values from writes, each order
// of the fence.sc, each order of writes that are related; keeps those that the axioms allow; and says which outcomes
// there are and whether a data race is possible. It shares no code with the machine of the emulator and its checking
// memory, which find out by running: each is a check of the other (litmus_against_machine_test.cpp).
//
// The model, in the words and by the sections of the PTX ISA (chapter 8, version 9.x); Lustig, Sahasrabuddhe, Giroux,
// "A Formal Analysis of the NVIDIA PTX Memory Consistency Model" (ASPLOS 2019) has the same in relations.
//
//   8.2.4  vectors         A vector access is one access for each element, in no order. The largest has 64 bits.
//   8.4    strong          Fences and .relaxed, .acquire, .release, .acq_rel, .volatile accesses; plain ones are weak.
//   8.7    morally strong  Two operations of one thread, or two strong ones each of whose scopes includes the other's
//                          thread; if both access memory, then the very same bytes.
//   8.7.1  data race       Two overlapping accesses, one of them a write, that are not morally strong and that
//                          causality order does not relate.
//   8.8    release pattern A release of M; or that, then a strong write of M; or a fence, then a strong write of M.
//   8.8    acquire pattern An acquire of M; or a strong read of M, then an acquire of M or a fence. The read of a `red`
//                          makes none (8.11.1).
//   8.9.2  observation     From a write to a read that takes its value and is morally strong to it, and on through
//                          atomics: what an atomic saw precedes what sees the atomic.
//   8.9.3  Fence-SC order  An acyclic order of every two morally strong fence.sc.
//   8.9.4  synchronizes    fence.sc to fence.sc, in Fence-SC order; an arrival at a barrier to whoever leaves it; the
//                          end of a kernel to the next of its stream; a release pattern to an acquire pattern if its
//                          write precedes the read in observation order and the first operation of the one and the
//                          last of the other are morally strong.
//   8.9.5  causality       Base causality is program order and synchronizes, closed transitively (that makes release
//                          and acquire cumulative). X precedes Y in causality order if it does in base causality, or
//                          if X precedes some Z in observation order and Z precedes Y in base causality.
//   8.9.6  coherence       A partial, transitive order of overlapping writes: those that are morally strong, and those
//                          that causality relates.
//   8.9.7  communication   Write to the read that takes a byte of it; write to write in coherence; read to the writes
//                          that follow in coherence what it took.
//
//   8.10.1 Coherence       Writes related in causality order are so in coherence order.
//   8.10.2 Fence-SC        Fence-SC order does not contradict causality order.
//   8.10.3 Atomicity       Between the read and the write of an atomic there is, in coherence order, no write that is
//                          morally strong to it; no access is seen in part by one that is morally strong to it.
//   8.10.4 No-Thin-Air     No value comes out of itself through reads and what depends on them: operands, atomics, and
//                          whether an instruction runs.
//   8.10.5 SC-per-location Program order between overlapping accesses, and communication between morally strong ones,
//                          make no cycle.
//   8.10.6 Causality       A read takes nothing from a write that it precedes in causality order, and nothing that a
//                          write which precedes it in causality order has replaced.
//
// Two differences to the published relations (NVlabs/ptxmemorymodel, for an older ISA): there, a barrier counts as a
// fence in release and acquire patterns, which matters only for threads of the CTA that do not come to it; and program
// order is no part of base causality, for which SC-per-location makes up.
//
// With a mixed-size data race (8.7.2: the bytes of the two accesses overlap in part) the axioms do not apply: such a
// program is racy, and nothing is forbidden.
//
// Left out:
//   - proxies (8.6): all accesses are generic ones through one address of each byte. Textures, ld.global.nc, surfaces,
//     aliases, multimem, asynchronous copies and proxy fences are no instructions here.
//   - clusters, mbarriers, the host as one more thread, and time: a poll that never ends is no execution.
//   - the promise of 8.7.2 for atomics that overlap in part: such programs are refused.
//   - tearing within a race: a read that races with writes takes each cell whole (cells are cut where some access of
//     the program begins or ends). Whether a race is possible does not depend on it.
//   - dead barriers: threads of one CTA that name the same barrier must come to it equally often.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/emulator/litmus/execution.hpp"
#include "tests/emulator/litmus/program.hpp"

namespace tutti::emulator::litmus {

struct Limits {
  int failing_polls = 1;  ///< how often each poll may fail before it succeeds
  Axioms axioms{};        ///< for tests of the axioms themselves
};

/// What is known of a program when all its executions are known.
struct Verdict {
  /// Whether an outcome, or a race, needs a reordering that a machine without speculation cannot do. Such a machine
  /// runs each thread in program order, the elements of a vector access one by one in any order; a store goes to the
  /// end of the coherence order, and an atomic reads what stands there. So there is an order of all accesses that
  /// agrees with program order, barriers, reads-from, coherence and Fence-SC order, and with the reads of atomics.
  enum class Reach : std::uint8_t { reordered, in_order };
  std::map<Outcome, Reach> outcomes;
  /// Two instructions that race, in words; from an execution that is in order if there is one.
  std::optional<std::string> race;
  Reach race_reach = Reach::reordered;
  /// Two instructions that would race, but for the second case of causality order: one of them was observed before the
  /// other, by a strong read of the same location in the other's thread. Only from executions in order.
  std::optional<std::string> ordered_by_observation;
  bool mixed_size_race = false;
  std::uint64_t executions = 0;  ///< that satisfy the axioms
};

/// Throws std::runtime_error if the program asks for what is left out, or is too large.
Verdict explore(const Program& program, const Limits& limits = {});

/// Empty if the verdict is as expected, else a line that says what is not.
std::string contradiction(const LitmusTest& test, const Expectation& expectation, const Verdict& verdict);

}  // namespace tutti::emulator::litmus

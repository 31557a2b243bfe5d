// The checker of the axioms itself: what each axiom forbids, and that vectors, widths, guards and polls mean what
// parse.hpp says. What the PTX ISA prints as results of litmus tests stands in classics/ and is tested by litmus_test.
#include "tests/emulator/litmus/memory_model.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/emulator/litmus/parse.hpp"
#include "tests/emulator/litmus/random_program.hpp"

namespace tutti::emulator::litmus {
namespace {

constexpr const char* kMessagePassing = R"(
location data u32
location flag u32
thread T1 gpu 0 cta 0
  st.weak.u32 [data], 1
  st.release.sys.u32 [flag], 1
thread T2 gpu 1 cta 0
  ld.acquire.sys.u32 r0, [flag]
  if r0 == 1: ld.weak.u32 r1, [data]
expect race-free
expect forbidden T2.r0 == 1 && T2.r1 == 0
)";

/// What the test expects and does not get, line by line.
std::string complaints(const std::string& text, const Limits& limits = {}) {
  const LitmusTest test = parse(text, "test");
  const Verdict verdict = explore(test.program, limits);
  std::string lines;
  for (const Expectation& expectation : test.expectations)
    if (const std::string line = contradiction(test, expectation, verdict); !line.empty()) lines += line + '\n';
  return lines;
}

TEST(EachAxiom, CausalityForbidsTheStaleRead) {
  EXPECT_EQ(complaints(kMessagePassing), "");
  EXPECT_NE(complaints(kMessagePassing, {.axioms = {.causality = false}}), "");
}

TEST(EachAxiom, CoherenceForbidsThatALaterWriteLoses) {
  const std::string s = R"(
location x u32
location y u32
thread T1 gpu 0 cta 0
  st.relaxed.sys.u32 [x], 2
  st.release.sys.u32 [y], 1
thread T2 gpu 1 cta 0
  ld.acquire.sys.u32 r0, [y]
  st.relaxed.sys.u32 [x], 1
expect race-free
expect forbidden T2.r0 == 1 && [x] == 2
)";
  EXPECT_EQ(complaints(s), "");
  EXPECT_NE(complaints(s, {.axioms = {.coherence = false}}), "");
}

TEST(EachAxiom, AtomicityForbidsALostIncrement) {
  const std::string increments = R"(
location x u32
thread T1 gpu 0 cta 0
  atom.relaxed.sys.add.u32 r0, [x], 1
thread T2 gpu 1 cta 0
  atom.relaxed.sys.add.u32 r0, [x], 1
expect race-free
expect required [x] == 2
)";
  EXPECT_EQ(complaints(increments), "");
  EXPECT_NE(complaints(increments, {.axioms = {.atomicity = false}}), "");
}

/// Causality forbids it too, as program order is a part of causality order.
TEST(EachAxiom, ScPerLocationForbidsReadsThatGoBack) {
  const std::string reads = R"(
location x u32
thread T1 gpu 0 cta 0
  st.relaxed.sys.u32 [x], 1
thread T2 gpu 1 cta 0
  ld.relaxed.sys.u32 r0, [x]
  ld.relaxed.sys.u32 r1, [x]
expect race-free
expect forbidden T2.r0 == 1 && T2.r1 == 0
)";
  EXPECT_EQ(complaints(reads, {.axioms = {.causality = false}}), "");
  EXPECT_NE(complaints(reads, {.axioms = {.sc_per_location = false, .causality = false}}), "");
}

/// So do Causality and Coherence: each event would precede itself.
TEST(EachAxiom, FenceScForbidsFencesAgainstCausality) {
  const std::string fences = R"(
location data u32
location flag u32
thread T1 gpu 0 cta 0
  st.weak.u32 [data], 1
  fence.sc.sys
  st.relaxed.sys.u32 [flag], 1
thread T2 gpu 1 cta 0
  ld.relaxed.sys.u32 r0, [flag]
  fence.sc.sys
expect race-free
)";
  const Program program = parse(fences, "test").program;
  const auto executions = [&](const Axioms& axioms) { return explore(program, {.axioms = axioms}).executions; };
  EXPECT_EQ(executions({}), 3u);  // flag seen: one order of the fences; not seen: two
  EXPECT_EQ(executions({.coherence = false, .causality = false}), 3u);
  EXPECT_EQ(executions({.fence_sc = false}), 3u);
  EXPECT_EQ(executions({.coherence = false, .fence_sc = false, .causality = false}), 4u);
}

TEST(EachAxiom, IsStatedThoughTwoFollowFromTheOthers) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const Program program = random_program(seed);
    const Verdict all = explore(program);
    for (const Axioms& axioms : {Axioms{.fence_sc = false}, Axioms{.sc_per_location = false}}) {
      const Verdict fewer = explore(program, {.axioms = axioms});
      EXPECT_EQ(fewer.outcomes, all.outcomes) << "seed " << seed << '\n' << print(program);
      EXPECT_EQ(fewer.race.has_value(), all.race.has_value()) << "seed " << seed << '\n' << print(program);
    }
  }
}

// ---- polls
// ------------------------------------------------------------------------------------------------------------

TEST(Polls, ThatFailOfferNothingNew) {
  const std::string epochs = R"(
location slot u32
location data u64
thread writer gpu 0 cta 0
  st.weak.u32 [slot], 1
  st.release.sys.u64 [data], 1
  st.release.sys.u64 [data], 2
thread reader gpu 1 cta 0
  ld.relaxed.sys.u64 r0, [data] until r0 >= 1
  ld.acquire.sys.u64 r0, [data]
  ld.weak.u32 r1, [slot]
expect race-free
)";
  const Program program = parse(epochs, "test").program;
  const Verdict none = explore(program, {.failing_polls = 0}), three = explore(program, {.failing_polls = 3});
  EXPECT_EQ(none.outcomes, three.outcomes);
  EXPECT_LT(none.executions, three.executions);
  EXPECT_FALSE(none.race || three.race);
}

// ---- what accesses mean ---------------------------------------------------------------------------------------------

TEST(Accesses, OfDifferentWidthsShareTheirBytes) {
  EXPECT_EQ(complaints(R"(
location w u32[2] = 0x01020304
thread T gpu 0 cta 0
  ld.weak.u8 r0, [w+1]
  st.weak.u16 [w+2], 0xbeef
  ld.weak.u64 r1, [w]
  st.weak.u64 [w], 0x1111111122222222
  ld.weak.u32 r2, [w+4]
expect race-free
expect required T.r0 == 3 && T.r1 == 0x01020304beef0304 && T.r2 == 0x11111111 && [w] == 0x22222222
)"),
            "");
}

TEST(Accesses, KeepTheirWidth) {
  EXPECT_EQ(complaints(R"(
location b u32
location c u32 = 0xffffffff
thread T gpu 0 cta 0
  st.weak.u8 [b], 0x1ff
  atom.relaxed.cta.add.u32 r0, [c], 3
  ld.weak.u32 r1, [b]
expect race-free
expect required T.r0 == 0xffffffff && T.r1 == 0xff && [c] == 2
)"),
            "");
}

TEST(Accesses, OfAtomicsCompute) {
  EXPECT_EQ(complaints(R"(
location x u32 = 12
thread T gpu 0 cta 0
  atom.relaxed.cta.max.u32 r0, [x], 20
  atom.relaxed.cta.min.u32 r1, [x], 17
  atom.relaxed.cta.and.u32 r2, [x], 0x30
  atom.relaxed.cta.or.u32 r3, [x], 5
  atom.relaxed.cta.xor.u32 r4, [x], 1
  atom.relaxed.cta.cas.u32 r5, [x], 20, 99
  atom.relaxed.cta.cas.u32 r6, [x], 99, r0+1
  atom.relaxed.cta.exch.u32 r7, [x], 7
expect race-free
expect required T.r0 == 12 && T.r1 == 20 && T.r2 == 17 && T.r3 == 16 && T.r4 == 21
expect required T.r5 == 20 && T.r6 == 99 && T.r7 == 13 && [x] == 7
)"),
            "");
}

TEST(Accesses, RaceInPartForbidsNothing) {
  const LitmusTest test = parse(R"(
location w u64
thread T1 gpu 0 cta 0
  st.relaxed.sys.u64 [w], 1
thread T2 gpu 1 cta 0
  ld.relaxed.sys.u32 r0, [w]
expect racy
expect forbidden T2.r0 == 5
)",
                                "test");
  const Verdict verdict = explore(test.program);
  EXPECT_TRUE(verdict.mixed_size_race);
  EXPECT_NE(contradiction(test, test.expectations[1], verdict), "") << "nothing is forbidden after a mixed-size race";
}

TEST(Accesses, OfAtomicsThatOverlapInPartAreRefused) {
  const std::string text = R"(
location w u64
thread T1 gpu 0 cta 0
  red.relaxed.sys.add.u64 [w], 1
thread T2 gpu 1 cta 0
  red.relaxed.sys.add.u32 [w], 1
expect racy
)";
  EXPECT_THROW(explore(parse(text, "test").program), std::runtime_error);
}

/// A race that only an execution with load buffering has is told apart, since no machine that runs in order finds it.
TEST(Verdicts, SayWhetherAnOutcomeNeedsReordering) {
  const LitmusTest test = parse(R"(
location x u32
location y u32
thread T1 gpu 0 cta 0
  ld.relaxed.sys.u32 r0, [x]
  st.relaxed.sys.u32 [y], 1
thread T2 gpu 1 cta 0
  ld.relaxed.sys.u32 r1, [y]
  st.relaxed.sys.u32 [x], 1
expect race-free
)",
                                "test");
  const Verdict verdict = explore(test.program);
  ASSERT_EQ(verdict.outcomes.size(), 4u);
  for (const auto& [outcome, reach] : verdict.outcomes)
    EXPECT_EQ(reach == Verdict::Reach::reordered, outcome[0] == 1 && outcome[1] == 1)
        << describe(test.program, outcome);
}

TEST(Verdicts, NameTheTwoInstructionsThatRace) {
  const LitmusTest test = parse(R"(
location d u32
thread T1 gpu 0 cta 0
  st.weak.u32 [d], 1
thread T2 gpu 1 cta 0
  ld.weak.u32 r0, [d]
expect racy
)",
                                "test");
  EXPECT_EQ(explore(test.program).race, "T1: st.weak.u32 [d], 1 and T2: ld.weak.u32 r0, [d]");
}

}  // namespace
}  // namespace tutti::emulator::litmus

// The text form: what is written is what is read, and everything else is an error that says where.
#include "tests/emulator/litmus/parse.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/emulator/litmus/random_program.hpp"

namespace tutti::emulator::litmus {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse(text, "t");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, OfEveryRandomProgramIsReadAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const std::string text = print(random_program(seed));
    EXPECT_EQ(print(parse(text + "expect racy\n", "t").program), text) << "seed " << seed;
  }
}

TEST(Text, HasEveryInstruction) {
  const std::string text = R"(location d u8
location f u64 = 3
location v u32[4]
thread A gpu 0 cta 0
  ld.weak.u8 r0, [d]
  if r0 >= 2: st.weak.u8 [d], r0+1
  ld.volatile.u64 r1, [f] until hi(r1) == 4294967295
  st.weak.v4.u32 [v], {1, 2, r0, r1}
  ld.relaxed.gpu.v2.u32 {r2, r3}, [v+8]
  bar.sync 3
thread B gpu 0 cta 0
  atom.acq_rel.sys.cas.u64 r0, [f], 3, 4
  red.release.cta.add.u32 [v+4], 1
  fence.acquire.gpu
  fence.sc.sys
  bar.sync 3
  bar.arrive 4
thread C gpu 0 cta 1 after A B
  if lo(r0) != 7: ld.acquire.sys.u64 r0, [f]
)";
  EXPECT_EQ(print(parse(text + "expect racy\n", "t").program), text);
}

TEST(Text, ThatIsWrongIsAnErrorThatSaysWhere) {
  const std::string head = "location d u32\nlocation f u64\nthread T gpu 0 cta 0\n";
  const auto in_thread = [&](const std::string& line) { return error_of(head + line + "\nexpect racy\n"); };
  EXPECT_EQ(in_thread("  ld.weak.u32 r0, [e]"), "t:4: no location is named 'e'");
  EXPECT_EQ(in_thread("  ld.weak.f32 r0, [d]"), "t:4: 'f32' is not a type: use u8, u16, u32, u64 or b8, b16, b32, b64");
  EXPECT_EQ(in_thread("  ld.release.sys.u32 r0, [d]"), "t:4: ld.release.sys.u32 cannot have this order");
  EXPECT_EQ(in_thread("  st.acquire.sys.u32 [d], 1"), "t:4: st.acquire.sys.u32 cannot have this order");
  EXPECT_EQ(in_thread("  ld.relaxed.u32 r0, [d]"), "t:4: ld.relaxed.u32 has 'u32' for the scope");
  EXPECT_EQ(in_thread("  ld.relaxed.cluster.u32 r0, [d]"), "t:4: ld.relaxed.cluster.u32 has 'cluster' for the scope");
  EXPECT_EQ(in_thread("  ld.weak.u32.x r0, [d]"), "t:4: ld.weak.u32.x has 'x' too much");
  EXPECT_EQ(in_thread("  ld.weak.u32 r0, [d], 1"), "t:4: unexpected ','");
  EXPECT_EQ(in_thread("  st.weak.u32 [d], 0x"), "t:4: '0x' is not a number");
  EXPECT_EQ(in_thread("  st.weak.v2.u32 [d], 1"), "t:4: expected '{', got '1'");
  EXPECT_EQ(in_thread("  red.acquire.sys.add.u32 [d], 1"),
            "t:4: red.acquire.sys.add.u32 returns nothing, so cannot acquire");
  EXPECT_EQ(in_thread("  atom.weak.add.u32 r0, [d], 1"), "t:4: atom.weak.add.u32 cannot have this order");
  EXPECT_EQ(in_thread("  fence.relaxed.sys"), "t:4: fence.relaxed.sys cannot have this order");
  EXPECT_EQ(in_thread("  bar.red 0"), "t:4: 'bar.red' is not an instruction of litmus tests");
  EXPECT_EQ(in_thread("  bar.sync 16"), "t:4: a CTA has barriers 0 to 15");
  EXPECT_EQ(in_thread("  ld.weak.u64 r0, [d]"), "t: thread T, instruction 1: 8 bytes at [d+0] reach past its end");
  EXPECT_EQ(in_thread("  ld.weak.u32 r0, [f+2]"),
            "t: thread T, instruction 1: [f+2] is not aligned to the access of 4 bytes");
  EXPECT_EQ(in_thread("  if r0 == 1: bar.sync 0"), "t: thread T, instruction 1: a barrier cannot be guarded");
  EXPECT_EQ(error_of(head + "thread U gpu 0 cta 0\n  bar.sync 0\nthread V gpu 0 cta 0\n  bar.sync 0\n  bar.sync 0\n"
                            "expect racy\n"),
            "t: threads U and V come to barrier 0 1 and 2 times: it would hang");
  EXPECT_EQ(error_of(head + "  ld.weak.u32 r0, [d]\n"), "t:4: it says neither 'expect race-free' nor 'expect racy'");
  EXPECT_EQ(error_of(head + "expect sometimes T.r0 == 1\n"),
            "t:4: 'sometimes' is none of race-free, racy, allowed, forbidden, required");
  EXPECT_EQ(error_of(head + "expect allowed T.r0 == 1\n"), "t:4: 'T.r0' names no register");
  EXPECT_EQ(error_of(head + "expect allowed U.r0 == 1\n"), "t:4: no thread is named 'U'");
  EXPECT_EQ(error_of(head + "expect allowed [d+2] == 1\n"), "t:4: 2 bytes into 'd' no element begins");
  EXPECT_EQ(error_of(head + "expect allowed ([d] == 1\n"), "t:4: expected ')', got ''");
  EXPECT_EQ(error_of(head + "location e u32\n"), "t:4: locations come before threads");
  EXPECT_EQ(error_of("location d u32\nlocation d u32\n"), "t:2: there are two locations 'd'");
  EXPECT_EQ(error_of(head + "thread T gpu 0 cta 0\n"), "t:4: there are two threads 'T'");
}

}  // namespace
}  // namespace tutti::emulator::litmus

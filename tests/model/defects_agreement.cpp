// Ranks that call different things.
#include <gtest/gtest.h>

#include "tests/model/defects.hpp"

namespace tutti::model {
namespace {

/// Rank 1 calls something else; every rank must fail, none hang, and nothing be called a defect of the kernel.
void expect_all_fail(Case theirs, Case other, int ranks) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Model model(tight_geometry(ranks, 1, kLeastSlots), seed);
    Buffers buffers(model, 4096 * static_cast<std::size_t>(ranks));
    int returned = 0;
    model.run([&](ModelRank& me) {
      me.call({buffers.prepare(me.rank() == 1 ? other : theirs, me.rank())});
      ++returned;
    });
    EXPECT_EQ(returned, ranks) << text_of(theirs) << " and " << text_of(other);
    EXPECT_TRUE(model.findings().empty()) << model.report();
    EXPECT_EQ(model.failures().size(), static_cast<std::size_t>(ranks)) << model.report();
  }
}

TEST(Agreement, RanksThatCallDifferentThingsAllFailAndNoneHangs) {
  const Case ring = staged_ring();
  Case other = ring;
  other.count = 8;
  expect_all_fail(ring, other, 3);
  other = ring;
  other.op = ReduceOp::max;
  expect_all_fail(ring, other, 3);
  other = ring;
  other.kernel = Kernel::direct_reduce_scatter;
  expect_all_fail(ring, other, 4);
  const Case packets{.kernel = Kernel::packets_all_reduce, .count = 4};
  other = packets;
  other.count = 5;
  expect_all_fail(packets, other, 3);
}

TEST(Agreement, AMessageOfAnotherLengthFailsAtTheReceiver) {
  for (const Mapped mapped : {Mapped::all, Mapped::none}) {
    Model model(tight_geometry(2, 1, kLeastSlots), 7);
    Buffers buffers(model, 4096);
    model.run([&](ModelRank& me) {
      Case c{.kernel = me.rank() == 0 ? Kernel::send : Kernel::recv, .count = 300, .to = 1, .mapped = mapped};
      if (me.rank() == 1) c.count = 299;
      me.call({buffers.prepare(c, me.rank())});
    });
    ASSERT_FALSE(model.failures().empty());
    EXPECT_NE(model.failures().front().find("rank 1"), std::string::npos) << model.report();
    EXPECT_NE(model.failures().front().find("another message"), std::string::npos) << model.report();
    EXPECT_TRUE(model.findings().empty()) << model.report();
  }
}

}  // namespace
}  // namespace tutti::model

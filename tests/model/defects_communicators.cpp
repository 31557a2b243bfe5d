// Several communicators, one after the other and at once, and calls that are started and waited for later.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/model/defects.hpp"

namespace tutti::model {
namespace {

bool has(const Model& model, Defect defect) {
  for (const Finding& f : model.findings())
    if (f.defect == defect) return true;
  return false;
}

/// A call of every kernel that is a collective, small and with rounds.
std::vector<Case> collectives(int ranks) {
  std::vector<Case> cases;
  for (int k = 0; k < kKernels; ++k) {
    Case c{.kernel = static_cast<Kernel>(k), .count = 90, .root = ranks - 1};
    if (c.shape() == Shape::message) continue;
    if (c.shape() == Shape::nothing) c.count = 0;
    c.mapped = k % 2 ? Mapped::all : Mapped::none;
    c.salt = static_cast<std::uint64_t>(k);
    cases.push_back(c);
  }
  return cases;
}

TEST(Communicators, OfSomeRanksInAnyOrderRunEveryKernelBesideThatOfAll) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Model model(tight_geometry(5, 1, kLeastSlots), seed);
    Communicator& odd = model.communicator({3, 1}, tight_geometry(2, 2, 4));
    Communicator& most = model.communicator({4, 0, 2, 1}, tight_geometry(4, 1, kLeastSlots));
    const std::array<Communicator*, 3> all{&model.world(), &odd, &most};
    std::vector<std::unique_ptr<Buffers>> buffers;
    for (Communicator* c : all) buffers.push_back(std::make_unique<Buffers>(*c, 4096));
    model.run([&](ModelRank& me) {
      for (std::size_t i = 0; i < collectives(2).size(); ++i) {
        for (std::size_t j = 0; j < all.size(); ++j) {
          const int rank = all[j]->rank_of(me.rank());
          if (rank < 0) continue;
          const Case c = collectives(all[j]->size())[i];
          me.call(*all[j], {buffers[j]->prepare(c, rank)});
          buffers[j]->verify(c, rank);
        }
      }
    });
    ASSERT_EQ(model.report(), "") << "seed " << seed;
    if (HasFailure()) return;
  }
}

TEST(Communicators, HaveCallsUnderWayAtOnceOnOneRank) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    Model model(tight_geometry(4, 1, kLeastSlots), seed);
    Communicator& low = model.communicator({0, 1, 2}, tight_geometry(3, 1, kLeastSlots));
    Communicator& high = model.communicator({3, 2, 1}, tight_geometry(3, 1, kLeastSlots));
    Buffers of_all(model, 4096), of_low(low, 4096), of_high(high, 4096);
    const Case c{.kernel = Kernel::ring_all_reduce, .count = 700, .mapped = Mapped::none};
    model.run([&](ModelRank& me) {
      // Not all in the same order: no call keeps another waiting.
      std::vector<Started> started;
      const auto start = [&](Communicator& communicator, Buffers& buffers) {
        const int rank = communicator.rank_of(me.rank());
        if (rank >= 0) started.push_back(me.start(communicator, {buffers.prepare(c, rank)}));
      };
      if (me.rank() % 2 == 0) start(low, of_low);
      start(high, of_high);
      start(model.world(), of_all);
      if (me.rank() % 2 == 1) start(low, of_low);
      for (auto s = started.rbegin(); s != started.rend(); ++s) me.wait(*s);
      of_all.verify(c, me.rank());
      if (low.rank_of(me.rank()) >= 0) of_low.verify(c, low.rank_of(me.rank()));
      if (high.rank_of(me.rank()) >= 0) of_high.verify(c, high.rank_of(me.rank()));
    });
    ASSERT_EQ(model.report(), "") << "seed " << seed;
    if (HasFailure()) return;
  }
}

TEST(Communicators, RunStartedCallsInOrder) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    Model model(tight_geometry(3, 2, kLeastSlots), seed);
    const std::vector<Case> cases = collectives(3);
    std::vector<std::unique_ptr<Buffers>> buffers;
    for (std::size_t i = 0; i < cases.size(); ++i) buffers.push_back(std::make_unique<Buffers>(model, 4096));
    model.run([&](ModelRank& me) {
      std::vector<Started> started;
      for (std::size_t i = 0; i < cases.size(); ++i)
        started.push_back(me.start({buffers[i]->prepare(cases[i], me.rank())}));
      me.wait(started[cases.size() / 2]);
      for (std::size_t i = 0; i <= cases.size() / 2; ++i) buffers[i]->verify(cases[i], me.rank());
      me.wait(started.back());
      for (std::size_t i = cases.size() / 2 + 1; i < cases.size(); ++i) buffers[i]->verify(cases[i], me.rank());
    });
    ASSERT_EQ(model.report(), "") << "seed " << seed;
    if (HasFailure()) return;
  }
}

TEST(Communicators, OfWhichOneIsADefectAreToldApart) {
  Model model(tight_geometry(3, 1, kLeastSlots), 1);
  Communicator& pair = model.communicator({2, 0}, tight_geometry(2, 1, kLeastSlots));
  Buffers of_all(model, 4096), of_pair(pair, 4096);
  model.omit([](const WordAt& at) { return at.communicator == 1 && at.rank == 1 && at.word == Word::advance_sent; });
  const Case c{.kernel = Kernel::ring_all_gather, .count = 90, .mapped = Mapped::none};
  model.run([&](ModelRank& me) {
    me.call({of_all.prepare(c, me.rank())});
    if (pair.rank_of(me.rank()) >= 0) me.call(pair, {of_pair.prepare(c, pair.rank_of(me.rank()))});
  });
  EXPECT_TRUE(has(model, Defect::counts)) << model.report();
  for (const Finding& f : model.findings()) EXPECT_NE(f.text.find("of communicator 1"), std::string::npos) << f.text;
}

TEST(Communicators, ThatWriteOneBufferAtOnceRace) {
  const auto report = [](bool at_once) {
    Model model(tight_geometry(3, 1, kLeastSlots), 2);
    Communicator& pair = model.communicator({1, 2}, tight_geometry(2, 1, kLeastSlots));
    Buffers of_all(model, 4096), of_pair(pair, 4096);
    const Case c{.kernel = Kernel::ring_all_gather, .count = 90, .mapped = Mapped::none};
    model.run([&](ModelRank& me) {
      const Op first = of_all.prepare(c, me.rank());
      const Started started = me.start({first});
      if (!at_once) me.wait(started);
      if (const int rank = pair.rank_of(me.rank()); rank >= 0) {
        Op second = of_pair.prepare(c, rank);
        second.call.out = first.call.out;
        second.chained = at_once;  // so that it is the kernels that clash, not the caller
        me.call(pair, {second});
      }
      if (at_once) me.wait(started);
    });
    return model.report();
  };
  EXPECT_EQ(report(false), "");
  const std::string said = report(true);
  EXPECT_NE(said.find("race: "), std::string::npos) << said;
  EXPECT_NE(said.find("of communicator 1 block 0 in ring_all_gather"), std::string::npos) << said;
}

/// A call that is started, then `between`, then waited for.
std::string report_of(Kernel kernel, std::uint64_t seed, const std::function<void(ModelRank&, const Op&)>& between) {
  Model model(tight_geometry(3, 1, kLeastSlots), seed);
  Buffers buffers(model, 4096);
  const Case c{.kernel = kernel, .count = 90};
  model.run([&](ModelRank& me) {
    const Op op = buffers.prepare(c, me.rank());
    const Started started = me.start({op});
    between(me, op);
    me.wait(started);
  });
  return model.report();
}

TEST(StartedCalls, OwnTheirBuffersUntilTheyAreWaitedFor) {
  for (const Kernel kernel : {Kernel::ring_all_reduce, Kernel::two_shot_all_reduce, Kernel::tree_all_reduce}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      EXPECT_EQ(report_of(kernel, seed, [](ModelRank&, const Op&) {}), "");
      const std::string wrote = report_of(kernel, seed, [](ModelRank& me, const Op& op) {
        if (me.rank() == 1) me.write(const_cast<char*>(op.call.in), 4);
      });
      EXPECT_NE(wrote.find("race: "), std::string::npos) << tutti::name_of(kernel);
      EXPECT_NE(wrote.find("the caller on rank 1"), std::string::npos) << wrote;
      const std::string looked = report_of(kernel, seed, [](ModelRank& me, const Op& op) {
        if (me.rank() == 1) me.read(op.call.out, 4);
      });
      EXPECT_NE(looked.find("the caller on rank 1"), std::string::npos) << looked;
      // To look at what goes in is no harm.
      EXPECT_EQ(report_of(kernel, seed, [](ModelRank& me, const Op& op) { me.read(op.call.in, 4); }), "");
    }
  }
}

TEST(StartedCalls, MayTakeTheOutputOfTheCallBeforeIfTheCallerKeepsOff) {
  const auto report = [](bool chained, bool waits_for_both) {
    Model model(tight_geometry(3, 1, kLeastSlots), 4);
    Buffers buffers(model, 4096), more(model, 4096);
    const Case gather{.kernel = Kernel::ring_all_gather, .count = 30, .mapped = Mapped::none};
    const Case reduce{.kernel = Kernel::ring_all_reduce, .count = 90, .mapped = Mapped::none};
    model.run([&](ModelRank& me) {
      const Op first = buffers.prepare(gather, me.rank());
      Op second = more.prepare(reduce, me.rank());
      second.call.in = first.call.out;
      second.chained = chained;
      const Started a = me.start({first});
      const Started b = me.start({second});
      if (waits_for_both) me.wait(a);
      me.wait(b);
    });
    return model.report();
  };
  EXPECT_EQ(report(true, false), "");
  EXPECT_NE(report(false, false).find("race: "), std::string::npos) << "the caller fills it while the first call runs";
  EXPECT_NE(report(true, true).find("race: "), std::string::npos) << "the caller has it back after the first";
}

TEST(StartedCalls, LetMessagesGoBesideCollectives) {
  // Rank 1 enters the collective only once it has the message that rank 0 sends while it waits there.
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    Model model(tight_geometry(3, 1, kLeastSlots), seed);
    Buffers of_all(model, 4096), of_messages(model, 4096);
    const Case reduce{.kernel = Kernel::ring_all_reduce, .count = 300, .mapped = Mapped::none};
    const Case message{.kernel = Kernel::send, .count = 300, .to = 1, .mapped = Mapped::none};
    model.run([&](ModelRank& me) {
      Case mine = message;
      if (me.rank() == 1) mine.kernel = Kernel::recv;
      const auto collective = [&] { return me.start({of_all.prepare(reduce, me.rank())}); };
      const auto exchange = [&] {
        if (me.rank() != 2) me.call({of_messages.prepare(mine, me.rank())});
      };
      if (me.rank() == 1) exchange();
      const Started started = collective();
      if (me.rank() != 1) exchange();
      me.wait(started);
      of_all.verify(reduce, me.rank());
      if (me.rank() == 1) of_messages.verify(mine, 1);
    });
    ASSERT_EQ(model.report(), "") << "seed " << seed;
    if (HasFailure()) return;
  }
}

TEST(StartedCalls, AreReportedIfAPeerReachesIntoThemAfterTheyEnd) {
  // Rank 1 of the pair leaves without a word, and its caller goes on while its peer still reads.
  bool raced = false;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Model model(tight_geometry(3, 1, kLeastSlots), seed);
    Communicator& pair = model.communicator({0, 2}, tight_geometry(2, 1, kLeastSlots));
    Buffers of_pair(pair, 4096), of_all(model, 4096);
    model.omit([](const WordAt& at) { return at.communicator == 1 && at.rank == 1 && at.word == Word::leave; });
    const Case c{.kernel = Kernel::one_shot_all_reduce, .count = 90};
    model.run([&](ModelRank& me) {
      const Started all = me.start({of_all.prepare(c, me.rank())});
      const int rank = pair.rank_of(me.rank());
      if (rank >= 0) me.wait(me.start(pair, {of_pair.prepare(c, rank)}));
      me.wait(all);
    });
    raced |= model.report().find("the caller on rank 2") != std::string::npos && has(model, Defect::race);
  }
  EXPECT_TRUE(raced);
}

}  // namespace
}  // namespace tutti::model

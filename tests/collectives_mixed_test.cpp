// The protocol under what programs do: thousands of mixed calls in a row on communicators with 1 to 4 blocks, with
// calls outstanding, late ranks, callers that overwrite their inputs at once, and packet tags that begin to repeat.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "tests/collectives_kinds.hpp"
#include "tests/collectives_trial.hpp"

namespace tutti {
namespace {

using test::Case;
using test::Reached;

constexpr int kCalls = test::kSanitized ? 1500 : 10000;
constexpr std::size_t kMostBytes = 200 << 10;  ///< several slices, more than the slots of four blocks

/// A call that all ranks draw alike, for a communicator of so many blocks.
Case draw_case(std::mt19937& random, int world, int blocks, unsigned salt) {
  static const std::vector<test::Kind> kinds = test::all_kinds();
  const auto draw = [&](std::size_t below) { return static_cast<unsigned>(random() % below); };
  Case c;
  c.most_packets = test::packet_bytes(blocks);
  do {
    const test::Kind kind =
        draw(4) == 0 ? test::Kind{Collective::send, Algorithm::automatic} : kinds[draw(kinds.size())];
    c.collective = kind.collective;
    c.algorithm = kind.algorithm;
    c.type = static_cast<DataType>(draw(kDataTypes));
    c.op = static_cast<ReduceOp>(draw(kReduceOps));
    const unsigned size = draw(20);
    const std::size_t bytes = size == 0 ? draw(kMostBytes) : size < 4 ? draw(20000) : draw(600);
    c.count = bytes / size_of(c.type) / (c.spreads() ? static_cast<std::size_t>(world) : 1);
  } while (c.refused());
  c.in_place = draw(2) == 0;
  c.memory = static_cast<Reached>(draw(test::kReached));
  c.async = draw(2) == 0;
  c.scribbles = true;
  c.grouped = draw(2) == 0;
  c.root = static_cast<int>(draw(static_cast<unsigned>(world)));
  c.members = draw(1u << world) | 1u << c.root;
  c.salt = salt;
  return c;
}

/// A communicator's share of the calls: what it has outstanding, and memory for as many.
class Lane {
 public:
  Lane(Session& session, int blocks, std::uint64_t first_packet_use)
      : comm_(session.communicator({.blocks = blocks, .first_packet_use = first_packet_use})) {
    for (auto& place : places_) place.ground = std::make_unique<test::Ground>(comm_, kMostBytes);
  }

  void make(const Case& c, std::mt19937& own) {
    Place& place = places_[own() % places_.size()];  // every rank takes places, and waits, in an order of its own
    end(place, own);
    Case mine = c;
    mine.in_offset = own() % 65;
    mine.out_offset = own() % 65;
    place.trial = std::make_unique<test::Trial>(comm_, *place.ground, mine);
    if (c.async) return place.trial->start();
    place.trial->run();
    place.trial->check();
    place.trial.reset();
  }
  void end_all(std::mt19937& own) {
    for (Place& place : places_) end(place, own);
  }

 private:
  struct Place {
    std::unique_ptr<test::Ground> ground;
    std::unique_ptr<test::Trial> trial;
  };
  static void end(Place& place, std::mt19937& own) {
    if (!place.trial) return;
    place.trial->finish(own() % 2 == 0);
    place.trial->check();
    place.trial.reset();
  }

  Communicator comm_;
  std::array<Place, 5> places_;
};

/// N3 of CASES among others: every input becomes NaN as soon as its call has ended.
class MixedCalls : public testing::TestWithParam<int> {};

TEST_P(MixedCalls, GiveWhatScalarCodeGives) {
  test::on_threads(GetParam(), [](Session& session) {
    // Tags repeat at different moments: at the first use, after a few, after some hundred.
    constexpr std::uint64_t kRepeat = 0xffffffff;
    const std::uint64_t first_uses[] = {kRepeat - 2, kRepeat - 150, kRepeat, kRepeat - 40};
    std::vector<std::unique_ptr<Lane>> lanes;
    for (int b = 1; b <= 4; ++b)
      lanes.push_back(std::make_unique<Lane>(session, b, first_uses[static_cast<std::size_t>(b - 1)]));
    std::mt19937 shared(7), own(static_cast<unsigned>(session.rank() + 100));
    for (int call = 0; call < kCalls; ++call) {
      const int blocks = shared() % 8 < 5 ? 1 : 2 + static_cast<int>(shared() % 3);
      const Case c = draw_case(shared, session.size(), blocks, static_cast<unsigned>(call));
      Lane& lane = *lanes[static_cast<std::size_t>(blocks) - 1];
      if (own() % 32 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 400));
      lane.make(c, own);
    }
    for (auto& lane : lanes) lane->end_all(own);
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, MixedCalls, testing::Values(3, 5), testing::PrintToStringParamName());

/// Small calls alone, each right at the moment when tags repeat, with one rank always late.
TEST(PacketTags, MayRepeat) {
  test::on_threads(3, [](Session& session) {
    std::vector<test::Kind> kinds;
    for (const test::Kind& kind : test::all_kinds())
      if (kind.algorithm == Algorithm::packets) kinds.push_back(kind);
    for (unsigned before = 0; before <= 4; ++before)
      for (const std::size_t first : {std::size_t{0}, kinds.size() / 2}) {
        Communicator comm = session.communicator({.blocks = 2, .first_packet_use = 0xffffffffu - before});
        test::Ground ground(comm, 4096);
        for (unsigned call = 0; call < 8; ++call) {
          const test::Kind& kind = kinds[(first + call) % kinds.size()];
          Case c;
          c.collective = kind.collective;
          c.algorithm = kind.algorithm;
          c.count = 1 + call * 37;
          c.type = DataType::i32;
          c.salt = call;
          c.root = static_cast<int>(call % 3);
          c.scribbles = true;
          c.memory = Reached::any;
          if (session.rank() == static_cast<int>(before % 3))
            std::this_thread::sleep_for(std::chrono::microseconds(300));
          test::try_case(comm, ground, c);
        }
      }
  });
}

/// Messages of one pair and direction keep their order, whatever their sizes, memory and number in flight.
TEST(Messages, ArriveInTheOrderSent) {
  test::on_threads(3, [](Session& session) {
    Communicator comm = session.communicator();
    constexpr int kMessages = 40;
    constexpr std::size_t kLargest = 60000;
    const int me = session.rank(), n = session.size();
    auto mapped = comm.allocate<int>(kLargest);
    const auto length = [](int peer, int m) { return static_cast<std::size_t>(m * 37 + peer) * (m % 5 == 0 ? 40 : 1); };
    std::vector<std::vector<int>> sent, got;
    std::vector<Handle> handles;
    for (int m = 0; m < kMessages; ++m)
      for (int peer = 0; peer < n; ++peer) {
        if (peer == me) continue;
        sent.emplace_back(length(me, m), m * 1000 + me * 10 + peer);
        handles.push_back(comm.isend(sent.back().data(), sent.back().size(), peer));
      }
    for (int m = 0; m < kMessages; ++m)
      for (int peer = n - 1; peer >= 0; --peer) {
        if (peer == me) continue;
        got.emplace_back(length(peer, m), -1);
        comm.recv(got.back().data(), got.back().size(), peer);
        for (std::size_t i = 0; i < got.back().size(); ++i)
          ASSERT_EQ(got.back()[i], m * 1000 + peer * 10 + me)
              << "rank " << me << ", message " << m << " of rank " << peer << ", index " << i;
      }
    for (Handle& handle : handles) handle.wait();
  });
}

/// All ranks send first: small messages and messages far larger than any buffer.
TEST(Messages, InAGroupDoNotDependOnBuffers) {
  test::on_threads(5, [](Session& session) {
    Communicator comm = session.communicator();
    test::Ground ground(comm, 2 << 20);
    for (const std::size_t count : {std::size_t{1}, std::size_t{300}, std::size_t{500000}})
      for (const Reached memory : {Reached::peer_mapped, Reached::any, Reached::mixed})
        for (const bool async : {false, true}) {
          Case c;
          c.collective = Collective::send;
          c.count = count;
          c.memory = memory;
          c.async = async;
          c.salt = static_cast<unsigned>(count);
          test::try_case(comm, ground, c);
        }
  });
}

/// J2 of CASES: waiting ranks hand their core on: far more ranks than cores are slow in proportion, not stuck.
TEST(ManyRanks, ShareFewCores) {
  const auto start = std::chrono::steady_clock::now();
  constexpr int kRanks = 16, kRounds = test::kSanitized ? 50 : 1000;
  test::on_threads(kRanks, [](Session& session) {
    Communicator comm = session.communicator();
    for (int i = 0; i < kRounds; ++i) {
      comm.barrier();
      const int in = session.rank() + i;
      int out = -1;
      comm.all_reduce(&in, &out, 1, ReduceOp::sum);
      ASSERT_EQ(out, kRanks * i + kRanks * (kRanks - 1) / 2) << "rank " << session.rank() << ", round " << i;
    }
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 60) << kRounds << " rounds of a barrier and an all-reduce";
}

/// N4 of CASES: nothing of a new arena may be cleared once a peer can write to it.
TEST(NewCommunicators, MayBeUsedAtOnce) {
  constexpr int kRounds = test::kSanitized ? 40 : 500;
  test::on_threads(3, [](Session& session) {
    const std::vector<Algorithm> algorithms = test::algorithms_for(Collective::all_reduce);
    for (int round = 0; round < kRounds; ++round) {
      Communicator comm = session.communicator({.blocks = 1 + round % 4});
      if (session.rank() == round % 3) std::this_thread::sleep_for(std::chrono::microseconds(200));
      const int in = session.rank() + round;
      int out = -1;
      const Algorithm algorithm = algorithms[static_cast<std::size_t>(round) % algorithms.size()];
      comm.all_reduce(&in, &out, 1, ReduceOp::max, {.algorithm = algorithm});
      ASSERT_EQ(out, 2 + round) << "rank " << session.rank() << ", round " << round;
    }
  });
}

}  // namespace
}  // namespace tutti

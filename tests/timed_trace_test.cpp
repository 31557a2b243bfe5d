// What a run in virtual time tells of itself, and how large a world may be.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "tests/timed_worlds.hpp"

namespace tutti::timed {
namespace {

using model::Word;

Geometry slots_of_4_kib(int ranks, int blocks = 1) {
  return {.ranks = ranks,
          .blocks = blocks,
          .packet_blocks = blocks,
          .message_blocks = blocks,
          .slots = 3,
          .slot_bytes = std::max<std::size_t>(4096, least_slot_bytes(ranks)),
          .p2p_slots = 2,
          .p2p_slot_bytes = 4096,
          .packet_bytes = 1024};
}

/// Runs the case, alone in a world, and returns the world.
std::unique_ptr<World> run(const Machine& machine, const Geometry& geometry, const Case& c, Trace* trace,
                           Backing backing = Backing::none) {
  auto world = std::make_unique<World>(machine, geometry, backing);
  const Addresses buffers(*world, c);
  if (trace) world->record(trace);
  world->run([&](Rank& me) {
    if (!takes_part(c, me.rank())) return;
    const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
    me.call({&launch, 1});
  });
  return world;
}

std::string text_of(const At& at) {
  const char* const kinds[] = {"in", "out", "inbox", "outbox", "packets", "message", "elsewhere"};
  std::string text = kinds[static_cast<int>(at.kind)];
  text += " of " + std::to_string(at.rank);
  if (at.slot >= 0) text += " slot " + std::to_string(at.slot);
  if (at.sender >= 0) text += " from " + std::to_string(at.sender);
  return text + " + " + std::to_string(at.offset);
}

/// The words of one rank that moved something: "file: from, from -> to, bytes".
std::vector<std::string> moves_of(const Trace& trace, int rank) {
  std::vector<std::string> all;
  for (const Event& event : trace) {
    if (event.rank != rank || event.to.empty()) continue;
    std::string text = model::name_of(event.word);
    for (const At& at : event.from) text += (&at == event.from.data() ? " " : ", ") + text_of(at);
    text += " ->";
    for (const At& at : event.to) text += (&at == event.to.data() ? " " : ", ") + text_of(at);
    all.push_back(text + ", " + std::to_string(event.bytes));
  }
  return all;
}

TEST(ATrace, TellsWhatARingMoves) {
  Trace trace;
  run(plain_gpus(3), slots_of_4_kib(3), {.kernel = Kernel::ring_all_reduce, .count = 96, .mapped = Mapped::none},
      &trace);
  // Chunks of 128 bytes: rank 0 sends c0, adds to c2, ends the sum of c1, keeps c0, keeps c2.
  const std::vector<std::string> expected = {
      "copy in of 0 + 0 -> inbox of 1 slot 0 + 0, 128",
      "reduce inbox of 0 slot 0 + 0, in of 0 + 256 -> inbox of 1 slot 1 + 0, 128",
      "reduce inbox of 0 slot 1 + 0, in of 0 + 128 -> out of 0 + 128, inbox of 1 slot 2 + 0, 128",
      "copy inbox of 0 slot 2 + 0 -> out of 0 + 0, inbox of 1 slot 0 + 0, 128",
      "copy inbox of 0 slot 0 + 0 -> out of 0 + 256, 128"};
  EXPECT_EQ(moves_of(trace, 0), expected);
}

TEST(ATrace, TellsPacketsOutboxesAndMessages) {
  Trace trace;
  run(plain_gpus(2), slots_of_4_kib(2), {.kernel = Kernel::packets_all_reduce, .count = 100}, &trace);
  EXPECT_EQ(
      moves_of(trace, 1),
      (std::vector<std::string>{"put_packets in of 1 + 0 -> packets of 0 slot 0 from 1 + 0, 400",
                                "reduce_packets packets of 1 slot 0 from 0 + 0, in of 1 + 0 -> out of 1 + 0, 400"}));
  trace.clear();
  run(plain_gpus(2), slots_of_4_kib(2), {.kernel = Kernel::one_shot_all_reduce, .count = 100, .mapped = Mapped::none},
      &trace);
  EXPECT_EQ(moves_of(trace, 0),
            (std::vector<std::string>{"copy in of 0 + 0 -> outbox of 0 slot 0 + 0, 400",
                                      "reduce in of 0 + 0, outbox of 1 slot 0 + 0 -> out of 0 + 0, 400"}));
  trace.clear();
  run(plain_gpus(2), slots_of_4_kib(2), {.kernel = Kernel::send, .count = 1500, .to = 1, .mapped = Mapped::none},
      &trace);
  EXPECT_EQ(moves_of(trace, 1),
            (std::vector<std::string>{"copy message of 1 slot 0 from 0 + 0 -> out of 1 + 0, 4096",
                                      "copy message of 1 slot 1 from 0 + 0 -> out of 1 + 4096, 1904"}));
}

TEST(ATrace, NumbersTheSlotsOfEachBlockFrom0) {
  Trace trace;
  const Case c{.kernel = Kernel::ring_all_gather, .count = 20000, .blocks = 2, .mapped = Mapped::none};
  run(plain_gpus(3), slots_of_4_kib(3, 2), c, &trace);
  std::array<std::array<int, 3>, 2> uses{};  // [block][slot]
  for (const Event& event : trace)
    for (const At& at : event.to) {
      if (at.kind != At::Kind::inbox) continue;
      ASSERT_LT(at.slot, 3);
      ++uses[static_cast<std::size_t>(event.block)][static_cast<std::size_t>(at.slot)];
    }
  for (const auto& block : uses)
    for (const int slot : block) EXPECT_GT(slot, 0);
}

TEST(ATrace, CountsNoStepsOfEarlierCalls) {
  // The third message takes the slot of the first, whose credit is of an earlier call.
  World world(plain_gpus(2), slots_of_4_kib(2), Backing::none);
  const Case c{.kernel = Kernel::send, .count = 10, .to = 1, .mapped = Mapped::none};
  const Addresses buffers(world, c);
  Trace trace;
  world.record(&trace);
  world.run([&](Rank& me) {
    for (int i = 0; i < 4; ++i) {
      const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
      me.call({&launch, 1});
    }
  });
  for (const Event& event : trace) EXPECT_LE(event.step, event.rank) << "line " << event.line;
}

TEST(ATrace, KnowsTheLineOfEachWordAndItsTime) {
  Trace trace;
  run(plain_gpus(4), slots_of_4_kib(4), {.kernel = Kernel::ring_all_gather, .count = 3000}, &trace);
  std::map<int, double> ended;  // [rank]
  double began = 0;
  int waits = 0;
  for (const Event& event : trace) {
    EXPECT_TRUE(std::string_view(event.file).ends_with("kernels/ring.hpp")) << event.file;
    EXPECT_GT(event.line, 80);
    EXPECT_LT(event.line, 145);
    EXPECT_LE(event.begin, event.end);
    EXPECT_GE(event.begin, began) << "in the order in which words begin";
    began = event.begin;
    EXPECT_GE(event.begin, ended[event.rank]) << "one word of a block after the other";
    ended[event.rank] = event.end;
    if (event.word == Word::copy) {
      EXPECT_GE(event.arrived, event.end);  // each stores at the next rank
    }
    if (event.word != Word::wait || event.flags.purpose != Purpose::data) continue;
    ++waits;
    EXPECT_EQ(event.flags.peer, (event.rank + 3) % 4);
  }
  EXPECT_GT(waits, 4 * 3);
}

TEST(ATrace, ChangesNoTimes) {
  const Case c{.kernel = Kernel::tree_all_reduce, .count = 20000, .blocks = 2, .mapped = Mapped::none};
  const auto end_of = [&](Trace* trace, Backing backing) {
    World world(plain_gpus(5), slots_of_4_kib(5, 2), backing);
    const Addresses buffers(world, c);
    if (trace) world.record(trace);
    double end = 0;
    world.run([&](Rank& me) {
      const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
      me.call({&launch, 1});
      end = std::max(end, me.now());
    });
    return end;
  };
  Trace trace;
  const double without = end_of(nullptr, Backing::none);
  EXPECT_EQ(end_of(&trace, Backing::none), without);
  EXPECT_EQ(end_of(nullptr, Backing::real), without);
  EXPECT_GT(trace.size(), 100u);
}

TEST(Bytes, OnTheWireAreThePayloadAndWhatGoesWithIt) {
  const Case c{.kernel = Kernel::packets_all_reduce, .count = 100};
  const auto packets = run(plain_gpus(3), slots_of_4_kib(3), c, nullptr);
  EXPECT_EQ(packets->payload_bytes(0, 2), 400);
  EXPECT_EQ(packets->wire_bytes(0, 2), 800);
  EXPECT_EQ(packets->wire_bytes(1, 1), 0);
  // Four slices of 4 KiB go to the next rank: an entry to each, a flag for each slice and one for each credit.
  const Case ring{.kernel = Kernel::ring_all_gather, .count = 4096, .mapped = Mapped::none};
  const auto world = run(plain_gpus(3), slots_of_4_kib(3), ring, nullptr);
  EXPECT_EQ(world->payload_bytes(0, 1), 2 * 16384);
  EXPECT_EQ(world->payload_bytes(1, 0), 0);
  EXPECT_EQ(world->wire_bytes(0, 1), 2 * 16384 + 48 + 8 * 8);
  EXPECT_EQ(world->wire_bytes(1, 0), 48 + 8 * 8);
}

TEST(ManyCalls, BeginAfterOneAnotherAndAreAlikeOnceTheyAreInStep) {
  World world(plain_gpus(4), slots_of_4_kib(4), Backing::none);
  const Case c{.kernel = Kernel::two_shot_all_reduce, .count = 5000};
  const Addresses buffers(world, c);
  std::vector<double> times;
  world.run([&](Rank& me) {
    for (int i = 0; i < 5; ++i) {
      me.meet();
      const double begin = me.now();
      const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
      me.call({&launch, 1});
      if (me.rank() == 0) times.push_back(me.now() - begin);
    }
  });
  ASSERT_EQ(times.size(), 5u);
  for (const double time : times) EXPECT_NEAR(time, times[0], 1e-6);
}

TEST(GroupsOfMessages, AreUnderWayAtTheSameTime) {
  // Everyone sends to the next and receives from the one before, in one group: nobody waits for a turn.
  World world(plain_gpus(4), slots_of_4_kib(4), Backing::none);
  const Case c{.kernel = Kernel::send, .count = 50000, .mapped = Mapped::none};
  const Addresses buffers(world, c);
  std::vector<double> ends;
  world.run([&](Rank& me) {
    Launch group[2] = {{.kernel = Kernel::send, .call = buffers.call(c, me.rank())},
                       {.kernel = Kernel::recv, .call = buffers.call(c, me.rank())}};
    group[0].call.peer = (me.rank() + 1) % 4;
    group[1].call.peer = (me.rank() + 3) % 4;
    me.call(group);
    ends.push_back(me.now());
  });
  ASSERT_EQ(ends.size(), 4u);
  for (const double end : ends) EXPECT_NEAR(end, ends[0], 1e-6);
}

// Large worlds.

TEST(LargeWorlds, AreNotBoundByTheRanksOfACommunicator) {
  constexpr int kRanks = 1024;
  static_assert(kRanks > kMaxRanks);
  for (const Kernel kernel : {Kernel::tree_all_reduce, Kernel::packets_all_reduce, Kernel::dissemination_barrier,
                              Kernel::one_shot_all_reduce}) {
    const Case c{.kernel = kernel, .count = kernel == Kernel::dissemination_barrier ? 0u : 200u};
    Trace trace;
    run(plain_gpus(kRanks), slots_of_4_kib(kRanks), c, &trace);
    int steps = 0;
    for (const Event& event : trace) steps = std::max(steps, event.step);
    const double bytes = static_cast<double>(c.count * sizeof(float));
    EXPECT_EQ(steps, cost_of(kernel, kRanks, bytes, true, 1).steps) << tutti::name_of(kernel);
  }
}

}  // namespace
}  // namespace tutti::timed

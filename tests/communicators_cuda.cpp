// Many communicators on GPUs: over some of the ranks, at the same time, on several streams (CASES G1, G3, J1).
#include <chrono>
#include <random>
#include <thread>

#include "tests/gpu_trials_cuda.hpp"

namespace tutti {
namespace {

using namespace test;

class Communicators : public Gpu {};
TUTTI_ON_GPUS(Communicators, 2, 3, 4, 8);

constexpr std::size_t kCount = 1000;
const std::size_t kRoom = 8 * kCount + 64;

TEST_P(Communicators, OverSomeOfTheRanksReduceAmongThese) {
  on_ranks(2, [](Session& session) {
    Communicator world = session.communicator();
    auto memory = world.allocate<float>(2 * kRoom);
    // Every second rank, in the reverse order.
    Communicator half = world.split(world.rank() % 2, -world.rank());
    Communicator alone = world.split(world.rank(), 0);
    EXPECT_EQ(half.size(), (world.size() + 1 - world.rank() % 2) / 2);
    EXPECT_EQ(alone.size(), 1);
    for (Communicator* const comm : {&half, &alone, &world, &half})
      for (const Collective collective : kMovers)
        run_trial(*comm, memory.data(), kRoom, {.collective = collective, .count = kCount, .root = comm->size() - 1});
    // A child outlives its parent.
    world = {};
    run_trial(half, memory.data(), kRoom, {.collective = Collective::all_reduce, .count = kCount});
    // Its own memory, which the others do not map.
    auto own = half.allocate<float>(2 * kRoom);
    run_trial(half, own.data(), kRoom, {.collective = Collective::all_gather, .count = kCount});
    half = {};
    session.bootstrap_barrier();
    world = session.communicator();
    run_trial(world, own.data(), kRoom, {.collective = Collective::all_reduce, .count = kCount});
  });
}

TEST_P(Communicators, RefuseAColorOnAllRanksAlikeAndLeaveOutWhoHasNone) {
  on_ranks(2, [](Session& session) {
    Communicator world = session.communicator();
    for (const std::int64_t color : {std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{-2}}) {
      ErrorCode code{};
      const std::string what = error_of([&] { (void)world.split(world.rank() == 1 ? color : 0, 0); }, &code);
      EXPECT_EQ(code, ErrorCode::invalid_argument) << what;
    }
    Communicator some = world.split(world.rank() == 0 ? Communicator::kNoColor : 5, 0);
    if (world.rank() == 0) {
      EXPECT_THROW(some.barrier(), Error);
    } else {
      some.barrier();
    }
    world.barrier();
  });
}

// CASES G1.
TEST_P(Communicators, OrderTheCallsOfTwoStreamsThemselves) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank();
    auto memory = comm.allocate<int>(4 * kCount);
    fill(comm, memory.data(), rank, kCount);
    fill(comm, memory.data() + 2 * kCount, rank, kCount, 1);
    const Stream streams[2];
    std::mt19937 dice(static_cast<unsigned>(rank));
    for (int call = 0; call < amount(1000, 30); ++call) {
      for (std::size_t s = 0; s < 2; ++s) {
        int* const at = memory.data() + s * 2 * kCount;
        comm.all_reduce(at, at + kCount, kCount, ReduceOp::sum, {.stream = streams[s]});
      }
      if (dice() % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice() % 300));
    }
    for (std::size_t s = 0; s < 2; ++s) {
      streams[s].wait();
      expect(comm, memory.data() + (2 * s + 1) * kCount, kCount, "stream",
             [&](std::size_t i) { return sum_of(n, i + s); });
    }
  });
}

// CASES J1.
TEST_P(Communicators, AtTheSameTimeEndOrAreRefusedInWords) {
  on_ranks(2, [](Session& session) {
    std::vector<Communicator> all;
    std::string refusal;
    while (all.size() < 8 && refusal.empty()) {
      ErrorCode code{};
      const std::string what = error_of([&] { all.push_back(session.communicator()); }, &code);
      if (what == "no error") continue;
      refusal = what;
      EXPECT_EQ(code, ErrorCode::unsupported) << what;
      EXPECT_TRUE(holds(what, "to run at once")) << what;
    }
    ASSERT_GE(all.size(), 1u) << refusal;
    const int n = session.size(), rank = session.rank();
    auto memory = all[0].allocate<int>(all.size() * 2 * kCount);
    std::vector<Stream> streams(all.size());
    for (std::size_t c = 0; c < all.size(); ++c) fill(all[0], memory.data() + c * 2 * kCount, rank, kCount, c);
    for (int call = 0; call < amount(200, 8); ++call)
      for (std::size_t i = 0; i < all.size(); ++i) {
        // Each rank in another order: they do not wait for each other.
        const std::size_t c = (i + static_cast<std::size_t>(rank * call)) % all.size();
        int* const at = memory.data() + c * 2 * kCount;
        all[c].all_reduce(at, at + kCount, kCount, ReduceOp::sum, {.stream = streams[c]});
      }
    for (std::size_t c = 0; c < all.size(); ++c) {
      streams[c].wait();
      expect(all[0], memory.data() + (2 * c + 1) * kCount, kCount, "communicator",
             [&](std::size_t i) { return sum_of(n, i + c); });
    }
    // What ends makes room.
    all.clear();
    EXPECT_NO_THROW((void)session.communicator()) << "rank " << rank;
  });
}

}  // namespace
}  // namespace tutti

// Faults that users of other systems met, as inputs that would show them here. Where each row of the list is covered,
// if not in this file (file: test):
//
//   A2, A3  collectives_product_test: EveryCall (each algorithm, guards, counts around the world size, worlds 1 to 8
//   and
//           on); here the sizes up to 1 KiB one by one
//   A4      collectives_product_test: EveryCall (null and valid pointers, each followed by calls with data); here rings
//           and groups in which some have nothing
//   B1      here, under TUTTI_FULL=1
//   C1      collectives_covering_test (offsets of every pair of buffers); here ranks that differ
//   D1      collectives_product_test: EveryCall (legal forms); collectives_arguments_test: BadArguments (illegal ones)
//   D3, D4  here
//   E1, E3  collectives_errors_test: Mismatches, AMissingRank, ARankThatSkipsACall
//   G1      a session is used by one thread at a time, by contract; here two threads of a rank that take turns
//   G3      collectives_split_test: Splits
//   H1      collectives_resources_test: MakeAndDestroyCommunicatorsWithoutGrowth; collectives_split_test:
//           ThatAreDestroyedLeaveNothing
//   J1      collectives_split_test: ManyCommunicators
//   J2      collectives_mixed_test: ManyRanks
//   M1      collectives_numerics_test: GiveTheSameBitsOnEveryRankInEveryRunForEveryMemory; here two runs of a program
//   M3, M4  collectives_numerics_test: MinAndMax, Averages
//   N3      collectives_mixed_test: MixedCalls (every input becomes NaN as soon as the call has ended, ranks are late)
//   N4      collectives_mixed_test: NewCommunicators
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "tests/collectives_kinds.hpp"
#include "tests/collectives_outcomes.hpp"
#include "tests/collectives_trial.hpp"

namespace tutti {
namespace {

using test::Case;
using test::Kind;
using test::Reached;

/// A2: every size from one element to 1 KiB by every algorithm; elsewhere the library would round up to a vector.
TEST(EverySize, UpToAKibibyteIsServedByEveryAlgorithm) {
  for (const int ranks : {2, 3, 5, 8}) {
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      test::Ground ground(comm, 1024 * 8);
      const std::size_t step = test::full() ? 1 : test::kSanitized ? 61 : 5;
      unsigned salt = 0;
      for (const Kind& kind : test::all_kinds()) {
        if (kind.algorithm == Algorithm::automatic) continue;
        for (std::size_t bytes = 1 + static_cast<std::size_t>(kind.collective) % step; bytes <= 1024; bytes += step) {
          Case c;
          c.collective = kind.collective;
          c.algorithm = kind.algorithm;
          c.type = bytes % 4 == 0 ? DataType::f32 : bytes % 2 == 0 ? DataType::f16 : DataType::i8;
          c.count = bytes / size_of(c.type);
          c.memory = static_cast<Reached>(++salt % test::kReached);
          c.salt = salt;
          c.root = static_cast<int>(salt) % session.size();
          test::try_case(comm, ground, c);
        }
      }
    });
  }
}

/// A2: a large size that no vector, slice or chunk divides.
TEST(EverySize, AlsoALargePrimeOne) {
  if (!test::full()) GTEST_SKIP() << "40 MB of floats by every algorithm: set TUTTI_FULL=1";
  test::on_threads(
      3,
      [](Session& session) {
        Communicator comm = session.communicator();
        constexpr std::size_t kCount = 10556587;
        test::Ground ground(comm, (kCount + 3) * sizeof(float));
        for (const Kind& kind : test::all_kinds()) {
          if (kind.algorithm == Algorithm::packets) continue;
          Case c;
          c.collective = kind.collective;
          c.algorithm = kind.algorithm;
          c.count = c.spreads() ? kCount / 3 : kCount;
          c.memory = kind.algorithm == Algorithm::automatic ? Reached::any : Reached::peer_mapped;
          c.root = 1;
          test::try_case(comm, ground, c);
        }
      },
      120);
}

/// A4: a ring in which one rank sends nothing, and a group in which one rank has no peer at all.
TEST(EmptyMessages, AreMessagesToo) {
  test::on_threads(4, [](Session& session) {
    Communicator comm = session.communicator();
    const int me = session.rank(), next = (me + 1) % 4, previous = (me + 3) % 4;
    for (int empty = 0; empty < 4; ++empty)
      for (const bool null : {false, true}) {
        std::vector<int> out(300, me), in(300, -1);
        const auto length = [&](int rank) { return rank == empty ? std::size_t{0} : std::size_t{300}; };
        comm.group()
            .send(null && me == empty ? nullptr : out.data(), length(me), next)
            .recv(null && previous == empty ? nullptr : in.data(), length(previous), previous)
            .run();
        for (const int x : in) ASSERT_EQ(x, previous == empty ? -1 : previous) << "rank " << me;
        Group some = comm.group();
        if (me != empty)
          for (int peer = 0; peer < 4; ++peer)
            if (peer != me && peer != empty) some.send(out.data(), 7, peer).recv(in.data() + 10 * peer, 7, peer);
        some.run();
        for (int peer = 0; peer < 4; ++peer) {
          if (me == empty || peer == me || peer == empty) continue;
          ASSERT_EQ(in[static_cast<std::size_t>(10 * peer)], peer) << "rank " << me;
        }
        test::use(comm);
      }
  });
}

std::size_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kilobytes; info >> name >> kilobytes >> unit;)
    if (name == "MemAvailable:") return kilobytes << 10;
  return 0;
}

/// `numbers(i)` for whole periods of a prime length, small enough for sums in a byte.
template <class T, class F>
std::vector<char> pattern_of(F&& numbers) {
  constexpr std::size_t kPrime = 61, kPeriods = 4096;
  std::vector<char> bytes(kPrime * kPeriods * sizeof(T));
  for (std::size_t i = 0; i < kPrime * kPeriods; ++i) {
    const T value = test::element_of<T>(numbers(i % kPrime));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof value);
  }
  return bytes;
}

/// Compares elements [0, count) at `data` with elements of a pattern from `first` on.
template <class T>
void expect_pattern(const T* data, const std::vector<char>& pattern, std::size_t first, std::size_t count,
                    const std::string& what) {
  std::vector<char> expected((std::size_t{1} << 20) * sizeof(T));
  for (std::size_t at = 0; at < count;) {
    const std::size_t now = std::min(count - at, expected.size() / sizeof(T));
    test::paint(expected.data(), pattern, first + at, now, sizeof(T));
    const char* const got = reinterpret_cast<const char*>(data + at);
    for (std::size_t i = 0; std::memcmp(got, expected.data(), now * sizeof(T)) != 0; ++i) {
      const std::size_t byte = i * sizeof(T);
      if (std::memcmp(got + byte, expected.data() + byte, sizeof(T)) == 0) continue;
      ADD_FAILURE() << what << ", index " << at + i << ": expected "
                    << test::print_element(expected.data() + byte, data_type_v<T>) << ", got "
                    << test::print_element(got + byte, data_type_v<T>);
      return;
    }
    at += now;
  }
}

/// B1: bytes and elements past 2^31 and 2^32, in place throughout.
template <class T>
void check_huge(Collective collective, Algorithm algorithm, std::size_t count) {
  const bool spreads = collective != Collective::all_reduce, gathers = collective == Collective::all_gather;
  const std::size_t needed = 2 * count * sizeof(T) * (spreads ? 2 : 1) + (std::size_t{1} << 30);
  if (available_bytes() < needed)
    GTEST_SKIP() << "this needs " << (needed >> 20) << " MiB of memory, " << (available_bytes() >> 20) << " are there";
  const auto input = [](std::size_t i, int rank) { return static_cast<std::int64_t>((i + 7u * unsigned(rank)) % 61); };
  test::on_threads(
      2,
      [&](Session& session) {
        Communicator comm = session.communicator();
        const int rank = session.rank();
        const auto me = static_cast<std::size_t>(rank);
        auto x = comm.allocate<T>(count * (spreads ? 2 : 1));
        T* const own = x.data() + me * count;
        const auto given = [&](int of) { return pattern_of<T>([&](std::size_t i) { return input(i, of); }); };
        const auto sums = pattern_of<T>([&](std::size_t i) { return input(i, 0) + input(i, 1); });
        const std::size_t elements = collective == Collective::reduce_scatter ? 2 * count : count;
        test::paint(reinterpret_cast<char*>(gathers ? own : x.data()), given(rank), 0, elements, sizeof(T));
        const Options options{.algorithm = algorithm};
        const std::string what =
            std::string("rank ") + char('0' + rank) + ", " + name_of(collective) + " by " + name_of(algorithm);
        if (gathers) {
          comm.all_gather(own, x.data(), count, options);
          for (int r = 0; r < 2; ++r)
            expect_pattern(x.data() + static_cast<std::size_t>(r) * count, given(r), 0, count, what);
        } else if (spreads) {
          comm.reduce_scatter(x.data(), own, count, ReduceOp::sum, options);
          expect_pattern(own, sums, me * count, count, what);
        } else {
          comm.all_reduce(x.data(), x.data(), count, ReduceOp::sum, options);
          expect_pattern(x.data(), sums, 0, count, what);
        }
      },
      300);
}

TEST(HugeCounts, OfAllReduceAreRight) {
  if (!test::full()) GTEST_SKIP() << "2^31 elements and 2^32 bytes: set TUTTI_FULL=1";
  check_huge<std::int8_t>(Collective::all_reduce, Algorithm::two_shot, (std::size_t{1} << 31) + 5);
  check_huge<std::int8_t>(Collective::all_reduce, Algorithm::ring, (std::size_t{1} << 31) + 5);
  check_huge<f16>(Collective::all_reduce, Algorithm::automatic, (std::size_t{1} << 31) + 5);
}
TEST(HugeCounts, OfReduceScatterAreRight) {
  if (!test::full()) GTEST_SKIP() << "2^31 elements: set TUTTI_FULL=1";
  check_huge<std::int8_t>(Collective::reduce_scatter, Algorithm::direct, (std::size_t{1} << 31) + 5);
  check_huge<std::int8_t>(Collective::reduce_scatter, Algorithm::ring, (std::size_t{1} << 31) + 5);
}
TEST(HugeCounts, OfAllGatherAreRight) {
  if (!test::full()) GTEST_SKIP() << "2^31 elements: set TUTTI_FULL=1";
  check_huge<std::int8_t>(Collective::all_gather, Algorithm::direct, (std::size_t{1} << 31) + 5);
  check_huge<std::int8_t>(Collective::all_gather, Algorithm::bruck, (std::size_t{1} << 31) + 5);
}

/// B1: where memory is short, a refusal on all ranks that names the bytes.
TEST(HugeCounts, BeyondMemoryAreRefusedOnAllRanks) {
  test::on_threads(2, [](Session& session) {
    Communicator comm = session.communicator();
    const std::size_t bytes = std::size_t{1} << 46;
    const test::Outcome outcome = test::outcome_of([&] { (void)comm.allocate<char>(session.rank() == 0 ? bytes : 1); });
    EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::system) << outcome.what;
    EXPECT_TRUE(test::holds(outcome.what, "70368.7 GB")) << outcome.what;  // 2^46 bytes
    test::use(comm);
  });
}

/// B1: a bootstrap of as many ranks as there may be.
TEST(SixtyFourRanks, FindEachOther) {
  if (test::kSanitized) GTEST_SKIP() << "too many threads for a sanitizer";
  test::on_threads(
      64,
      [](Session& session) {
        Communicator comm = session.communicator();
        std::vector<int> all(64, -1);
        for (const Algorithm algorithm : {Algorithm::packets, Algorithm::bruck}) {
          const int mine = session.rank() * 3;
          comm.all_gather(&mine, all.data(), 1, {.algorithm = algorithm});
          for (int r = 0; r < 64; ++r) ASSERT_EQ(all[static_cast<std::size_t>(r)], r * 3) << "rank " << session.rank();
        }
      },
      120);
}

/// C1: buffers off their alignment by elements, send and receive by others, and only on one rank.
TEST(MisalignedBuffers, MayDifferBetweenRanks) {
  for (const int ranks : {2, 3}) {
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      test::Ground ground(comm, 4100 * sizeof(float) * 3);
      unsigned salt = 0;
      for (const Kind& kind : test::all_kinds())
        for (const DataType type : {DataType::i8, DataType::f16, DataType::bf16, DataType::f32})
          for (const std::size_t count : {1, 7, 8, 9, 4097}) {
            Case c;
            c.collective = kind.collective;
            c.algorithm = kind.algorithm;
            c.type = type;
            c.count = count;
            c.memory = static_cast<Reached>(++salt % test::kReached);
            c.salt = salt;
            c.in_place = salt % 3 == 0;
            const std::size_t width = size_of(type);
            if (salt % 2 == 0 || session.rank() == 1) {
              c.in_offset = (1 + 2 * (salt / 2 % 2)) * width;
              c.out_offset = (3 - 2 * (salt / 2 % 2)) * width;
            }
            test::try_case(comm, ground, c);
          }
    });
  }
}

/// D3: in place on a root that is not rank 0; then calls of one element with null off the root, again and again.
TEST(ReduceInPlace, ToTheLastRankIsRight) {
  for (const int ranks : {2, 5}) {
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      const int n = session.size(), root = n - 1;
      const bool here = session.rank() == root;
      for (const Algorithm algorithm : test::algorithms_for(Collective::reduce))
        for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1000000}}) {
          if (algorithm == Algorithm::packets && count > 1000) continue;
          std::vector<int> x(count);
          for (std::size_t i = 0; i < count; ++i) x[i] = session.rank() * 3 + static_cast<int>(i);
          comm.reduce(x.data(), here ? x.data() : nullptr, count, ReduceOp::sum, root, {.algorithm = algorithm});
          for (std::size_t i = 0; i < count; ++i) {
            const int own = session.rank() * 3 + static_cast<int>(i);
            ASSERT_EQ(x[i], here ? n * static_cast<int>(i) + 3 * n * (n - 1) / 2 : own)
                << "rank " << session.rank() << ", index " << i << " by " << name_of(algorithm);
          }
        }
      for (int call = 0; call < 20; ++call) {
        const double mine = session.rank() + call;
        double sum = -1;
        comm.reduce(&mine, here ? &sum : nullptr, 1, ReduceOp::sum, root);
        ASSERT_EQ(sum, here ? n * call + n * (n - 1) / 2 : -1) << "rank " << session.rank() << ", call " << call;
      }
    });
  }
}

/// D4: every algorithm in place, two doubles per rank: one sum is exact, the other the same on all ranks and close.
TEST(AllReduceInPlace, AgreesForEveryAlgorithm) {
  for (const int ranks : {4, 5}) {
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      const int n = session.size();
      double inverses = 0;
      for (int r = 1; r <= n; ++r) inverses += 1.0 / r;
      for (const Algorithm algorithm : test::algorithms_for(Collective::all_reduce)) {
        double first = 0;
        for (int repeat = 0; repeat < 10; ++repeat) {
          double x[2] = {static_cast<double>(session.rank()), 1.0 / (session.rank() + 1)};
          comm.all_reduce(x, x, 2, ReduceOp::sum, {.algorithm = algorithm});
          ASSERT_EQ(x[0], n * (n - 1) / 2) << "rank " << session.rank() << " by " << name_of(algorithm);
          ASSERT_NEAR(x[1], inverses, 1e-15) << "rank " << session.rank() << " by " << name_of(algorithm);
          if (repeat == 0) first = session.bootstrap_all_gather(x[1])[0];
          ASSERT_EQ(x[1], first) << "rank " << session.rank() << " by " << name_of(algorithm);
        }
      }
    });
  }
}

/// D4: what stood in the receive buffer before does not matter, here or off the root.
TEST(Reduce, RepeatedIntoTheSameBuffersIsRight) {
  for (const int ranks : {4, 5}) {
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      const int n = session.size();
      constexpr std::size_t kCount = 513;
      auto in = comm.allocate<int>(kCount), out = comm.allocate<int>(kCount);
      for (const Algorithm algorithm : test::algorithms_for(Collective::reduce))
        for (int repeat = 0; repeat < 25; ++repeat) {
          const int root = repeat % n;
          for (std::size_t i = 0; i < kCount; ++i) in[i] = session.rank() + static_cast<int>(i);
          if (session.rank() != root) std::fill(out.begin(), out.end(), 0);
          comm.reduce(in.data(), out.data(), kCount, ReduceOp::sum, root, {.algorithm = algorithm});
          for (std::size_t i = 0; i < kCount; ++i)
            ASSERT_EQ(out[i], session.rank() == root ? n * static_cast<int>(i) + n * (n - 1) / 2 : 0)
                << "rank " << session.rank() << ", index " << i << " by " << name_of(algorithm) << ", repeat "
                << repeat;
        }
    });
  }
}

/// Hands the turn to one of several threads, in a given order.
class Turns {
 public:
  void take(int turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == turn; });
  }
  void pass() {
    {
      const std::lock_guard lock(mutex_);
      ++turn_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int turn_ = 0;
};

/// G1: the contract is one thread at a time, whichever; two threads of a rank that take turns have it.
TEST(TwoThreadsOfARank, MayTakeTurns) {
  constexpr int kCalls = test::kSanitized ? 100 : 2000;
  test::on_threads(2, [](Session& session) {
    Communicator comm = session.communicator();
    Turns turns;
    const auto calls = [&](int first) {
      for (int call = first; call < kCalls; call += 2) {
        turns.take(call);
        if ((call + session.rank()) % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        const int mine = session.rank() + call;
        int sum = -1;
        if (call % 3 == 0) {
          comm.all_reduce_async(&mine, &sum, 1, ReduceOp::sum).wait();
        } else {
          comm.all_reduce(&mine, &sum, 1, ReduceOp::sum);
        }
        EXPECT_EQ(sum, 2 * call + 1) << "rank " << session.rank();
        turns.pass();
      }
    };
    std::thread other(calls, 1);
    calls(0);
    other.join();
  });
}

/// M1: the same program twice: every algorithm has the same bits again, on all ranks.
TEST(ASecondRun, HasTheSameBits) {
  const auto hashes = [](int ranks) {
    std::map<std::string, std::uint64_t> all;
    test::on_threads(ranks, [&](Session& session) {
      Communicator comm = session.communicator();
      constexpr std::size_t kCount = 20011;
      std::vector<float> in(kCount), out(kCount);
      for (std::size_t i = 0; i < kCount; ++i)  // no sum of these is exact
        in[i] = 1.0f / static_cast<float>(1 + i % 97 + static_cast<std::size_t>(session.rank()) * 3);
      for (const Collective collective : {Collective::all_reduce, Collective::reduce})
        for (const Algorithm algorithm : test::algorithms_for(collective)) {
          const std::size_t count = algorithm == Algorithm::packets ? 2000 : kCount;
          if (collective == Collective::all_reduce) {
            comm.all_reduce(in.data(), out.data(), count, ReduceOp::sum, {.algorithm = algorithm});
          } else {
            comm.reduce(in.data(), out.data(), count, ReduceOp::sum, 0, {.algorithm = algorithm});
          }
          std::uint64_t hash = 0;
          for (std::size_t i = 0; i < count; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, &out[i], sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3u;
          }
          if (session.rank() == 0) all[std::string(name_of(collective)) + " by " + name_of(algorithm)] = hash;
        }
    });
    return all;
  };
  for (const int ranks : {3, 4, 7, 8}) {
    const auto first = hashes(ranks);
    EXPECT_GE(first.size(), 11u);
    EXPECT_EQ(hashes(ranks), first) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace tutti

// What collectives promise about numbers: the same bits on all ranks, in every run, for every memory; sums in rank
// order where an algorithm says so; one rule for NaN and zeros; averages that neither overflow nor vanish.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/collectives_kinds.hpp"

namespace tutti {
namespace {

/// Any finite number of T over a wide range of exponents, sign and mantissa drawn too.
template <class T>
T wild(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  if constexpr (std::is_same_v<T, f16>) {
    return {static_cast<std::uint16_t>((bits & 0x83ff) | (1 + (bits >> 16) % 25) << 10)};
  } else if constexpr (std::is_same_v<T, bf16>) {
    return {static_cast<std::uint16_t>((bits & 0x807f) | (87 + (bits >> 16) % 80) << 7)};
  } else {
    const auto mantissa = static_cast<T>(static_cast<std::int64_t>(bits) >> 11);
    return static_cast<T>(std::ldexp(mantissa, static_cast<int>(bits % 80) - 90));
  }
}

template <class T>
std::vector<T> wild_input(int rank, std::size_t count) {
  std::mt19937_64 random(static_cast<unsigned>(rank) * 7919 + 17);
  std::vector<T> values(count);
  for (T& value : values) value = wild<T>(random);
  return values;
}

/// The sum as documented for algorithms in rank order: from rank 0 up, 16-bit types in f32, rounded once.
template <class T>
std::vector<T> sum_in_rank_order(int ranks, std::size_t count) {
  using Wide = std::conditional_t<test::is_half<T>, float, T>;
  std::vector<Wide> sums(count);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<T> input = wild_input<T>(r, count);
    for (std::size_t i = 0; i < count; ++i) {
      Wide value;
      if constexpr (test::is_half<T>) {
        value = to_float(input[i]);
      } else {
        value = input[i];
      }
      sums[i] = r == 0 ? value : sums[i] + value;
    }
  }
  std::vector<T> rounded(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (test::is_half<T>) {
      rounded[i] = from_float<T>(sums[i]);
    } else {
      rounded[i] = sums[i];
    }
  }
  return rounded;
}

template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const T& value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

std::vector<Algorithm> all_algorithms(Collective collective) {
  std::vector<Algorithm> all = test::algorithms_for(collective);
  all.push_back(Algorithm::automatic);
  return all;
}
/// Packets carry small calls only, narrow types are not averaged by hops.
bool serves(Algorithm algorithm, std::size_t bytes, DataType type, ReduceOp op) {
  test::Case c;
  c.algorithm = algorithm;
  c.count = bytes / size_of(type);
  c.type = type;
  c.op = op;
  return !c.refused();
}

/// One all-reduce of `input` on this rank, in the memory asked for.
template <class T>
std::vector<T> sum_of(const std::vector<T>& input, Communicator& comm, Buffer<T>& mapped, Algorithm algorithm,
                      bool in_mapped) {
  const std::size_t count = input.size();
  std::vector<T> own(2 * count);
  T* const x = in_mapped ? mapped.data() : own.data();
  std::copy(input.begin(), input.end(), x);
  comm.all_reduce(x, x + count, count, ReduceOp::sum, {.algorithm = algorithm});
  return {x + count, x + 2 * count};
}

const std::vector<int> kWorlds = test::kSanitized ? std::vector<int>{3} : std::vector<int>{3, 4, 5, 6, 7, 8};

class Worlds : public testing::TestWithParam<int> {};

template <class T>
void check_same_bits(Session& session) {
  Communicator comm = session.communicator(), again = session.communicator();
  constexpr std::size_t kMost = test::kSanitized ? 20011 : 70001;
  Buffer<T> mapped = comm.allocate<T>(2 * kMost);
  for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{5003}, kMost}) {
    const std::vector<T> input = wild_input<T>(session.rank(), count);
    const std::vector<T> in_order = sum_in_rank_order<T>(session.size(), count);
    for (const Algorithm algorithm : all_algorithms(Collective::all_reduce)) {
      if (!serves(algorithm, count * sizeof(T), data_type_v<T>, ReduceOp::sum)) continue;
      std::uint64_t first = 0;
      for (int run = 0; run < 4; ++run) {
        // Memory: all mapped, none, only even ranks; and once more on another communicator.
        const bool in_mapped = run == 0 || (run == 2 && session.rank() % 2 == 0);
        const auto sum = sum_of(input, run == 3 ? again : comm, mapped, algorithm, in_mapped);
        const std::uint64_t mine = hash_of(sum);
        if (run == 0) first = mine;
        const auto hashes = session.bootstrap_all_gather(mine);
        for (std::size_t r = 0; r < hashes.size(); ++r)
          ASSERT_EQ(hashes[r], first) << "rank " << r << " against rank " << session.rank() << " in run " << run << ", "
                                      << name_of(data_type_v<T>) << " count " << count << " by " << name_of(algorithm);
        if (test::Case{.algorithm = algorithm}.reduces_by_hops()) continue;
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(std::memcmp(&sum[i], &in_order[i], sizeof(T)), 0)
              << "rank " << session.rank() << ", " << name_of(data_type_v<T>) << " by " << name_of(algorithm)
              << ", index " << i << " of " << count << ": not the sum in rank order";
      }
    }
  }
}

/// M1 of CASES: every algorithm, worlds 3 to 8.
TEST_P(Worlds, GiveTheSameBitsOnEveryRankInEveryRunForEveryMemory) {
  test::on_threads(GetParam(), check_same_bits<float>);
  test::on_threads(GetParam(), check_same_bits<f16>);
  test::on_threads(GetParam(), check_same_bits<bf16>);
  if (!test::kSanitized) test::on_threads(GetParam(), check_same_bits<double>);
}

TEST_P(Worlds, ReduceScatterThenAllGatherIsAllReduceBitForBit) {
  test::on_threads(GetParam(), [](Session& session) {
    Communicator comm = session.communicator();
    const auto n = static_cast<std::size_t>(session.size());
    for (const std::size_t share : {std::size_t{1}, std::size_t{64}, std::size_t{9001}}) {
      const std::vector<float> input = wild_input<float>(session.rank(), share * n);
      std::vector<float> part(share), gathered(share * n), reduced(share * n);
      comm.reduce_scatter(input.data(), part.data(), share, ReduceOp::sum);
      comm.all_gather(part.data(), gathered.data(), share);
      comm.all_reduce(input.data(), reduced.data(), share * n, ReduceOp::sum);
      for (std::size_t i = 0; i < reduced.size(); ++i)
        ASSERT_EQ(bits_of(gathered[i]), bits_of(reduced[i])) << "rank " << session.rank() << ", index " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Worlds, testing::ValuesIn(kWorlds), testing::PrintToStringParamName());

// ---- NaN, infinities, zeros

constexpr int kRanks = 4;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// What each rank holds, and what min and max must be.
struct Special {
  double held[kRanks];
  double min, max;
};
constexpr Special kSpecials[] = {
    {{kNan, 1, 2, 3}, kNan, kNan},
    {{1, kNan, 2, 3}, kNan, kNan},
    {{1, 2, kNan, 3}, kNan, kNan},
    {{1, 2, 3, kNan}, kNan, kNan},
    {{kNan, -kInfinity, kInfinity, 0}, kNan, kNan},
    {{3, kNan, 2, kNan}, kNan, kNan},
    {{kNan, kNan, kNan, kNan}, kNan, kNan},
    {{1, -kInfinity, kInfinity, 2}, -kInfinity, kInfinity},
    {{kInfinity, kInfinity, kInfinity, kInfinity}, kInfinity, kInfinity},
    {{0.0, -0.0, 0.0, 0.0}, -0.0, 0.0},
    {{-0.0, -0.0, -0.0, 0.0}, -0.0, 0.0},
    {{-0.0, 0.0, 5, -5}, -5, 5},
    {{-0.0, -0.0, -0.0, -0.0}, -0.0, -0.0},
    {{4, 4, 2, 3}, 2, 4},
};

template <class T>
T from_double(double value) {
  if constexpr (test::is_half<T>) {
    return from_float<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}
template <class T>
double to_double(T value) {
  if constexpr (test::is_half<T>) {
    return to_float(value);
  } else {
    return value;
  }
}
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
void check_specials(Session& session) {
  Communicator comm = session.communicator();
  // Every special meets every lane of a vector and the tail after the last whole one.
  for (const std::size_t count : {std::size_t{1}, std::size_t{13}, std::size_t{967}, std::size_t{30011}})
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      const auto special = [](std::size_t i) -> const Special& { return kSpecials[i % std::size(kSpecials)]; };
      const auto check = [&](const T* out, std::size_t first, std::size_t elements, const char* what) {
        for (std::size_t i = 0; i < elements; ++i) {
          const double expected = op == ReduceOp::min ? special(first + i).min : special(first + i).max;
          ASSERT_TRUE(same(to_double(out[i]), expected))
              << what << " " << name_of(data_type_v<T>) << " " << name_of(op) << ", rank " << session.rank()
              << ", index " << i << " of " << elements << ": expected " << expected << ", got " << to_double(out[i]);
        }
      };
      const auto n = static_cast<std::size_t>(kRanks);
      std::vector<T> in(count * n), out(count);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = from_double<T>(special(i).held[session.rank()]);
      for (const Algorithm algorithm : all_algorithms(Collective::all_reduce)) {
        if (!serves(algorithm, count * sizeof(T), data_type_v<T>, op)) continue;
        comm.all_reduce(in.data(), out.data(), count, op, {.algorithm = algorithm});
        check(out.data(), 0, count, name_of(algorithm));
      }
      for (const Algorithm algorithm : all_algorithms(Collective::reduce)) {
        if (!serves(algorithm, count * sizeof(T), data_type_v<T>, op)) continue;
        const int root = static_cast<int>(count) % kRanks;
        comm.reduce(in.data(), out.data(), count, op, root, {.algorithm = algorithm});
        if (session.rank() == root) check(out.data(), 0, count, "reduce");
      }
      for (const Algorithm algorithm : all_algorithms(Collective::reduce_scatter)) {
        if (!serves(algorithm, count * sizeof(T), data_type_v<T>, op)) continue;
        comm.reduce_scatter(in.data(), out.data(), count, op, {.algorithm = algorithm});
        check(out.data(), count * static_cast<std::size_t>(session.rank()), count, "reduce_scatter");
      }
    }
}

/// M3 of CASES.
TEST(MinAndMax, LetNanWinAndOrderZerosWhicheverRankHoldsThem) {
  test::on_threads(kRanks, check_specials<float>);
  test::on_threads(kRanks, check_specials<double>);
  test::on_threads(kRanks, check_specials<f16>);
  test::on_threads(kRanks, check_specials<bf16>);
}

// ---- Averages

/// All elements of all ranks are `values[rank]`; the average must be `expected` by every algorithm that averages T.
template <class T>
void check_average(Communicator& comm, T mine, T expected) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{37}, std::size_t{40000}}) {
    const auto n = static_cast<std::size_t>(comm.size());
    std::vector<T> in(count * n, mine), out(count);
    const auto check = [&](const char* what) {
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(std::memcmp(&out[i], &expected, sizeof(T)), 0)
            << what << " of " << name_of(data_type_v<T>) << " over " << n << " ranks, rank " << comm.rank()
            << ", index " << i << ": expected " << to_double(expected) << ", got " << to_double(out[i]);
    };
    for (const Algorithm algorithm : all_algorithms(Collective::all_reduce)) {
      if (!serves(algorithm, count * sizeof(T), data_type_v<T>, ReduceOp::avg)) continue;
      comm.all_reduce(in.data(), out.data(), count, ReduceOp::avg, {.algorithm = algorithm});
      check(name_of(algorithm));
    }
    for (const Algorithm algorithm : all_algorithms(Collective::reduce_scatter)) {
      if (!serves(algorithm, count * sizeof(T), data_type_v<T>, ReduceOp::avg)) continue;
      comm.reduce_scatter(in.data(), out.data(), count, ReduceOp::avg, {.algorithm = algorithm});
      check("reduce_scatter");
    }
    for (const Algorithm algorithm : all_algorithms(Collective::reduce)) {
      if (!serves(algorithm, count * sizeof(T), data_type_v<T>, ReduceOp::avg)) continue;
      const int root = comm.size() - 1;
      comm.reduce(in.data(), out.data(), count, ReduceOp::avg, root, {.algorithm = algorithm});
      if (comm.rank() == root) check("reduce");
    }
  }
}

/// M4 of CASES.
TEST(Averages, NeitherOverflowNorVanish) {
  for (const int ranks : {2, 3, 5, 8}) {
    if (test::kSanitized && ranks != 3) continue;
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      const int n = session.size(), rank = session.rank();
      check_average(comm, from_float<f16>(60000), from_float<f16>(60000));
      check_average(comm, f16{1}, f16{1});  // the smallest subnormal
      check_average<std::int8_t>(comm, 127, 127);
      check_average<std::int8_t>(comm, -128, -128);
      check_average<std::uint8_t>(comm, 255, 255);
      check_average<std::int32_t>(comm, std::numeric_limits<std::int32_t>::max(),
                                  std::numeric_limits<std::int32_t>::max());
      check_average<std::uint32_t>(comm, 0xffffffff, 0xffffffff);
      check_average<std::int32_t>(comm, rank + 1, (n + 1) / 2);
      // Toward zero: the sum -1 or 1 alone gives 0, and negative averages are cut like positive ones.
      check_average<std::int32_t>(comm, rank == 0 ? -1 : 0, 0);
      check_average<std::int64_t>(comm, -(rank + 1), -((n + 1) / 2));
      check_average<std::int8_t>(comm, static_cast<std::int8_t>(rank == n - 1 ? -n - 1 : 0),
                                 static_cast<std::int8_t>(-1));
    });
  }
}

}  // namespace
}  // namespace tutti

// The numbers that tutti-bench prints: bandwidths, medians, sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/bandwidth.hpp"
#include "bench/sizes.hpp"
#include "bench/statistics.hpp"

namespace tutti::bench {
namespace {

TEST(Bandwidth, HasTheFactorsOfNcclTests) {
  const int worlds[] = {1, 2, 3, 4, 8};
  for (int n : worlds) {
    const double any = n > 1 ? 1 : 0;  // at one rank no link is used
    const double parts = (n - 1.0) / n;
    EXPECT_DOUBLE_EQ(bus_factor(Operation::all_reduce, n), 2 * parts) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::reduce_scatter, n), parts) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::all_gather, n), parts) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::gather, n), parts) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::scatter, n), parts) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::all_to_all, n), parts) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::broadcast, n), any) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::reduce, n), any) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::send_recv, n), any) << n << " ranks";
    EXPECT_DOUBLE_EQ(bus_factor(Operation::barrier, n), 0) << n << " ranks";
  }
}

TEST(Bandwidth, IsBytesOverTimeAndThenTheFactor) {
  EXPECT_DOUBLE_EQ(algbw(std::size_t{3} << 30, 1.5), 2 * kGiB);
  EXPECT_DOUBLE_EQ(busbw(Operation::all_reduce, 8, 8000, 1e-6), 14e9);
  EXPECT_DOUBLE_EQ(busbw(Operation::all_gather, 8, 8000, 1e-6), 7e9);
  EXPECT_DOUBLE_EQ(busbw(Operation::broadcast, 8, 8000, 1e-6), 8e9);
  EXPECT_DOUBLE_EQ(busbw(Operation::reduce, 3, 8000, 1e-6), 8e9);
  EXPECT_DOUBLE_EQ(busbw(Operation::gather, 2, 8000, 1e-6), 4e9);
  EXPECT_DOUBLE_EQ(busbw(Operation::all_to_all, 8, 8000, 1e-6), 7e9);
}

TEST(Bandwidth, OfOneRankIsNoBusBandwidth) {
  for (int i = 0; i < kOperations; ++i)
    EXPECT_EQ(busbw(static_cast<Operation>(i), 1, 1 << 20, 1e-3), 0) << name_of(static_cast<Operation>(i));
  EXPECT_EQ(algbw(1 << 20, 0), 0) << "no time at all must not give an infinite figure";
}

TEST(Bandwidth, OfTheLectureLosesTheFactorNForReduceScatter) {
  // The recorded run: 104,857,600 f32 per rank, four ranks; 2.11 and 3.92 ms.
  const std::size_t output = std::size_t{104857600} * 4;
  EXPECT_NEAR(lecture_figure(Operation::all_reduce, 4, output, 2.11e-3) / kGiB, 277.7, 0.1);
  EXPECT_NEAR(lecture_figure(Operation::reduce_scatter, 4, output, 3.92e-3) / kGiB, 74.7, 0.1);
  EXPECT_NEAR(busbw(Operation::all_reduce, 4, output, 2.11e-3) / kGB, 298.2, 0.1);
  EXPECT_NEAR(busbw(Operation::reduce_scatter, 4, 4 * output, 3.92e-3) / kGB, 321.0, 0.1);
}

TEST(Statistics, TheMedianIsTheMiddle) {
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 9, 2}), 3);
}

TEST(Statistics, TheIntervalIsThePairOfTheBinomialTable) {
  // Tables of confidence intervals for the median: n = 15 -> 4th and 12th, 20 -> 6th and 15th, 75 -> 29th and 47th.
  const std::tuple<int, int, int> table[] = {{5, 1, 5}, {6, 1, 6}, {9, 2, 8}, {15, 4, 12}, {20, 6, 15}, {75, 29, 47}};
  for (auto [n, low, high] : table) {
    std::vector<double> values;
    for (int i = n; i >= 1; --i) values.push_back(i);
    EXPECT_EQ(median_interval(values), std::pair(1.0 * low, 1.0 * high)) << n << " values";
  }
}

TEST(Statistics, TheIntervalHoldsTheTrueMedianInNineteenOfTwentyTries) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> skewed(0, 1);  // its median is 1
  int held = 0;
  const int tries = 4000;
  for (int i = 0; i < tries; ++i) {
    std::vector<double> values(15);
    for (double& value : values) value = skewed(random);
    const auto [low, high] = median_interval(values);
    held += low <= 1 && 1 <= high;
  }
  EXPECT_GT(held, tries * 0.95);
  EXPECT_LT(held, tries * 0.98) << "the interval is wider than it needs to be";
}

TEST(Sizes, AreReadIn1024BasedUnits) {
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("4K"), 4096u);
  EXPECT_EQ(parse_size("64M"), 64u << 20);
  EXPECT_EQ(parse_size("2G"), std::size_t{2} << 30);
  EXPECT_EQ(parse_size("0"), 0u);
}

TEST(Sizes, ThatAreNoSizesAreRefused) {
  for (const char* text : {"", "K", "8KB", "8 K", " 8", "-8", "+8", "0x10", "1e6", "1.5M", "1T", "M8",
                           "9223372036854775808", "99999999999G", "18446744073709551617"})
    EXPECT_EQ(parse_size(text), std::nullopt) << '"' << text << '"';
}

TEST(Sizes, GrowByFactorOrStepAndEndAtTheLast) {
  EXPECT_EQ((SizeRange{8, 64, 0, 2}.sizes(99)), (std::vector<std::size_t>{8, 16, 32, 64}));
  EXPECT_EQ((SizeRange{8, 63, 0, 2}.sizes(99)), (std::vector<std::size_t>{8, 16, 32}));
  EXPECT_EQ((SizeRange{64 << 20, 70 << 20, 2 << 20, 2}.sizes(99)).size(), 4u);
  EXPECT_EQ((SizeRange{2, 9, 0, 1.5}.sizes(99)), (std::vector<std::size_t>{2, 3, 4, 6, 9}));
  EXPECT_EQ((SizeRange{1, 100, 0, 1.0000001}.sizes(10)).size(), 11u) << "must grow by something and stop at the limit";
  const std::size_t huge = std::size_t{1} << 62;
  EXPECT_EQ((SizeRange{huge, huge + 5, huge, 2}.sizes(99)), (std::vector<std::size_t>{huge})) << "overflow";
}

TEST(Sizes, OfScatteredCollectivesAreTrimmedToWholeElementsPerRank) {
  Case shape;
  shape.operation = Operation::reduce_scatter;
  shape.ranks = 3;
  const Case c = case_of(100, shape);
  EXPECT_EQ(c.count, 8u);
  EXPECT_EQ(c.bytes, 96u) << "the size column says what is really used";
  EXPECT_EQ(c.in_count(), 24u);
  EXPECT_EQ(c.out_count(), 8u);
  EXPECT_EQ(case_of(11, shape).count, 0u) << "fewer than one element per rank";
  shape.operation = Operation::all_gather;
  EXPECT_EQ(case_of(100, shape).bytes, 96u);
  EXPECT_EQ(case_of(100, shape).out_count(), 24u);
  shape.operation = Operation::all_reduce;
  EXPECT_EQ(case_of(102, shape).bytes, 100u);
  shape.operation = Operation::reduce;
  EXPECT_EQ(case_of(102, shape).bytes, 100u);
}

TEST(Sizes, OfRootedCollectivesAndAllToAllCountTheBufferThatHoldsAllParts) {
  Case shape;
  shape.ranks = 4;
  shape.root = 2;
  const std::tuple<Operation, std::size_t, std::size_t> table[] = {
      // elements in and out of who has all of it
      {Operation::gather, 8, 32},
      {Operation::scatter, 32, 8},
      {Operation::all_to_all, 32, 32},
  };
  for (const auto& [operation, in, out] : table) {
    shape.operation = operation;
    const Case c = case_of(128, shape);
    EXPECT_EQ(c.bytes, 128u) << name_of(operation);
    EXPECT_EQ(c.count, 8u) << name_of(operation);
    EXPECT_EQ(c.in_count(), in) << name_of(operation);
    EXPECT_EQ(c.out_count(), out) << name_of(operation);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(c.has_in(rank), operation != Operation::scatter || rank == 2) << name_of(operation) << " " << rank;
      EXPECT_EQ(c.has_out(rank), operation != Operation::gather || rank == 2) << name_of(operation) << " " << rank;
    }
  }
}

TEST(Readable, DurationsAndBytesChooseTheirUnit) {
  EXPECT_EQ(readable_duration(12.346e-6), "12.35 us");
  EXPECT_EQ(readable_duration(0.00216), "2.16 ms");
  EXPECT_EQ(readable_duration(75), "75.00 s");
  EXPECT_EQ(readable_bytes(419430400), "400 MiB");
  EXPECT_EQ(readable_bytes(1000), "1000 B");
  EXPECT_EQ(exact_size(64 << 20), "64M");
  EXPECT_EQ(exact_size(1000), "1000");
}

}  // namespace
}  // namespace tutti::bench

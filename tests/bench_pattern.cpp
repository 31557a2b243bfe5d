// Inputs with exact results, and that a wrong result is counted.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "bench/pattern.hpp"
#include "kernels/half.hpp"

namespace tutti::bench {
namespace {

constexpr int kWorlds[] = {1, 2, 3, 4, 7, 8, 16};

// What the elements of every rank reduce to, in rank order or against it, computed in T.
template <class T>
std::vector<T> reduced(const Pattern& pattern, ReduceOp op, int ranks, std::size_t count, bool backwards) {
  std::vector<T> result(count), input(count);
  for (int i = 0; i < ranks; ++i) {
    pattern.fill_input(input.data(), count, backwards ? ranks - 1 - i : i, 5);
    for (std::size_t k = 0; k < count; ++k) {
      T& r = result[k];
      const T x = input[k];
      if (i == 0)
        r = x;
      else if (op == ReduceOp::prod)
        r = static_cast<T>(r * x);
      else if (op == ReduceOp::min)
        r = x < r ? x : r;
      else if (op == ReduceOp::max)
        r = x > r ? x : r;
      else
        r = static_cast<T>(r + x);
    }
  }
  if (op == ReduceOp::avg)
    for (T& r : result) r = static_cast<T>(r / static_cast<T>(ranks));
  return result;
}

TEST(Pattern, ReducesToTheSameBitsInAnyOrderForEveryTypeAndOp) {
  const std::size_t count = 2500;
  for (int type = 0; type < kDataTypes; ++type)
    dispatch(static_cast<DataType>(type), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_arithmetic_v<T>)
        for (int op = 0; op < kReduceOps; ++op)
          for (int ranks : kWorlds) {
            if (sizeof(T) == 1 && op == static_cast<int>(ReduceOp::avg) && ranks > 8) continue;  // sums beyond 127
            const Pattern pattern(static_cast<DataType>(type), static_cast<ReduceOp>(op), ranks);
            for (bool backwards : {false, true}) {
              const auto result = reduced<T>(pattern, static_cast<ReduceOp>(op), ranks, count, backwards);
              EXPECT_EQ(pattern.wrong_results(result.data(), count, 5), 0u)
                  << name_of(static_cast<DataType>(type)) << ' ' << name_of(static_cast<ReduceOp>(op)) << ' ' << ranks
                  << " ranks";
            }
          }
    });
}

TEST(Pattern, HoldsSmallIntegersThatSixteenBitTypesRepresent) {
  const std::size_t count = Pattern::kPeriod;
  for (int op = 0; op < kReduceOps; ++op)
    for (int ranks : kWorlds) {
      const Pattern f32(DataType::f32, static_cast<ReduceOp>(op), ranks);
      const Pattern half(DataType::f16, static_cast<ReduceOp>(op), ranks);
      const Pattern brain(DataType::bf16, static_cast<ReduceOp>(op), ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<float> wide(count);
        std::vector<f16> halves(count);
        std::vector<bf16> brains(count);
        f32.fill_input(wide.data(), count, rank, 0);
        half.fill_input(halves.data(), count, rank, 0);
        brain.fill_input(brains.data(), count, rank, 0);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(to_float(halves[i]), wide[i]) << "rank " << rank << " index " << i;
          ASSERT_EQ(to_float(brains[i]), wide[i]) << "rank " << rank << " index " << i;
        }
      }
    }
}

TEST(Pattern, CountsEveryWrongElement) {
  const Pattern pattern(DataType::f32, ReduceOp::sum, 3);
  std::vector<float> data(5000);
  pattern.fill_input(data.data(), data.size(), 1, 0);
  EXPECT_EQ(pattern.wrong_inputs(data.data(), data.size(), 1, 0), 0u);
  EXPECT_GT(pattern.wrong_inputs(data.data(), data.size(), 2, 0), 2000u) << "another rank's elements";
  EXPECT_GT(pattern.wrong_inputs(data.data(), data.size(), 1, 1), 2000u) << "elements in the wrong place";
  data[0] += 1;
  data[4999] = -0.0f;
  EXPECT_EQ(pattern.wrong_inputs(data.data(), data.size(), 1, 0), 2u);
}

TEST(Pattern, OfOneConstantCountsEveryWrongElementOfAnySize) {
  for (DataType type : {DataType::u8, DataType::f16, DataType::f32, DataType::f64}) {
    const Pattern pattern(type, ReduceOp::sum, 2);
    std::vector<std::uint8_t> data(1003 * size_of(type));
    pattern.fill_constant(data.data(), 1003, 1, 17);
    EXPECT_EQ(pattern.wrong_constants(data.data(), 1003, 1, 17), 0u) << name_of(type);
    data[1002 * size_of(type)] ^= 1;
    data[0] ^= 1;
    EXPECT_EQ(pattern.wrong_constants(data.data(), 1003, 1, 17), 2u) << name_of(type);
  }
}

}  // namespace
}  // namespace tutti::bench

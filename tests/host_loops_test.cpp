// The host loops of every instruction set that this CPU runs, bit for bit against one element at a time.
#include "kernels/host_loops.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/arithmetic.hpp"

namespace tutti::host {
namespace {

constexpr int kGuard = 128;
constexpr char kPattern = static_cast<char>(0xa5);
constexpr int kSources = 8;
constexpr std::size_t kMost = 1003;

/// Bytes with guards before and after, at any misalignment.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : memory_(bytes + 2 * kGuard + 256) {}

  /// Places `bytes` bytes `offset` after a line boundary and paints them and their surroundings.
  char* place(std::size_t offset, std::size_t bytes) {
    auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    address = (address + 63) / 64 * 64 + offset;
    begin_ = reinterpret_cast<char*>(address);
    bytes_ = bytes;
    std::memset(begin_ - kGuard, kPattern, bytes + 2 * kGuard);
    return begin_;
  }
  char* begin() const { return begin_; }
  bool guards_are_intact() const {
    for (int i = 0; i < kGuard; ++i) {
      if (begin_[-1 - i] != kPattern || begin_[bytes_ + static_cast<std::size_t>(i)] != kPattern) return false;
    }
    return true;
  }

 private:
  std::vector<char> memory_;
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

// ---- Inputs and the reference
// ----------------------------------------------------------------------------------------

template <class T>
T special(unsigned which) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    constexpr bool half = std::is_same_v<T, f16>;
    constexpr std::uint16_t infinity = half ? 0x7c00 : 0x7f80;
    const std::uint16_t values[] = {0,
                                    0x8000,
                                    infinity,
                                    static_cast<std::uint16_t>(infinity | 0x8000),
                                    1,
                                    0x8001,
                                    static_cast<std::uint16_t>(infinity - 1),
                                    static_cast<std::uint16_t>(infinity + 1),
                                    0xffff};
    return T{values[which % 9]};
  } else if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    const T values[] = {T{0},     -T{0},          L::infinity(),  -L::infinity(), L::denorm_min(), -L::denorm_min(),
                        L::max(), L::quiet_NaN(), -L::quiet_NaN()};
    return values[which % 9];
  } else {
    const T values[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), T{1}, static_cast<T>(-1), T{0}};
    return values[which % 5];
  }
}

/// One in eight is a special value, one in eight random bits; the others are small, with many equal ones.
template <class T>
T input(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const unsigned kind = bits & 7;
  if (kind == 0) return special<T>(static_cast<unsigned>(bits >> 8));
  if (kind == 1) {
    T value;
    const std::uint64_t high = bits >> 3 | bits << 61;
    std::memcpy(&value, &high, sizeof value);
    return value;
  }
  const int small = static_cast<int>((bits >> 8) % 41) - 20;
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return from_float<T>(static_cast<float>(small) / 8);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(small) / 8;
  } else {
    return static_cast<T>(small);
  }
}

/// What a reduction means, written without the code under test: wide integers, and floats by the standard library.
template <class T>
T expected_of(const std::vector<std::vector<T>>& inputs, int sources, std::size_t i, ReduceOp op,
              std::uint32_t divisor) {
  if constexpr (std::is_integral_v<T>) {
    __extension__ using Wide = __int128;
    Wide sum = inputs[0][i];
    for (int s = 1; s < sources; ++s) {
      const Wide x = inputs[static_cast<std::size_t>(s)][i];
      if (op == ReduceOp::sum) sum += x;
      if (op == ReduceOp::prod) sum = static_cast<T>(sum * x);
      if (op == ReduceOp::min) sum = std::min(sum, x);
      if (op == ReduceOp::max) sum = std::max(sum, x);
    }
    using Long = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return divisor > 1 ? static_cast<T>(static_cast<Long>(sum) / static_cast<Long>(divisor)) : static_cast<T>(sum);
  } else {
    using A = Accumulator<T>;
    A sum = widen<A>(inputs[0][i]);
    for (int s = 1; s < sources; ++s) {
      const A x = widen<A>(inputs[static_cast<std::size_t>(s)][i]);
      if (op == ReduceOp::sum) sum = sum + x;
      if (op == ReduceOp::prod) sum = sum * x;
      if (op == ReduceOp::min || op == ReduceOp::max) {
        const bool less = op == ReduceOp::min;
        if (std::isnan(sum) || std::isnan(x)) {
          sum = std::numeric_limits<A>::quiet_NaN();
        } else if (sum == x) {
          if (std::signbit(x) == less) sum = x;
        } else {
          sum = less ? std::fmin(sum, x) : std::fmax(sum, x);
        }
      }
    }
    if (divisor > 1) sum = sum / static_cast<A>(divisor);
    if constexpr (std::is_same_v<T, A>) {
      return sum;
    } else {
      return from_float<T>(sum);
    }
  }
}

template <class T>
bool same(T a, T b) {
  if (std::memcmp(&a, &b, sizeof a) == 0) return true;
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    const auto x = widen<Accumulator<T>>(a);
    const auto y = widen<Accumulator<T>>(b);
    return x != x && y != y;  // any NaN for any other
  }
}

template <class T>
std::string shown(T value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return std::to_string(to_float(value)) + " (bits " + std::to_string(value.bits) + ")";
  } else {
    return std::to_string(value);
  }
}

// ---- Shapes
// ----------------------------------------------------------------------------------------------------------

enum class InPlace { no, first, last };
enum class Offsets { lines, elements, scattered_elements, odd_bytes };

struct Shape {
  int sources;
  int destinations;
  InPlace in_place;
  Offsets offsets;
  std::size_t count;
  Stores stores;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.sources << " sources, " << shape.destinations << " destinations, in place "
             << static_cast<int>(shape.in_place) << ", offsets " << static_cast<int>(shape.offsets) << ", count "
             << shape.count << (shape.stores == Stores::cached ? ", cached" : ", streaming");
}

std::size_t offset_of(Offsets offsets, int buffer, std::size_t element) {
  const auto b = static_cast<std::size_t>(buffer);
  switch (offsets) {
    case Offsets::elements: return element;
    case Offsets::scattered_elements: return element * (b % 7 + 1);
    case Offsets::odd_bytes: return b * 6 % 56 + 1;
    default: return 0;
  }
}

/// Runs one shape and compares; false after the first difference.
template <class T>
bool agrees(const Loops& loops, const Reduction& reduction, const Shape& shape,
            const std::vector<std::vector<T>>& inputs, const std::vector<T>& expected, std::vector<Buffer>& buffers) {
  const std::size_t bytes = shape.count * sizeof(T);
  std::array<const char*, kSources> srcs{};
  std::array<char*, 3> dsts{};
  for (int s = 0; s < shape.sources; ++s) {
    const auto at = static_cast<std::size_t>(s);
    char* const place = buffers[at].place(offset_of(shape.offsets, s, sizeof(T)), bytes);
    std::memcpy(place, inputs[at].data(), bytes);
    srcs[at] = place;
  }
  std::array<int, 3> source_of{-1, -1, -1};
  if (shape.in_place == InPlace::first) source_of[0] = 0;
  if (shape.in_place == InPlace::last) source_of[static_cast<std::size_t>(shape.destinations - 1)] = shape.sources - 1;
  for (int d = 0; d < shape.destinations; ++d) {
    const auto at = static_cast<std::size_t>(d);
    dsts[at] = source_of[at] >= 0 ? buffers[static_cast<std::size_t>(source_of[at])].begin()
                                  : buffers[static_cast<std::size_t>(kSources + d)].place(
                                        offset_of(shape.offsets, kSources + d, sizeof(T)), bytes);
  }
  loops.reduce(dsts.data(), shape.destinations, srcs.data(), shape.sources, shape.count, reduction, shape.stores);
  fence_streams();
  const auto told = [&] {
    return testing::Message() << loops.name << ", " << name_of(reduction.type) << " " << name_of(reduction.op) << " / "
                              << reduction.divisor << ", " << shape;
  };
  for (int d = 0; d < shape.destinations; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (bytes == 0 || std::memcmp(dsts[at], expected.data(), bytes) == 0) continue;
    for (std::size_t i = 0; i < shape.count; ++i) {
      T got;
      std::memcpy(&got, dsts[at] + i * sizeof(T), sizeof got);
      if (same(got, expected[i])) continue;
      ADD_FAILURE() << told() << ": destination " << d << ", index " << i << ", expected " << shown(expected[i])
                    << ", got " << shown(got);
      return false;
    }
  }
  for (int b = 0; b < kSources + shape.destinations; ++b) {
    if (b >= shape.sources && b < kSources) continue;
    if (b >= kSources && source_of[static_cast<std::size_t>(b - kSources)] >= 0) continue;
    if (!buffers[static_cast<std::size_t>(b)].guards_are_intact()) {
      ADD_FAILURE() << told() << ": bytes around buffer " << b << " were overwritten";
      return false;
    }
  }
  for (int s = 0; s < shape.sources; ++s) {
    if (s == source_of[0] || s == source_of[1] || s == source_of[2] || bytes == 0) continue;
    if (std::memcmp(srcs[static_cast<std::size_t>(s)], inputs[static_cast<std::size_t>(s)].data(), bytes) != 0) {
      ADD_FAILURE() << told() << ": source " << s << " was overwritten";
      return false;
    }
  }
  return true;
}

template <class T>
std::vector<std::vector<T>> inputs_of(std::size_t count, int sources = kSources) {
  std::mt19937_64 random(20 + static_cast<unsigned>(data_type_v<T>));
  std::vector<std::vector<T>> inputs(static_cast<std::size_t>(sources), std::vector<T>(count));
  for (auto& source : inputs) {
    for (T& value : source) value = input<T>(random);
  }
  return inputs;
}

template <class T>
std::vector<T> expected_from(const std::vector<std::vector<T>>& inputs, int sources, const Reduction& reduction) {
  std::vector<T> expected(inputs[0].size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = expected_of(inputs, sources, i, reduction.op, reduction.divisor);
  }
  return expected;
}

/// Every shape of one type on one instruction set.
template <class T>
void expect_every_shape(const Loops& loops) {
  const auto inputs = inputs_of<T>(kMost);
  std::vector<Buffer> buffers(kSources + 3, Buffer(kMost * sizeof(T)));
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
    for (const int sources : {1, 2, 3, 5, 8}) {
      // A divisor below the number of sources lets integer means wrap; one above is a world with absent ranks.
      for (const int divisor : {sources, sources + 2, 3}) {
        if (op != ReduceOp::avg && divisor != sources) continue;
        const bool mean = op == ReduceOp::avg;
        const Reduction reduction{data_type_v<T>, mean ? ReduceOp::sum : op,
                                  mean ? static_cast<std::uint32_t>(divisor) : 1u};
        const auto expected = expected_from(inputs, sources, reduction);
        for (const int destinations : {1, 2, 3}) {
          for (const InPlace in_place : {InPlace::no, InPlace::first, InPlace::last}) {
            for (const Offsets offsets :
                 {Offsets::lines, Offsets::elements, Offsets::scattered_elements, Offsets::odd_bytes}) {
              for (const std::size_t count : {0, 1, 2, 3, 5, 7, 15, 16, 17, 33, 63, 64, 65, 1003}) {
                for (const Stores stores : {Stores::cached, Stores::streaming}) {
                  const Shape shape{sources, destinations, in_place, offsets, count, stores};
                  if (!agrees(loops, reduction, shape, inputs, expected, buffers)) return;
                }
              }
            }
          }
        }
      }
    }
  }
}

class HostLoops : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    loops_ = loops_named(GetParam());
    if (loops_ == nullptr) GTEST_SKIP() << "this CPU has no " << GetParam();
  }
  const Loops* loops_ = nullptr;
};
#if defined(__x86_64__)
const auto kSets = testing::Values("v2", "v3", "v4");
#else
const auto kSets = testing::Values("generic");
#endif
INSTANTIATE_TEST_SUITE_P(EachSet, HostLoops, kSets, [](const auto& set) { return std::string(set.param); });

TEST_P(HostLoops, F32ReducesInEveryShape) { expect_every_shape<float>(*loops_); }
TEST_P(HostLoops, F64ReducesInEveryShape) { expect_every_shape<double>(*loops_); }
TEST_P(HostLoops, F16ReducesInEveryShape) { expect_every_shape<f16>(*loops_); }
TEST_P(HostLoops, Bf16ReducesInEveryShape) { expect_every_shape<bf16>(*loops_); }
TEST_P(HostLoops, I8ReducesInEveryShape) { expect_every_shape<std::int8_t>(*loops_); }
TEST_P(HostLoops, U8ReducesInEveryShape) { expect_every_shape<std::uint8_t>(*loops_); }
TEST_P(HostLoops, I32ReducesInEveryShape) { expect_every_shape<std::int32_t>(*loops_); }
TEST_P(HostLoops, U32ReducesInEveryShape) { expect_every_shape<std::uint32_t>(*loops_); }
TEST_P(HostLoops, I64ReducesInEveryShape) { expect_every_shape<std::int64_t>(*loops_); }
TEST_P(HostLoops, U64ReducesInEveryShape) { expect_every_shape<std::uint64_t>(*loops_); }

TEST_P(HostLoops, SixtyFourSourcesAndLongRangesAgree) {
  constexpr std::size_t count = 3001;  // three blocks of f64
  constexpr int sources = 64;
  const auto inputs = inputs_of<double>(count, sources);
  const Reduction reduction{DataType::f64, ReduceOp::sum, sources};
  const auto expected = expected_from(inputs, sources, reduction);
  for (const Stores stores : {Stores::cached, Stores::streaming}) {
    for (const std::size_t step : {0, 8, 3}) {
      std::vector<const char*> srcs;
      for (const auto& source : inputs) srcs.push_back(reinterpret_cast<const char*>(source.data()));
      std::vector<Buffer> buffers(sources, Buffer(count * sizeof(double)));
      std::vector<char*> dsts;
      for (auto& buffer : buffers) dsts.push_back(buffer.place(dsts.size() * step % 61, count * sizeof(double)));
      loops_->reduce(dsts.data(), sources, srcs.data(), sources, count, reduction, stores);
      for (std::size_t d = 0; d < dsts.size(); ++d) {
        ASSERT_TRUE(buffers[d].guards_are_intact()) << "destination " << d << ", step " << step;
        for (std::size_t i = 0; i < count; ++i) {
          double got;
          std::memcpy(&got, dsts[d] + i * sizeof got, sizeof got);
          ASSERT_TRUE(same(got, expected[i])) << "destination " << d << ", step " << step << ", index " << i
                                              << ", expected " << expected[i] << ", got " << got;
        }
      }
    }
  }
}

/// Every 16-bit value in one lane or another against every special one, so that each rounding of the vector code is
/// met.
template <class T>
void expect_every_pair(const Loops& loops, ReduceOp op) {
  std::vector<std::vector<T>> inputs(2, std::vector<T>(65536));
  const Reduction reduction{data_type_v<T>, op, 1};
  std::mt19937_64 random(7);
  for (int round = 0; round < 12; ++round) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      inputs[0][bits] = T{static_cast<std::uint16_t>(bits)};
      inputs[1][bits] = round < 9 ? special<T>(static_cast<unsigned>(round)) : T{static_cast<std::uint16_t>(random())};
    }
    const auto expected = expected_from(inputs, 2, reduction);
    std::vector<T> got(65536);
    char* const dst = reinterpret_cast<char*>(got.data());
    const std::array<const char*, 2> srcs{reinterpret_cast<const char*>(inputs[0].data()),
                                          reinterpret_cast<const char*>(inputs[1].data())};
    loops.reduce(&dst, 1, srcs.data(), 2, 65536, reduction, Stores::cached);
    for (std::uint32_t i = 0; i < 65536; ++i) {
      ASSERT_TRUE(same(got[i], expected[i]))
          << loops.name << ", " << name_of(reduction.type) << " " << name_of(op) << ": index " << i << ", other "
          << inputs[1][i].bits << ", expected " << expected[i].bits << ", got " << got[i].bits;
    }
  }
}

TEST_P(HostLoops, EverySixteenBitValueReducesLikeTheScalarConversion) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
    ASSERT_NO_FATAL_FAILURE(expect_every_pair<f16>(*loops_, op));
    ASSERT_NO_FATAL_FAILURE(expect_every_pair<bf16>(*loops_, op));
  }
}

template <class T>
void expect_mean(const Loops& loops, T each, int sources, T expected) {
  std::vector<T> input(77, each);
  std::vector<T> got(77);
  const std::vector<const char*> srcs(static_cast<std::size_t>(sources), reinterpret_cast<const char*>(input.data()));
  char* const dst = reinterpret_cast<char*>(got.data());
  const Reduction mean{data_type_v<T>, ReduceOp::sum, static_cast<std::uint32_t>(sources)};
  loops.reduce(&dst, 1, srcs.data(), sources, got.size(), mean, Stores::cached);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(0, std::memcmp(&got[i], &expected, sizeof expected))
        << loops.name << ", " << name_of(mean.type) << ": index " << i << ", expected " << shown(expected) << ", got "
        << shown(got[i]);
  }
}

TEST_P(HostLoops, AMeanOfEqualValuesIsThatValueHoweverLarge) {
  for (const int sources : {1, 2, 3, 8, 64}) {
    expect_mean<std::int8_t>(*loops_, 127, sources, 127);
    expect_mean<std::int8_t>(*loops_, -128, sources, -128);
    expect_mean<std::uint8_t>(*loops_, 255, sources, 255);
    expect_mean<std::int32_t>(*loops_, INT32_MIN, sources, INT32_MIN);
    expect_mean<std::int32_t>(*loops_, INT32_MAX, sources, INT32_MAX);
    expect_mean<std::uint32_t>(*loops_, UINT32_MAX, sources, UINT32_MAX);
    expect_mean<std::int64_t>(*loops_, -12345678901, sources, -12345678901);
    expect_mean<f16>(*loops_, from_float<f16>(60000.0f), sources, from_float<f16>(60000.0f));
  }
}

TEST_P(HostLoops, ANegativeMeanGoesTowardZero) {
  const std::array<std::int8_t, 2> eights{-3, -2};
  const std::array<std::int32_t, 2> words{-3, -2};
  char eight = 0;
  std::int32_t word = 0;
  char* dst = &eight;
  std::array<const char*, 2> srcs{reinterpret_cast<const char*>(&eights[0]), reinterpret_cast<const char*>(&eights[1])};
  loops_->reduce(&dst, 1, srcs.data(), 2, 1, Reduction{DataType::i8, ReduceOp::sum, 2}, Stores::cached);
  EXPECT_EQ(-2, static_cast<std::int8_t>(eight));
  dst = reinterpret_cast<char*>(&word);
  srcs = {reinterpret_cast<const char*>(&words[0]), reinterpret_cast<const char*>(&words[1])};
  loops_->reduce(&dst, 1, srcs.data(), 2, 1, Reduction{DataType::i32, ReduceOp::sum, 2}, Stores::cached);
  EXPECT_EQ(-2, word);
}

TEST_P(HostLoops, EveryByteArrivesInACopy) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 0; bytes <= 530; ++bytes) sizes.push_back(bytes);
  for (const std::size_t bytes : {1003, 4095, 8192, 8193, 20000, 70001}) sizes.push_back(bytes);
  std::vector<char> input(70001 + 64);
  std::mt19937_64 random(3);
  for (char& byte : input) byte = static_cast<char>(random());
  std::vector<Buffer> buffers(3, Buffer(70001));
  for (const std::size_t bytes : sizes) {
    for (const std::size_t from : {0, 1, 8, 33}) {
      for (const std::size_t step : {0, 1, 16}) {
        for (const std::size_t first : {0, 3, 48}) {
          for (const int destinations : {1, 2, 3}) {
            for (const Stores stores : {Stores::cached, Stores::streaming}) {
              std::array<char*, 3> dsts{};
              for (std::size_t d = 0; d < 3; ++d) dsts[d] = buffers[d].place(first + d * step, bytes);
              const char* const src = input.data() + from;
              loops_->copy(dsts.data(), destinations, src, bytes, stores);
              fence_streams();
              for (std::size_t d = 0; d < static_cast<std::size_t>(destinations); ++d) {
                ASSERT_TRUE(buffers[d].guards_are_intact()) << loops_->name << ", " << bytes << " bytes, step " << step;
                if (bytes == 0 || std::memcmp(dsts[d], src, bytes) == 0) continue;
                for (std::size_t i = 0; i < bytes; ++i) {
                  ASSERT_EQ(src[i], dsts[d][i])
                      << loops_->name << ", " << bytes << " bytes, from " << from << ", step " << step << ", first "
                      << first << ", destination " << d << " of " << destinations << ", index " << i;
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(HostLoops, ACopyOntoItselfChangesNothing) {
  for (const std::size_t bytes : {5, 64, 300, 9000}) {
    for (const Stores stores : {Stores::cached, Stores::streaming}) {
      Buffer source(bytes);
      Buffer other(bytes);
      char* const place = source.place(4, bytes);
      for (std::size_t i = 0; i < bytes; ++i) place[i] = static_cast<char>(i * 7);
      const std::array<char*, 2> dsts{place, other.place(4, bytes)};
      loops_->copy(dsts.data(), 2, place, bytes, stores);
      for (std::size_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(static_cast<char>(i * 7), place[i]) << "index " << i;
        ASSERT_EQ(static_cast<char>(i * 7), dsts[1][i]) << "index " << i;
      }
    }
  }
}

// The choice is made once per process, so each of these makes it in a child.
using HostLoopsDeathTest = testing::Test;

TEST(HostLoopsDeathTest, AnUnknownInstructionSetIsNamedAndTheBestIsUsed) {
  EXPECT_EXIT(
      {
        setenv("TUTTI_ISA", "v9", 1);
        std::exit(loops().name == nullptr);
      },
      testing::ExitedWithCode(0), "TUTTI_ISA=v9");
}

TEST(HostLoopsDeathTest, TheEnvironmentForcesAnInstructionSet) {
  if (loops_named("v2") == nullptr) GTEST_SKIP() << "no x86-64";
  EXPECT_EXIT(
      {
        setenv("TUTTI_ISA", "v2", 1);
        std::exit(&loops() == loops_named("v2") ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tutti::host

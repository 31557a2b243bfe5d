// The trainers' elementwise maths, random numbers, digests and files, against values known from elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "trainers/fashion_mnist.hpp"
#include "trainers/maths_host.hpp"
#include "trainers/parameters.hpp"
#include "trainers/random.hpp"
#include "trainers/sha256.hpp"

namespace tutti::trainers {
namespace {

template <class T>
class Maths : public testing::Test {
  void SetUp() override { maths::set_threads(1); }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Maths, Types);

TYPED_TEST(Maths, ProductsOfSmallIntegersAreExactForEveryOperandOrder) {
  using T = TypeParam;
  constexpr int m = 5, n = 7, k = 3;
  std::vector<T> a(m * k), b(k * n), at(k * m), bt(n * k);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p) a[i * k + p] = at[p * m + i] = static_cast<T>(i - 2 * p);
  for (int p = 0; p < k; ++p)
    for (int j = 0; j < n; ++j) b[p * n + j] = bt[j * k + p] = static_cast<T>(3 * p + j - 4);
  for (const auto& [a_is, b_is] :
       {std::pair(Operand::plain, Operand::plain), std::pair(Operand::plain, Operand::transposed),
        std::pair(Operand::transposed, Operand::plain)})
    for (const bool accumulate : {false, true}) {
      std::vector<T> c(m * n, T{10});
      maths::multiply(a_is, b_is, m, n, k, a_is == Operand::plain ? a.data() : at.data(),
                      b_is == Operand::plain ? b.data() : bt.data(), accumulate, c.data());
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          T expected = accumulate ? 10 : 0;
          for (int p = 0; p < k; ++p) expected += a[i * k + p] * b[p * n + j];
          EXPECT_EQ(c[i * n + j], expected) << "element " << i << ", " << j << " accumulate " << accumulate;
        }
    }
}

TYPED_TEST(Maths, AProductOverNothingIsZeroNotWhatWasThere) {
  std::vector<TypeParam> c(6, TypeParam{7});
  maths::multiply<TypeParam>(Operand::plain, Operand::plain, 2, 3, 0, c.data(), c.data(), false, c.data());
  EXPECT_EQ(c, std::vector<TypeParam>(6));
}

TYPED_TEST(Maths, GeluAndItsSlopeFollowTheErrorFunction) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-15;
  std::vector<T> x;
  for (int i = -1200; i <= 1200; ++i) x.push_back(static_cast<T>(i) / 100);
  std::vector<T> y = x, slopes(x.size());
  maths::activate<T>(Activation::gelu, nullptr, 1, static_cast<int>(x.size()), y.data(), slopes.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double sum = 0.5 * std::erfc(-v / std::sqrt(2.0));
    EXPECT_NEAR(y[i], v * sum, tolerance * std::max(1.0, std::fabs(v))) << "x " << v;
    EXPECT_NEAR(slopes[i], sum + v * std::exp(-v * v / 2) / std::sqrt(2 * M_PI), 2 * tolerance) << "x " << v;
  }
}

TYPED_TEST(Maths, ReluAddsTheBiasOfEachFeatureAndKeepsNotANumber) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> values = {1, -2, 3, 1, nan, -5};
  const std::vector<T> bias = {-1, 2};
  maths::activate<T>(Activation::relu, bias.data(), 2, 3, values.data(), nullptr);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], 2);
  EXPECT_EQ(values[3], 3);
  EXPECT_TRUE(std::isnan(values[4]));
  EXPECT_EQ(values[5], 0);
}

TYPED_TEST(Maths, RowSumsAreExactOnIntegersForEveryLength) {
  using T = TypeParam;
  for (const int rows : {0, 1, 15, 16, 17, 40}) {
    std::vector<T> values(static_cast<std::size_t>(2 * rows));
    std::iota(values.begin(), values.end(), T{1});
    std::vector<T> sums = {100, 100};
    maths::sum_rows(values.data(), 2, rows, true, sums.data());
    EXPECT_EQ(sums[0], 100 + rows * (rows + 1) / 2) << rows;
    EXPECT_EQ(sums[1], 100 + rows * (rows + 1) / 2 + rows * rows) << rows;
    maths::sum_rows(values.data(), 2, rows, false, sums.data());
    EXPECT_EQ(sums[0], rows * (rows + 1) / 2) << rows;
  }
}

TYPED_TEST(Maths, CrossEntropyOfEqualOutputsIsTheLogarithmOfTheClasses) {
  using T = TypeParam;
  // Large equal outputs: exp would overflow without the shift by the largest.
  const std::vector<T> outputs(12, T{5000});
  const std::vector<std::int32_t> labels = {0, 3, 1};
  std::vector<T> gradients(12);
  const double loss = maths::loss(Loss::cross_entropy, outputs.data(), labels.data(), 4, 3, 1.0 / 3, gradients.data());
  EXPECT_NEAR(loss, std::log(4.0), 1e-6);
  for (int c = 0; c < 4; ++c)
    for (int r = 0; r < 3; ++r)
      EXPECT_NEAR(gradients[c * 3 + r], (0.25 - (labels[r] == c)) / 3, 1e-7) << "class " << c << " row " << r;
}

TYPED_TEST(Maths, TheFirstOfEqualOutputsCountsAsTheAnswer) {
  using T = TypeParam;
  const std::vector<T> outputs = {1, 5, 2, /* class 1 */ 1, 7, 3};
  const std::vector<std::int32_t> labels = {0, 1, 0};
  EXPECT_EQ(maths::correct(outputs.data(), labels.data(), 2, 3), 2);
}

TYPED_TEST(Maths, SgdFollowsItsFormula) {
  using T = TypeParam;
  const OptimizerSpec spec{.kind = OptimizerKind::sgd, .rate = 0.5, .momentum = 0.5};
  std::vector<T> values(19, 1), velocity(19, 4), gradients(19);
  std::iota(gradients.begin(), gradients.end(), T{0});
  maths::sgd(spec, values.size(), gradients.data(), velocity.data(), values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(velocity[i], 2 + static_cast<T>(i));
    EXPECT_EQ(values[i], 1 - (2 + static_cast<T>(i)) / 2);
  }
}

TYPED_TEST(Maths, AdamwFollowsItsFormulaOverThreeSteps) {
  using T = TypeParam;
  const OptimizerSpec spec{.kind = OptimizerKind::adamw, .rate = 0.01, .weight_decay = 0.1};
  std::vector<T> values(9, 1), first(9), second(9), gradients(9);
  double p = 1, m = 0, v = 0;
  for (int step = 1; step <= 3; ++step) {
    const double g = 0.25 * step - 0.6;
    std::fill(gradients.begin(), gradients.end(), static_cast<T>(g));
    maths::adamw(spec, step, values.size(), gradients.data(), first.data(), second.data(), values.data());
    p -= spec.rate * spec.weight_decay * p;
    m = spec.beta1 * m + (1 - spec.beta1) * g;
    v = spec.beta2 * v + (1 - spec.beta2) * g * g;
    p -= spec.rate * (m / (1 - std::pow(spec.beta1, step))) /
         (std::sqrt(v / (1 - std::pow(spec.beta2, step))) + spec.epsilon);
    for (const T value : values) EXPECT_NEAR(value, p, sizeof(T) == 4 ? 1e-6 : 1e-14) << "step " << step;
  }
}

TEST(Random, PhiloxGivesThePublishedNumbers) {
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NormalNumbersHaveMeanZeroAndVarianceOne) {
  double sum = 0, squares = 0;
  constexpr int count = 40000;
  for (int i = 0; i < count; ++i) {
    const double x =
        normal_at(3, Purpose::weights, 1, static_cast<std::uint32_t>(i / 200), static_cast<std::uint32_t>(i % 200));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
}

TEST(Random, APlaceKeepsItsNumberAndNeighboursDiffer) {
  std::set<double> seen;
  for (std::uint64_t seed : {0, 1})
    for (auto purpose : {Purpose::weights, Purpose::samples})
      for (std::uint32_t layer : {0u, 1u})
        for (std::uint32_t row : {0u, 1u})
          for (std::uint32_t column : {0u, 1u}) seen.insert(normal_at(seed, purpose, layer, row, column));
  EXPECT_EQ(seen.size(), 32u);
  EXPECT_EQ(normal_at(1, Purpose::weights, 2, 3, 4), normal_at(1, Purpose::weights, 2, 3, 4));
}

TEST(Random, AnEpochsOrderIsAPermutationThatDependsOnSeedAndEpochAlone) {
  std::vector<std::uint32_t> first(1000), again(1000, 7), other_epoch(1000), other_seed(1000);
  epoch_order(5, 1, first);
  epoch_order(5, 1, again);
  epoch_order(5, 2, other_epoch);
  epoch_order(6, 1, other_seed);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other_epoch);
  EXPECT_NE(first, other_seed);
  std::vector<std::uint32_t> sorted = first, all(1000);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(sorted, all);
  EXPECT_NE(first, all);
}

TEST(Parameters, EveryLayoutsPiecesAreSlicesOfOneGlobalModel) {
  const MlpSpec spec{.widths = {6, 12, 7, 8, 9}, .initialisation = Initialisation::lecture};
  Device& cpu = host_maths<double>().device();
  Parameters<double> whole(cpu, spec, pieces_of(spec, Parallel::serial, 0, 1), 4, Memory<double>());
  for (const Parallel layout : {Parallel::data, Parallel::tensor, Parallel::pipeline})
    for (const int ranks : {1, 2, 3, 4})
      for (int rank = 0; rank < ranks; ++rank) {
        Parameters<double> mine(cpu, spec, pieces_of(spec, layout, rank, ranks), 4, Memory<double>());
        for (int i = 0; i < mine.pieces(); ++i) {
          const Piece& piece = mine.piece(i);
          const double* expected = whole.weights(piece.layer) + piece.outputs.begin * piece.inputs;
          EXPECT_TRUE(std::equal(mine.weights(i), mine.weights(i) + piece.weights(), expected))
              << name_of(layout) << " rank " << rank << " of " << ranks << " layer " << piece.layer;
        }
      }
}

TEST(Parameters, TensorSlicesOfARankAreNotCopiesOfAnothersAndCoverTheLayer) {
  const MlpSpec spec{.widths = {6, 12, 7}};
  std::set<int> covered;
  for (int rank = 0; rank < 4; ++rank) {
    const auto pieces = pieces_of(spec, Parallel::tensor, rank, 4);
    for (int o = pieces[0].outputs.begin; o < pieces[0].outputs.end; ++o) EXPECT_TRUE(covered.insert(o).second);
    EXPECT_FALSE(pieces[1].is_cut()) << "7 outputs do not divide by 4";
    EXPECT_EQ(pieces[1].outputs.size(), 7);
  }
  EXPECT_EQ(covered.size(), 12u);
}

TEST(Parameters, PartsDifferByAtMostOneAndCoverEverything) {
  for (const int total : {0, 1, 3, 7, 128})
    for (const int parts : {1, 2, 3, 5, 8}) {
      int at = 0;
      for (int i = 0; i < parts; ++i) {
        const Range part = part_of(total, i, parts);
        EXPECT_EQ(part.begin, at);
        EXPECT_GE(part.size(), total / parts);
        EXPECT_LE(part.size(), (total + parts - 1) / parts);
        at = part.end;
      }
      EXPECT_EQ(at, total);
    }
}

std::string sha256_of(const std::string& text) {
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsLengthsAroundABlockRight) {
  // Known digests of 55, 56 and 64 letters 'a': the padding fits, just does not fit, and fills a block of its own.
  EXPECT_EQ(sha256_of(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256_of(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256_of(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Idx, DecodesExtentsAndElements) {
  std::vector<std::uint32_t> extents;
  const std::vector<std::uint8_t> file = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(decode_idx(file, 2, extents, "f"), (std::vector<std::uint8_t>{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(extents, (std::vector<std::uint32_t>{2, 3}));
}

TEST(Idx, RefusesDamagedFilesByName) {
  const std::vector<std::uint8_t> good = {0, 0, 8, 1, 0, 0, 0, 2, 10, 11};
  auto wrong_magic = good, short_body = good, long_body = good, huge = good;
  wrong_magic[2] = 9;
  short_body.pop_back();
  long_body.push_back(1);
  huge[4] = 255;
  std::vector<std::uint32_t> extents;
  EXPECT_NO_THROW(decode_idx(good, 1, extents, "name"));
  for (const auto& file : {wrong_magic, short_body, long_body, huge, std::vector<std::uint8_t>{0, 0}}) try {
      decode_idx(file, 1, extents, "name");
      ADD_FAILURE() << "accepted a file of " << file.size() << " bytes";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("name"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace tutti::trainers

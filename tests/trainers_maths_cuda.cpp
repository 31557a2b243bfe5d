// The GPU's maths against the host's, and every layout on GPUs against itself on the CPU. Skipped, with the reason,
// where there is no GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tests/trainers_problem.hpp"
#include "trainers/maths_host.hpp"
#include "trainers/run.hpp"

namespace tutti::trainers {
namespace {

/// The GPUs, or why there are none.
int gpus(std::string* why) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  *why = std::string("no CUDA device: ") + (result == cudaSuccess ? "none is visible" : cudaGetErrorString(result));
  cudaGetLastError();
  return result == cudaSuccess ? count : 0;
}

template <class T>
Memory<T> on(Device& device, const std::vector<T>& values) {
  Memory<T> memory(device, values.size());
  device.upload(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}
template <class T>
std::vector<T> read(Device& device, const T* from, std::size_t count) {
  std::vector<T> values(count);
  device.download(values.data(), from, count * sizeof(T));
  return values;
}
template <class T>
std::vector<T> read(Device& device, const Memory<T>& memory) {
  return read(device, memory.data(), memory.size());
}

/// The first element in which the two differ by more than `tolerance` times the expected one, or in a bit if that is 0.
template <class T>
std::string difference(const std::vector<T>& expected, const std::vector<T>& got, double tolerance = 0) {
  if (expected.size() != got.size()) return "sizes differ";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = static_cast<double>(expected[i]), g = static_cast<double>(got[i]);
    const bool equal = tolerance == 0 ? std::memcmp(&expected[i], &got[i], sizeof(T)) == 0
                                      : std::fabs(g - e) <= tolerance * std::max(1.0, std::fabs(e));
    if (!equal && !(std::isnan(e) && std::isnan(g)))
      return "index " + std::to_string(i) + ": expected " + std::to_string(e) + ", got " + std::to_string(g);
  }
  return "";
}

/// Numbers of both signs and many sizes, the same in every run.
template <class T>
std::vector<T> numbers(std::size_t count, std::uint32_t stream) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(2 * normal_at(5, Purpose::samples, stream, 0, static_cast<std::uint32_t>(i))));
  return values;
}

template <class T>
class GpuMaths : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (gpus(&why) == 0) GTEST_SKIP() << why;
    maths::set_threads(1);
    gpu_ = gpu_maths<T>();
  }
  Maths<T>& gpu() { return *gpu_; }
  Maths<T>& host() { return host_maths<T>(); }
  std::unique_ptr<Maths<T>> gpu_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMaths, Types);

TEST(Gpu, WhereThereIsNoneAskingForItsMathsSaysSoAndWhatToDo) {
  std::string why;
  if (gpus(&why) > 0) GTEST_SKIP() << "there is a GPU";
  try {
    gpu_maths<float>();
    FAIL() << "the maths of no GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("TUTTI_DEVICE=cpu"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TYPED_TEST(GpuMaths, ProductsOfSmallIntegersAreExactForEveryOperandOrder) {
  using T = TypeParam;
  const auto run = [](Maths<T>& maths, Operand a_is, Operand b_is, int m, int n, int k, bool accumulate) {
    const auto whole = [](int rows, int columns, int step) {
      std::vector<T> values;
      for (int i = 0; i < rows * columns; ++i) values.push_back(static_cast<T>(i * step % 7 - 3));
      return values;
    };
    Device& device = maths.device();
    const Memory<T> a = on(device, whole(m, k, 3)), b = on(device, whole(k, n, 5)), c = on(device, whole(m, n, 2));
    maths.multiply(a_is, b_is, m, n, k, a.data(), b.data(), accumulate, c.data());
    return read(device, c);
  };
  for (const auto& [m, n, k] :
       {std::array{5, 7, 3}, std::array{1, 1, 1}, std::array{64, 33, 129}, std::array{2, 3, 0}, std::array{0, 4, 2}})
    for (const auto& [a_is, b_is] :
         {std::pair(Operand::plain, Operand::plain), std::pair(Operand::plain, Operand::transposed),
          std::pair(Operand::transposed, Operand::plain)})
      for (const bool accumulate : {false, true})
        EXPECT_EQ(difference(run(this->host(), a_is, b_is, m, n, k, accumulate),
                             run(this->gpu(), a_is, b_is, m, n, k, accumulate)),
                  "")
            << m << " x " << n << " over " << k << ", a transposed " << (a_is == Operand::transposed)
            << ", b transposed " << (b_is == Operand::transposed) << ", accumulate " << accumulate;
}

TYPED_TEST(GpuMaths, ProductsKeepTheWholePrecision) {
  using T = TypeParam;
  // 1 + 2^-20 is lost in TF32 and in 16 bits; its products with powers of two are exact in f32.
  constexpr int n = 64;
  std::vector<T> a(n * n), b(n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      a[i * n + j] = T{1} + std::ldexp(T{1}, -20);
      b[i * n + j] = i == j ? T{4} : T{0};
    }
  Device& device = this->gpu().device();
  const Memory<T> left = on(device, a), right = on(device, b), c(device, a.size());
  this->gpu().multiply(Operand::plain, Operand::plain, n, n, n, left.data(), right.data(), false, c.data());
  for (T& x : a) x *= 4;
  EXPECT_EQ(difference(a, read(device, c)), "");
}

TYPED_TEST(GpuMaths, ActivationsGiveTheHostsBitsForwardAndBackward) {
  using T = TypeParam;
  struct Result {
    std::vector<T> values, slopes, gradients;
  };
  const auto run = [](Maths<T>& maths, Activation activation, bool bias, int features, int rows) {
    Device& device = maths.device();
    const auto count = static_cast<std::size_t>(features) * static_cast<std::size_t>(rows);
    std::vector<T> before = numbers<T>(count, 1);
    before[count / 2] = std::numeric_limits<T>::quiet_NaN();
    before[0] = 0;
    const Memory<T> values = on(device, before), slopes(device, count), gradients = on(device, numbers<T>(count, 2));
    const Memory<T> biases = on(device, numbers<T>(static_cast<std::size_t>(features), 3));
    maths.activate(activation, bias ? biases.data() : nullptr, features, rows, values.data(), slopes.data());
    maths.activate_backward(activation, values.data(), slopes.data(), count, gradients.data());
    return Result{read(device, values), read(device, slopes), read(device, gradients)};
  };
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu})
    for (const bool bias : {false, true})
      // The last goes more than once around the grid.
      for (const auto& [features, rows] :
           {std::pair(1, 1), std::pair(3, 17), std::pair(33, 129), std::pair(300, 900)}) {
        const Result expected = run(this->host(), activation, bias, features, rows);
        const Result got = run(this->gpu(), activation, bias, features, rows);
        // The libraries' erfc and exp may differ in the last bits.
        const double tolerance = sizeof(T) == 8 && activation == Activation::gelu ? 1e-14 : 0;
        SCOPED_TRACE(std::string(name_of(activation)) + (bias ? " bias " : " ") + std::to_string(features) + " x " +
                     std::to_string(rows));
        EXPECT_EQ(difference(expected.values, got.values, tolerance), "");
        EXPECT_EQ(difference(expected.slopes, got.slopes, tolerance), "");
        EXPECT_EQ(difference(expected.gradients, got.gradients, tolerance), "");
      }
}

TYPED_TEST(GpuMaths, SumsOfRowsGiveTheHostsBits) {
  using T = TypeParam;
  const auto run = [](Maths<T>& maths, int features, int rows, bool accumulate) {
    Device& device = maths.device();
    const auto count = static_cast<std::size_t>(features) * static_cast<std::size_t>(rows);
    const Memory<T> values = on(device, numbers<T>(count, 1));
    const Memory<T> sums = on(device, numbers<T>(static_cast<std::size_t>(features), 2));
    maths.sum_rows(values.data(), features, rows, accumulate, sums.data());
    return read(device, sums);
  };
  for (const int features : {1, 15, 16, 17, 20000})
    for (const int rows : {0, 1, 15, 16, 17, 100})
      for (const bool accumulate : {false, true}) {
        if (features == 20000 && rows != 17) continue;  // goes around the grid
        EXPECT_EQ(
            difference(run(this->host(), features, rows, accumulate), run(this->gpu(), features, rows, accumulate)), "")
            << features << " x " << rows << " accumulate " << accumulate;
      }
}

TYPED_TEST(GpuMaths, LossesAreTheHostsUpToRoundingAndTheSameInEveryRun) {
  using T = TypeParam;
  const auto run = [](Maths<T>& maths, Loss kind, int features, int rows) {
    Device& device = maths.device();
    const auto count = static_cast<std::size_t>(features) * static_cast<std::size_t>(rows);
    std::vector<std::int32_t> labels;
    for (int r = 0; r < rows; ++r) labels.push_back(r * 7 % features);
    const Memory<T> outputs = on(device, numbers<T>(count, 1)), gradients(device, count), stored(device, 1);
    const Memory<std::int32_t> classes = on(device, labels);
    const Memory<double> value = on(device, std::vector<double>{0.5});
    maths.loss(kind, outputs.data(), classes.data(), features, rows, 1.0 / 3, gradients.data(), value.data());
    maths.store(value.data(), stored.data());
    return std::pair(read(device, gradients),
                     std::vector<double>{read(device, value)[0], static_cast<double>(read(device, stored)[0])});
  };
  for (const Loss kind : {Loss::mean_square, Loss::cross_entropy})
    for (const auto& [features, rows] : {std::pair(10, 0), std::pair(1, 1), std::pair(10, 37), std::pair(3, 70000)}) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(features) + " x " + std::to_string(rows));
      const auto expected = run(this->host(), kind, features, rows);
      const auto got = run(this->gpu(), kind, features, rows);
      EXPECT_EQ(difference(expected.first, got.first, sizeof(T) == 4 ? 1e-6 : 1e-14), "");
      EXPECT_EQ(difference(expected.second, got.second, sizeof(T) == 4 ? 1e-6 : 1e-12), "");
      const auto again = run(this->gpu(), kind, features, rows);
      EXPECT_EQ(difference(got.first, again.first), "");
      EXPECT_EQ(difference(got.second, again.second), "");
    }
}

TYPED_TEST(GpuMaths, CountsOfCorrectAnswersAreExactAndAddUp) {
  using T = TypeParam;
  for (const int rows : {1, 37, 1000}) {
    constexpr int classes = 10;
    // Whole numbers, so that equal largest outputs occur.
    std::vector<T> values = numbers<T>(static_cast<std::size_t>(classes * rows), 1);
    for (T& x : values) x = std::round(x);
    std::vector<std::int32_t> labels;
    for (int r = 0; r < rows; ++r) labels.push_back(r * 3 % classes);
    Device& device = this->gpu().device();
    const Memory<T> outputs = on(device, values);
    const Memory<std::int32_t> there = on(device, labels);
    const Memory<std::int64_t> hits = on(device, std::vector<std::int64_t>{1000});
    this->gpu().correct(outputs.data(), there.data(), classes, rows, hits.data());
    EXPECT_EQ(read(device, hits)[0], 1000 + maths::correct(values.data(), labels.data(), classes, rows)) << rows;
  }
}

TYPED_TEST(GpuMaths, OptimizersGiveTheHostsBitsOverThreeSteps) {
  using T = TypeParam;
  const auto run = [](Maths<T>& maths, OptimizerKind kind, std::size_t count) {
    Device& device = maths.device();
    const OptimizerSpec spec{.kind = kind, .rate = 0.01, .weight_decay = 0.1};
    const Memory<T> values = on(device, numbers<T>(count, 1)), first(device, count), second(device, count);
    for (int step = 1; step <= 3; ++step) {
      const Memory<T> gradients = on(device, numbers<T>(count, 1 + static_cast<std::uint32_t>(step)));
      if (kind == OptimizerKind::adamw)
        maths.adamw(spec, step, count, gradients.data(), first.data(), second.data(), values.data());
      else
        maths.sgd(spec, count, gradients.data(), first.data(), values.data());
    }
    return read(device, values);
  };
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw})
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300000}})
      EXPECT_EQ(difference(run(this->host(), kind, count), run(this->gpu(), kind, count)), "")
          << name_of(kind) << " of " << count;
}

TYPED_TEST(GpuMaths, AFeedBringsTheRowsAndLabelsOfEachDataSet) {
  using T = TypeParam;
  const SmallData<T> small(5000, 7, 3), other(40, 9, 4);  // more and fewer samples than are uploaded at once
  Device& device = this->gpu().device();
  Feed<T> feed(this->gpu(), 4);
  for (const DataSet<T>* data : {static_cast<const DataSet<T>*>(&small), static_cast<const DataSet<T>*>(&other),
                                 static_cast<const DataSet<T>*>(&small)}) {
    const std::vector<std::uint32_t> samples = {data->samples() - 1, 0, 17};
    const std::size_t count = samples.size() * static_cast<std::size_t>(data->features());
    std::vector<T> rows(count);
    std::vector<std::int32_t> labels(samples.size());
    data->read(samples, rows.data());
    data->read_labels(samples, labels.data());
    const Memory<T> rows_there(device, count);
    const Memory<std::int32_t> labels_there(device, labels.size());
    feed.read(*data, samples, rows_there.data());
    feed.read_labels(*data, samples, labels_there.data());
    EXPECT_EQ(difference(rows, read(device, rows_there)), "");
    EXPECT_EQ(difference(labels, read(device, labels_there)), "");
  }
}

/// What one rank holds after some steps.
template <class T>
struct Outcome {
  std::vector<double> losses;
  std::vector<T> values;
  std::int64_t hits = 0;
};

TrainerSpec small_spec(Activation activation, Loss loss) {
  return {.mlp = {.widths = {14, 20, 15, 16, 12, 6}, .activation = activation},
          .loss = loss,
          .optimizer = {.kind = OptimizerKind::sgd, .rate = 0.05},
          .seed = 11,
          .batch = 24};
}

/// 53 samples in batches of 24, 24, 5.
template <class T>
Outcome<T> train(Parallel layout, Maths<T>& maths, const TrainerSpec& spec, Communicator* comm) {
  const SmallData<T> data(53, 14, 6);
  Batches batches(spec.seed, 53, spec.batch);
  const auto trainer = make_trainer<T>(layout, maths, spec, comm);
  Outcome<T> outcome;
  for (int step = 0; step < 5; ++step) outcome.losses.push_back(trainer->step({&data, batches.next()}));
  outcome.values = read(maths.device(), trainer->parameters().values(), trainer->parameters().count());
  outcome.hits = trainer->correct({&data, batches.next()});
  return outcome;
}

template <class T>
void expect_near(const Outcome<T>& expected, const Outcome<T>& got) {
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;
  EXPECT_EQ(difference(expected.losses, got.losses, tolerance), "");
  EXPECT_EQ(difference(expected.values, got.values, tolerance), "");
  EXPECT_EQ(expected.hits, got.hits);
}

TYPED_TEST(GpuMaths, SerialTrainingFollowsTheHostAndIsTheSameInEveryRun) {
  for (const auto& [activation, loss] :
       {std::pair(Activation::relu, Loss::cross_entropy), std::pair(Activation::gelu, Loss::mean_square)}) {
    const TrainerSpec spec = small_spec(activation, loss);
    const auto got = train<TypeParam>(Parallel::serial, this->gpu(), spec, nullptr);
    expect_near(train<TypeParam>(Parallel::serial, this->host(), spec, nullptr), got);
    const auto again = train<TypeParam>(Parallel::serial, this->gpu(), spec, nullptr);
    EXPECT_EQ(difference(got.losses, again.losses), "");
    EXPECT_EQ(difference(got.values, again.values), "");
  }
}

constexpr int kProcesses = 0;

/// The parameter: how many threads, or kProcesses.
class GpuLayout : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string why;
    devices_ = gpus(&why);
    if (devices_ == 0) GTEST_SKIP() << why;
    maths::set_threads(1);
  }
  void TearDown() override { unsetenv("TUTTI_DEVICE"); }

  /// Runs `body` on every rank of a session on `device`; skipped if ranks and devices do not go together.
  void on_ranks(const char* device, const std::function<void(Session&)>& body) {
    setenv("TUTTI_DEVICE", device, 1);
    const SessionOptions options{.timeout_s = 60};
    try {
      if (GetParam() == kProcesses) {
        Session session(options);
        body(session);
      } else {
        run_threads(GetParam(), body, options);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || devices_ >= GetParam()) throw;
      GTEST_SKIP() << error.what();
    }
  }

  int devices_ = 0;
};
std::string name_of_job(const testing::TestParamInfo<int>& info) {
  return info.param == kProcesses ? "mpi" : std::to_string(info.param);
}
// Two instances, so that a filter picks the one that fits how the program was started.
INSTANTIATE_TEST_SUITE_P(Threads, GpuLayout, testing::Values(1, 2, 3), name_of_job);
INSTANTIATE_TEST_SUITE_P(Processes, GpuLayout, testing::Values(kProcesses), name_of_job);

TEST_P(GpuLayout, EveryRankFollowsTheSameLayoutOnTheCpu) {
  constexpr std::size_t most = 8;
  for (const Parallel layout : {Parallel::data, Parallel::tensor, Parallel::pipeline})
    for (const auto& [activation, loss] :
         {std::pair(Activation::relu, Loss::cross_entropy), std::pair(Activation::gelu, Loss::mean_square)}) {
      SCOPED_TRACE(std::string(name_of(layout)) + ", " + name_of(loss));
      const TrainerSpec spec = small_spec(activation, loss);
      std::array<Outcome<double>, most> expected, got;
      on_ranks("cpu", [&](Session& session) {
        Communicator comm = session.communicator();
        expected[static_cast<std::size_t>(comm.rank())] = train<double>(layout, host_maths<double>(), spec, &comm);
      });
      on_ranks("gpu", [&](Session& session) {
        ASSERT_TRUE(session.on_gpu());
        Communicator comm = session.communicator();
        const auto maths = gpu_maths<double>();
        got[static_cast<std::size_t>(comm.rank())] = train<double>(layout, *maths, spec, &comm);
      });
      if (IsSkipped()) return;
      for (std::size_t rank = 0; rank < most; ++rank) {
        SCOPED_TRACE("rank " + std::to_string(rank));
        expect_near(expected[rank], got[rank]);
      }
    }
}

TEST_P(GpuLayout, ARunTrainsOnTheGpuAndSaysSo) {
  for (const Parallel layout : {Parallel::serial, Parallel::data, Parallel::tensor, Parallel::pipeline}) {
    SCOPED_TRACE(name_of(layout));
    Config config = preset_config(Preset::lecture);
    config.parallel = layout;
    config.trainer.mlp.widths = {12, 12, 12, 12};
    config.trainer.batch = 50;
    config.epochs = 2;
    RunResult cpu, gpu;
    on_ranks("cpu", [&](Session& session) {
      if (RunResult result = run(session, config); session.rank() == 0) cpu = std::move(result);
    });
    on_ranks("gpu", [&](Session& session) {
      if (RunResult result = run(session, config); session.rank() == 0) gpu = std::move(result);
    });
    if (IsSkipped()) return;
    if (cpu.losses.empty()) continue;  // of another process
    EXPECT_EQ(cpu.device, "cpu");
    EXPECT_EQ(gpu.device, "gpu");
    EXPECT_EQ(difference(cpu.losses, gpu.losses, 1e-5), "");
  }
}

TEST_P(GpuLayout, ReplicasStayBitEqual) {
  std::array<Outcome<float>, 8> ranks;
  on_ranks("gpu", [&](Session& session) {
    Communicator comm = session.communicator();
    const auto maths = gpu_maths<float>();
    ranks[static_cast<std::size_t>(comm.rank())] =
        train<float>(Parallel::data, *maths, small_spec(Activation::relu, Loss::cross_entropy), &comm);
  });
  for (int rank = 1; rank < GetParam(); ++rank)
    EXPECT_EQ(difference(ranks[0].values, ranks[static_cast<std::size_t>(rank)].values), "") << "rank " << rank;
}

}  // namespace
}  // namespace tutti::trainers

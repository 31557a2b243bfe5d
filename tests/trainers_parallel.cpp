// Every layout against the serial trainer: losses, gradients and parameters after 1 and after 5 steps.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/trainers_problem.hpp"
#include "trainers/data_parallel.hpp"
#include "trainers/maths_host.hpp"
#include "trainers/run.hpp"
#include "trainers/serial.hpp"

namespace tutti::trainers {
namespace {

/// What one rank holds after a step.
template <class T>
struct Snapshot {
  double loss = 0;
  std::vector<Piece> pieces;
  std::vector<T> values, gradients;
};
/// [rank][step]
template <class T>
using History = std::vector<std::vector<Snapshot<T>>>;

// 6 layers, so that 5 stages are uneven. The widths are cut at some worlds and replicated at others, with a replicated
// layer between cut ones: 2 cuts all but 15; 3 cuts 15, 12, 6; 4 cuts 20, 16, 12; 5 cuts 20, 15, 10.
MlpSpec network(Activation activation, bool activate_last, bool bias) {
  return {
      .widths = {14, 20, 15, 16, 12, 10, 6}, .activation = activation, .activate_last = activate_last, .bias = bias};
}

// 53 samples in batches of 24, 24, 5: rows that divide by the world and rows that do not, also fewer than
// micro-batches.
constexpr std::uint32_t kSamples = 53;

template <class T>
Snapshot<T> snapshot(Trainer<T>& trainer, double loss) {
  Parameters<T>& p = trainer.parameters();
  Snapshot<T> s{loss, {}, {p.values(), p.values() + p.count()}, {p.gradients(), p.gradients() + p.count()}};
  for (int i = 0; i < p.pieces(); ++i) s.pieces.push_back(p.piece(i));
  return s;
}

template <class T>
std::vector<Snapshot<T>> train(Parallel layout, const TrainerSpec& spec, Communicator* comm, int steps,
                               std::uint32_t samples = kSamples) {
  const SmallData<T> data(samples, spec.mlp.widths.front(), spec.mlp.widths.back());
  Batches batches(spec.seed, samples, spec.batch);
  const auto trainer = make_trainer<T>(layout, host_maths<T>(), spec, comm);
  std::vector<Snapshot<T>> history;
  for (int step = 0; step < steps; ++step) {
    const double loss = trainer->step({&data, batches.next()});
    history.push_back(snapshot(*trainer, loss));
  }
  return history;
}

template <class T>
History<T> train_on(int world, Parallel layout, const TrainerSpec& spec, int steps, std::uint32_t samples = kSamples) {
  History<T> all(static_cast<std::size_t>(world));
  run_threads(world,
              [&](Session& session) {
                Communicator comm = session.communicator();
                all[static_cast<std::size_t>(comm.rank())] = train<T>(layout, spec, &comm, steps, samples);
              },
              {.timeout_s = 30});
  return all;
}

struct Tolerances {
  double loss;       // relative
  double gradients;  // relative to the largest of the serial tensor; 0: not compared
  double values;     // the same
  double absolute;   // allowed besides
};

/// The first difference between one rank's tensors and the serial model's slices, or empty.
template <class T>
std::string difference(const Snapshot<T>& serial, const Snapshot<T>& mine, const Tolerances& t) {
  const auto compare = [](const char* what, int layer, const T* got, const T* whole, std::size_t whole_count,
                          std::size_t begin, std::size_t count, double tolerance, double absolute) -> std::string {
    double largest = 0;
    for (std::size_t i = 0; i < whole_count; ++i) largest = std::max(largest, std::fabs(static_cast<double>(whole[i])));
    for (std::size_t i = 0; i < count; ++i) {
      const double expected = static_cast<double>(whole[begin + i]);
      if (!(std::fabs(static_cast<double>(got[i]) - expected) <= tolerance * largest + absolute))
        return std::string(what) + " of layer " + std::to_string(layer) + ", index " + std::to_string(i) +
               ": expected " + std::to_string(expected) + ", got " + std::to_string(got[i]) + ", largest " +
               std::to_string(largest);
    }
    return {};
  };
  std::vector<std::size_t> whole_at;
  std::size_t at = 0;
  for (const Piece& piece : serial.pieces) {
    whole_at.push_back(at);
    at += piece.parameters();
  }
  at = 0;
  for (const Piece& piece : mine.pieces) {
    const Piece& whole = serial.pieces[static_cast<std::size_t>(piece.layer)];
    const std::size_t base = whole_at[static_cast<std::size_t>(piece.layer)];
    const auto first = static_cast<std::size_t>(piece.outputs.begin);
    const auto check = [&](const char* what, const std::vector<T>& got, const std::vector<T>& expected,
                           double tolerance, double absolute) {
      std::string text = compare(what, piece.layer, got.data() + at, expected.data() + base, whole.weights(),
                                 first * static_cast<std::size_t>(piece.inputs), piece.weights(), tolerance, absolute);
      if (text.empty() && piece.bias)
        text = compare(what, piece.layer, got.data() + at + piece.weights(), expected.data() + base + whole.weights(),
                       static_cast<std::size_t>(whole.width), first, static_cast<std::size_t>(piece.outputs.size()),
                       tolerance, absolute);
      return text;
    };
    std::string text = check("values", mine.values, serial.values, t.values, t.absolute);
    if (text.empty() && t.gradients > 0) text = check("gradients", mine.gradients, serial.gradients, t.gradients, 0);
    if (!text.empty()) return text;
    at += piece.parameters();
  }
  return {};
}

template <class T>
Tolerances tolerances(const OptimizerSpec& optimizer, int steps) {
  constexpr bool single = sizeof(T) == sizeof(float);
  if (optimizer.kind == OptimizerKind::sgd) {
    const double t = single ? 1e-5 : 1e-12;
    return {t, t, t, 0};
  }
  // AdamW divides a gradient by its own size, so rounding of near-zero gradients shows in the parameters.
  if (single) return {1e-5, 0, 0, 0.1 * optimizer.rate * steps};
  return {1e-9, 1e-9, 1e-9, 0};
}

template <class T>
void expect_equal_to_serial(const TrainerSpec& spec, const std::vector<Snapshot<T>>& serial, const History<T>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const std::size_t step : {std::size_t{0}, std::size_t{4}}) {
      const Tolerances t = tolerances<T>(spec.optimizer, static_cast<int>(step) + 1);
      EXPECT_EQ(difference(serial[step], ranks[rank][step], t), "") << "rank " << rank << " after step " << step + 1;
    }
  for (std::size_t step = 0; step < serial.size(); ++step)
    EXPECT_NEAR(ranks[0][step].loss, serial[step].loss, tolerances<T>(spec.optimizer, 1).loss * serial[step].loss)
        << "step " << step + 1;
}

struct Case {
  Parallel layout;
  int world;
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int micro_batches = 4;
};

class Layout : public testing::TestWithParam<Case> {
 protected:
  template <class T>
  void compare() {
    maths::set_threads(1);
    const Case& c = GetParam();
    for (const auto& [mlp, loss] : {std::pair(network(Activation::relu, false, true), Loss::cross_entropy),
                                    std::pair(network(Activation::gelu, true, false), Loss::mean_square)})
      for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
        SCOPED_TRACE(std::string(name_of(kind)) + ", " + name_of(loss));
        const TrainerSpec spec{
            .mlp = mlp,
            .loss = loss,
            .optimizer = {.kind = kind, .rate = kind == OptimizerKind::sgd ? 0.05 : 1e-3, .weight_decay = 0.01},
            .seed = 11,
            .batch = 24,
            .micro_batches = c.micro_batches,
            .schedule = c.schedule};
        const auto serial = train<T>(Parallel::serial, spec, nullptr, 5);
        expect_equal_to_serial(spec, serial, train_on<T>(c.world, c.layout, spec, 5));
      }
  }
};

TEST_P(Layout, EqualsSerialInF32) { compare<float>(); }
TEST_P(Layout, EqualsSerialInF64) { compare<double>(); }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Parallel layout : {Parallel::data, Parallel::tensor, Parallel::pipeline})
    for (const int world : {1, 2, 3, 4, 5}) all.push_back({layout, world});
  for (const int world : {2, 4}) all.push_back({Parallel::pipeline, world, ScheduleKind::gpipe, 4});
  for (const int micro_batches : {1, 3, 7, 100})
    all.push_back({Parallel::pipeline, 3, ScheduleKind::one_f_one_b, micro_batches});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Trainers, Layout, testing::ValuesIn(cases()), [](const auto& test) {
  const Case& c = test.param;
  std::string name = std::string(name_of(c.layout)) + std::to_string(c.world);
  if (c.layout == Parallel::pipeline)
    name += std::string(c.schedule == ScheduleKind::gpipe ? "gpipe" : "alternating") + std::to_string(c.micro_batches);
  return name;
});

TrainerSpec small_spec(OptimizerKind kind, int batch) {
  return {.mlp = network(Activation::relu, false, true),
          .optimizer = {.kind = kind, .rate = kind == OptimizerKind::sgd ? 0.05 : 1e-3},
          .seed = 3,
          .batch = batch};
}

TEST(DataParallel, FewerRowsThanRanksTrainAsSerialDoes) {
  const TrainerSpec spec = small_spec(OptimizerKind::sgd, 3);
  const auto serial = train<double>(Parallel::serial, spec, nullptr, 5, 5);  // batches of 3 and 2 rows
  expect_equal_to_serial(spec, serial, train_on<double>(5, Parallel::data, spec, 5, 5));
}

TEST(DataParallel, ReplicasStayBitEqualEveryStep) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
    const auto ranks = train_on<float>(3, Parallel::data, small_spec(kind, 24), 6);
    for (std::size_t rank = 1; rank < ranks.size(); ++rank)
      for (std::size_t step = 0; step < 6; ++step)
        EXPECT_EQ(ranks[rank][step].values, ranks[0][step].values) << "rank " << rank << " step " << step + 1;
  }
}

TEST(TensorParallel, ReplicatedLayersStayBitEqualEveryStep) {
  const auto ranks = train_on<float>(4, Parallel::tensor, small_spec(OptimizerKind::adamw, 24), 6);
  for (std::size_t step = 0; step < 6; ++step)
    for (std::size_t rank = 1; rank < 4; ++rank) {
      EXPECT_EQ(ranks[rank][step].loss, ranks[0][step].loss) << "rank " << rank << " step " << step + 1;
      std::size_t at = 0, compared = 0;
      for (const Piece& piece : ranks[rank][step].pieces) {
        const auto count = static_cast<std::ptrdiff_t>(piece.parameters());
        const auto begin = static_cast<std::ptrdiff_t>(at);
        if (!piece.is_cut()) {
          ++compared;
          EXPECT_TRUE(std::equal(ranks[rank][step].values.begin() + begin,
                                 ranks[rank][step].values.begin() + begin + count,
                                 ranks[0][step].values.begin() + begin))
              << "rank " << rank << " layer " << piece.layer << " step " << step + 1;
        }
        at += piece.parameters();
      }
      EXPECT_EQ(compared, 3u);  // 15, 10 and 6 do not divide by 4
    }
}

/// Runs one data-parallel step, letting `meddle` touch the gradients after they were made equal; returns the first
/// difference to serial.
template <class F>
std::string difference_with(OptimizerKind kind, F&& meddle) {
  const TrainerSpec spec = small_spec(kind, 24);
  const auto serial = train<double>(Parallel::serial, spec, nullptr, 1);
  std::vector<std::string> found(4);
  run_threads(4,
              [&](Session& session) {
                Communicator comm = session.communicator();
                DataParallelTrainer<double> trainer(host_maths<double>(), spec, comm);
                const SmallData<double> data(kSamples, 14, 6);
                Batches batches(spec.seed, kSamples, spec.batch);
                const double loss = trainer.compute_gradients({&data, batches.next()});
                meddle(trainer.parameters());
                trainer.update();
                Tolerances t = tolerances<double>(spec.optimizer, 1);
                t.gradients = 0;  // the parameters alone must tell
                found[static_cast<std::size_t>(comm.rank())] = difference(serial[0], snapshot(trainer, loss), t);
              },
              {.timeout_s = 30});
  return found[0];
}
void scale(Parameters<double>& p) {
  for (std::size_t i = 0; i < p.count(); ++i) p.gradients()[i] *= 4;  // as if the average had been a sum
}

TEST(Oracle, AWrongGradientScaleIsFoundUnderSgd) {
  EXPECT_EQ(difference_with(OptimizerKind::sgd, [](auto&) {}), "");
  EXPECT_NE(difference_with(OptimizerKind::sgd, scale), "");
}

TEST(Oracle, AnUpdateWithoutOneTensorsGradientIsFound) {
  const auto drop_bias = [](Parameters<double>& p) { std::fill_n(p.bias_gradients(2), 16, 0.0); };
  EXPECT_NE(difference_with(OptimizerKind::sgd, drop_bias), "");
}

TEST(DataParallel, GradientsDifferBetweenRanksBeforeTheyAreReduced) {
  const TrainerSpec spec = small_spec(OptimizerKind::sgd, 24);
  std::vector<std::vector<float>> gradients(4);
  std::vector<double> losses(4);
  run_threads(4,
              [&](Session& session) {
                Communicator comm = session.communicator();
                DataParallelTrainer<float> trainer(host_maths<float>(), spec, comm);
                const SmallData<float> data(kSamples, 14, 6);
                Batches batches(spec.seed, kSamples, spec.batch);
                const auto rank = static_cast<std::size_t>(comm.rank());
                losses[rank] = trainer.compute_local_gradients({&data, batches.next()});
                gradients[rank].assign(trainer.parameters().gradients(),
                                       trainer.parameters().gradients() + trainer.parameters().count());
                comm.barrier();
              },
              {.timeout_s = 30});
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_NE(gradients[a], gradients[b]) << "ranks " << a << " and " << b;
      EXPECT_NE(losses[a], losses[b]) << "ranks " << a << " and " << b;
    }
}

TEST(Evaluation, EveryLayoutCountsTheSameAnswers) {
  const TrainerSpec spec = small_spec(OptimizerKind::adamw, 24);
  const SmallData<double> data(kSamples, 14, 6);
  std::vector<std::uint32_t> order(kSamples);
  std::iota(order.begin(), order.end(), 0u);
  const auto count = [&](Trainer<double>& trainer) {
    Batches batches(spec.seed, kSamples, spec.batch);
    for (int step = 0; step < 30; ++step) trainer.step({&data, batches.next()});
    std::int64_t hits = 0;
    for (std::size_t at = 0; at < kSamples; at += 24)
      hits += trainer.correct(
          {&data, std::span<const std::uint32_t>(order).subspan(at, std::min<std::size_t>(24, kSamples - at))});
    return hits;
  };
  maths::set_threads(1);
  SerialTrainer<double> serial(host_maths<double>(), spec);
  const std::int64_t expected = count(serial);
  EXPECT_GT(expected, static_cast<std::int64_t>(kSamples) / 4) << "30 steps taught nothing";
  EXPECT_LT(expected, static_cast<std::int64_t>(kSamples)) << "nothing left to tell right from wrong";
  for (const Parallel layout : {Parallel::data, Parallel::tensor, Parallel::pipeline})
    run_threads(3,
                [&](Session& session) {
                  Communicator comm = session.communicator();
                  const auto trainer = make_trainer<double>(layout, host_maths<double>(), spec, &comm);
                  EXPECT_EQ(count(*trainer), expected) << name_of(layout) << " rank " << comm.rank();
                },
                {.timeout_s = 30});
}

TEST(Pipeline, StagesWithoutTheLossReportNone) {
  const auto ranks = train_on<double>(3, Parallel::pipeline, small_spec(OptimizerKind::sgd, 24), 1);
  EXPECT_FALSE(std::isnan(ranks[0][0].loss));
  EXPECT_TRUE(std::isnan(ranks[1][0].loss));
  EXPECT_EQ(ranks[2][0].loss, ranks[0][0].loss);
}

TEST(Run, EndsOnEveryRankAlikeOnceALossIsNotFinite) {
  for (const Parallel layout : {Parallel::data, Parallel::tensor, Parallel::pipeline}) {
    SCOPED_TRACE(name_of(layout));
    Config config = preset_config(Preset::lecture);
    config.parallel = layout;
    config.trainer.mlp.widths = {9, 9, 9, 9};
    config.trainer.optimizer.rate = 1e30;
    config.epochs = 3;
    std::vector<std::string> said(3);
    run_threads(3, [&](Session& session) {
      try {
        run(session, config);
      } catch (const Diverged& error) {
        said[static_cast<std::size_t>(session.rank())] = error.what();
      }
    });
    EXPECT_NE(said[0].find("the loss of step 2 is"), std::string::npos) << said[0];
    for (std::size_t rank = 1; rank < 3; ++rank)
      EXPECT_NE(said[rank].find("the loss of step 2 is"), std::string::npos) << "rank " << rank << ": " << said[rank];
  }
}

TEST(Run, EndsOnEveryRankAlikeIfTheLastUpdateSpoiltTheParameters) {
  for (const Parallel layout : {Parallel::data, Parallel::tensor, Parallel::pipeline})
    for (const std::int64_t steps : {1, 2}) {
      SCOPED_TRACE(name_of(layout));
      Config config = preset_config(Preset::lecture);
      config.parallel = layout;
      config.trainer.mlp.widths = {9, 9, 9, 9};
      config.trainer.optimizer.rate = steps == 1 ? 1e30 : 1e-3;
      config.steps = steps;
      config.epochs = 2;
      std::vector<std::string> said(3);
      run_threads(3, [&](Session& session) {
        try {
          run(session, config);
        } catch (const Diverged& error) {
          said[static_cast<std::size_t>(session.rank())] = error.what();
        }
      });
      for (std::size_t rank = 0; rank < 3; ++rank)
        if (steps == 1)
          EXPECT_EQ(said[rank].find("the loss after step 1, the last, is "), 0u)
              << "rank " << rank << ": " << said[rank];
        else
          EXPECT_EQ(said[rank], "") << "rank " << rank;
    }
}

TEST(Pipeline, TheTraceNamesWhatIsSentToWhom) {
  TrainerSpec spec = small_spec(OptimizerKind::sgd, 8);
  spec.micro_batches = 2;
  std::vector<std::string> lines;
  std::mutex mutex;
  spec.trace = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  train_on<double>(2, Parallel::pipeline, spec, 1, 8);
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("sending 4x16["), 0u) << line;
    EXPECT_NE(line.find("...] to rank 1"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace tutti::trainers

#include "bench/predict/prediction.hpp"

#include <algorithm>
#include <vector>

#include "bench/predict/calls.hpp"
#include "bench/predict/links.hpp"

namespace tutti::predict {
namespace {

using timed::Machine;
using timed::Rank;
using timed::World;

constexpr double kNanosecond = 1e-9;
// From here on what a call finds warm is below a percent of it.
constexpr double kLongCall = 300e3;
// Where blocks are not folded; larger worlds are for orders of magnitude, and cost more to run.
constexpr int kWarmUps = 1, kTimed = 4;
// CPUs: a call takes the next slots of a ring of four, so that eight calls use each of them twice.
constexpr int kWarmUpsOfCaches = 8;
// As bench/race.cpp has it: calls of a few hundred nanoseconds cannot be timed alone.
constexpr std::size_t kTimedTogether = 4096;

/// One rank's part in the calls that are timed.
class Stopwatch {
 public:
  /// `fresh`: the program rewrites its input before each call and reads its result after it.
  Stopwatch(const Calls& calls, const World& world, Rank& rank, bool fresh)
      : calls_(calls), world_(world), rank_(rank), fresh_(fresh) {}

  /// The mean of so many calls from a barrier on, with all that the program does between them.
  double together(int count) {
    rank_.meet();
    const double begin = rank_.now();
    for (int i = 0; i < count; ++i) {
      prepare();
      call();
      check();
    }
    return (rank_.now() - begin) / count;
  }
  /// The same, each from a barrier on and by itself.
  double alone(int count) {
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      prepare();
      rank_.meet();
      const double begin = rank_.now();
      call();
      sum += rank_.now() - begin;
      check();
    }
    return sum / count;
  }
  /// How long the slowest rank takes for one call by itself: the same on all.
  double slowest() {
    prepare();
    rank_.meet();
    const double begin = rank_.now();
    call();
    rank_.meet();
    const double nanoseconds = rank_.now() - begin;
    check();
    return nanoseconds;
  }
  int count() const { return static_cast<int>(number_); }

 private:
  void prepare() {
    if (fresh_) calls_.prepare(rank_);
  }
  void check() {
    if (fresh_) calls_.check(rank_);
  }
  void call() {
    ++number_;
    for (const timed::Launch& launch : calls_.make(world_, rank_.rank(), number_)) rank_.call({&launch, 1});
  }

  const Calls& calls_;
  const World& world_;
  Rank& rank_;
  bool fresh_;
  std::uint64_t number_ = 0;
};

/// The most bytes, of the question's size, that are run as they are.
std::size_t run_as_they_are(const Calls& calls, const Question& question) {
  constexpr std::size_t kRounds = 16;  // through every slot, so that the ends of pipelines are all in
  const Geometry& geometry = calls.geometry();
  return std::max(question.whole_up_to, kRounds * static_cast<std::size_t>(calls.running_blocks()) *
                                            static_cast<std::size_t>(geometry.ranks) * geometry.slot_bytes);
}

Prediction run_whole(const Calls& made, const Question& question) {
  Calls calls = made;
  const Machine& machine = calls.machine();
  World world(machine, calls.geometry(), timed::Backing::none);
  calls.allocate(world);
  const bench::Case& c = question.c;
  const bool together = machine.is_gpu || (c.bytes <= kTimedTogether && !c.rooted());
  double nanoseconds = 0;
  int count = 1;
  world.run([&](Rank& rank) {
    Stopwatch watch(calls, world, rank, !machine.is_gpu);
    double mine = watch.slowest();
    if (mine < kLongCall && c.ranks <= question.folded_above) {
      watch.alone(machine.is_gpu ? kWarmUps : kWarmUpsOfCaches);
      mine = together ? watch.together(kTimed) : watch.alone(kTimed);
    } else if (!machine.is_gpu) {
      watch.alone(1);
      mine = watch.alone(1);  // the caches hold what the two before left
    }
    nanoseconds = std::max(nanoseconds, mine);
    count = watch.count();
  });
  Prediction prediction;
  prediction.algorithm = calls.plan().algorithm;
  prediction.blocks = calls.blocks();
  prediction.seconds = nanoseconds * kNanosecond * c.time_scale();
  prediction.wire_bytes = busiest_link(machine, world) / count;
  prediction.limit = least_seconds(machine, c);
  prediction.cost = calls.cost();
  return prediction;
}

}  // namespace

Prediction predict(const Machine& machine, const Question& question) {
  const Calls calls(machine, question);
  const std::size_t most = run_as_they_are(calls, question);
  if (!machine.is_gpu || question.c.bytes <= 2 * most) return run_whole(calls, question);
  const auto shorter = [&](std::size_t bytes) {
    Question part = question;
    part.c = bench::case_of(bytes, question.c);
    return std::pair{static_cast<double>(part.c.bytes), run_whole(Calls(machine, part), part)};
  };
  const auto [few, half] = shorter(most / 2);
  const auto [more, full] = shorter(most);
  const double times = (static_cast<double>(question.c.bytes) - more) / (more - few);
  Prediction prediction = full;
  prediction.seconds += times * (full.seconds - half.seconds);
  prediction.wire_bytes += times * (full.wire_bytes - half.wire_bytes);
  prediction.limit = least_seconds(calls.machine(), question.c);
  prediction.cost = calls.cost();
  return prediction;
}

}  // namespace tutti::predict

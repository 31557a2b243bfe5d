// Pipeline schedules as data: what each stage does, in order.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::trainers {

enum class Work : std::uint8_t {
  recv_activation,  ///< from the stage before
  forward,
  send_activation,  ///< to the stage after
  recv_gradient,    ///< from the stage after
  backward,
  send_gradient,  ///< to the stage before
};
const char* name_of(Work work);

struct Action {
  Work work;
  int micro_batch;
};

/// One list of actions per stage. A send is posted and its buffer is busy until the receiver gets to its receive; a
/// receive waits. Nothing is ever copied aside.
struct Schedule {
  int micro_batches = 0;
  std::vector<std::vector<Action>> stages;
};

enum class ScheduleKind : std::uint8_t {
  gpipe,       ///< all forwards, then all backwards
  one_f_one_b  ///< a warm-up of (stages - stage - 1) forwards, then forward and backward in turn: fewer activations
};
const char* name_of(ScheduleKind kind);
std::optional<ScheduleKind> parse_schedule(std::string_view name);

/// Any number of stages and micro-batches, at least one of each; fewer micro-batches than stages are fine.
Schedule make_schedule(ScheduleKind kind, int stages, int micro_batches);
/// Forward only, to evaluate.
Schedule make_forward_schedule(int stages, int micro_batches);

struct Verdict {
  std::string error;  ///< empty if the schedule is sound; else the first defect, with stage and micro-batch
  std::vector<int> peak_activations;  ///< per stage: most micro-batches held at once, from arrival to backward
};
/// Checks that every stage does every micro-batch once (forward, and backward unless `forward_only`), each action after
/// what it needs, that sends match receives in order, and that no stage waits for ever.
Verdict validate(const Schedule& schedule, bool forward_only = false);

struct Timing {
  std::int64_t makespan = 0;
  std::vector<std::int64_t> busy;  ///< per stage
  /// The share of all stages' time in which they wait: the bubble.
  double idle() const;
};
/// Runs a sound schedule with the given costs per micro-batch and free messages.
Timing simulate(const Schedule& schedule, std::int64_t forward_cost, std::int64_t backward_cost);

}  // namespace tutti::trainers

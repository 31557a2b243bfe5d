#include "trainers/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

namespace tutti::trainers {
namespace {

constexpr std::array kWorks = {"recv_activation", "forward",  "send_activation",
                               "recv_gradient",   "backward", "send_gradient"};
constexpr std::array kKinds = {"gpipe", "1f1b"};

/// Builds one stage's list with the messages that its computations need.
class StageBuilder {
 public:
  StageBuilder(int stage, int stages) : first_(stage == 0), last_(stage + 1 == stages) {}
  void forward(int m) {
    if (!first_) actions.push_back({Work::recv_activation, m});
    actions.push_back({Work::forward, m});
    if (!last_) actions.push_back({Work::send_activation, m});
  }
  void backward(int m) {
    if (!last_) actions.push_back({Work::recv_gradient, m});
    actions.push_back({Work::backward, m});
    if (!first_) actions.push_back({Work::send_gradient, m});
  }
  std::vector<Action> actions;

 private:
  bool first_;
  bool last_;
};

bool is_send(Work work) { return work == Work::send_activation || work == Work::send_gradient; }
bool is_receive(Work work) { return work == Work::recv_activation || work == Work::recv_gradient; }
/// The stage at the other end of a message, as an offset.
int direction(Work work) { return work == Work::send_activation || work == Work::recv_gradient ? 1 : -1; }

/// Walks all stages until every one has ended or none can go on; returns how far each came. run(stage, action, sent) is
/// told of each action as it runs, with the time at which a received message was sent, and returns the stage's time.
template <class F>
std::vector<std::size_t> walk(const Schedule& schedule, F&& run) {
  struct Message {
    int micro_batch;
    std::int64_t sent;
  };
  const std::size_t stages = schedule.stages.size();
  std::vector<std::size_t> next(stages, 0);
  // One queue per stage and direction it receives from.
  std::vector<std::deque<Message>> from_before(stages), from_after(stages);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages; ++s) {
      for (; next[s] < schedule.stages[s].size(); ++next[s], moved = true) {
        const Action action = schedule.stages[s][next[s]];
        std::int64_t arrival = 0;
        if (is_receive(action.work)) {
          auto& queue = action.work == Work::recv_activation ? from_before[s] : from_after[s];
          if (queue.empty() || queue.front().micro_batch != action.micro_batch) break;
          arrival = queue.front().sent;
          queue.pop_front();
        }
        const std::int64_t now = run(s, action, arrival);
        if (action.work == Work::send_activation) from_before[s + 1].push_back({action.micro_batch, now});
        if (action.work == Work::send_gradient) from_after[s - 1].push_back({action.micro_batch, now});
      }
    }
  }
  return next;
}

std::string describe(std::size_t stage, const Action& action) {
  return fmt::format("stage {}: {} of micro-batch {}", stage, name_of(action.work), action.micro_batch);
}

/// What must have been done before, on the same stage; nullopt: nothing.
std::optional<Work> needs(Work work, bool first, bool last) {
  switch (work) {
    case Work::forward: return first ? std::nullopt : std::optional(Work::recv_activation);
    case Work::send_activation: return Work::forward;
    case Work::recv_gradient: return Work::forward;
    case Work::backward: return last ? Work::forward : Work::recv_gradient;
    case Work::send_gradient: return Work::backward;
    default: return std::nullopt;
  }
}

/// Order and completeness within one stage.
std::string check_stage(const Schedule& schedule, std::size_t s, bool forward_only) {
  const bool first = s == 0;
  const bool last = s + 1 == schedule.stages.size();
  std::vector<std::array<bool, 6>> done(static_cast<std::size_t>(schedule.micro_batches));
  for (const Action& action : schedule.stages[s]) {
    const auto work = static_cast<std::size_t>(action.work);
    if (action.micro_batch < 0 || action.micro_batch >= schedule.micro_batches)
      return describe(s, action) + ": no such micro-batch";
    if ((is_send(action.work) || is_receive(action.work)) && (direction(action.work) < 0 ? first : last))
      return describe(s, action) + ": no stage there";
    auto& mine = done[static_cast<std::size_t>(action.micro_batch)];
    if (mine[work]) return describe(s, action) + ": done twice";
    const auto before = needs(action.work, first, last);
    if (before && !mine[static_cast<std::size_t>(*before)])
      return describe(s, action) + fmt::format(": comes before its {}", name_of(*before));
    mine[work] = true;
  }
  for (int m = 0; m < schedule.micro_batches; ++m)
    for (const Work work : {Work::forward, Work::send_activation, Work::backward, Work::send_gradient}) {
      const bool backward = work == Work::backward || work == Work::send_gradient;
      const bool absent_by_right = (backward && forward_only) || (work == Work::send_activation && last) ||
                                   (work == Work::send_gradient && first);
      if (!absent_by_right && !done[static_cast<std::size_t>(m)][static_cast<std::size_t>(work)])
        return describe(s, {work, m}) + ": missing";
    }
  return {};
}

}  // namespace

const char* name_of(Work work) { return kWorks[static_cast<std::size_t>(work)]; }
const char* name_of(ScheduleKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
std::optional<ScheduleKind> parse_schedule(std::string_view name) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (name == kKinds[i]) return static_cast<ScheduleKind>(i);
  return std::nullopt;
}

Schedule make_schedule(ScheduleKind kind, int stages, int micro_batches) {
  Schedule schedule{micro_batches, {}};
  for (int s = 0; s < stages; ++s) {
    StageBuilder build(s, stages);
    const int ahead = kind == ScheduleKind::gpipe ? micro_batches : std::min(stages - s - 1, micro_batches);
    for (int m = 0; m < ahead; ++m) build.forward(m);
    for (int m = 0; m < micro_batches; ++m) {
      if (ahead + m < micro_batches) build.forward(ahead + m);
      build.backward(m);
    }
    schedule.stages.push_back(std::move(build.actions));
  }
  return schedule;
}

Schedule make_forward_schedule(int stages, int micro_batches) {
  Schedule schedule{micro_batches, {}};
  for (int s = 0; s < stages; ++s) {
    StageBuilder build(s, stages);
    for (int m = 0; m < micro_batches; ++m) build.forward(m);
    schedule.stages.push_back(std::move(build.actions));
  }
  return schedule;
}

Verdict validate(const Schedule& schedule, bool forward_only) {
  Verdict verdict;
  if (schedule.stages.empty() || schedule.micro_batches < 1) return {"no stage or no micro-batch", {}};
  for (std::size_t s = 0; s < schedule.stages.size(); ++s) {
    verdict.error = check_stage(schedule, s, forward_only);
    if (!verdict.error.empty()) return verdict;
  }
  std::vector<int> held(schedule.stages.size());
  verdict.peak_activations.resize(schedule.stages.size());
  const auto next = walk(schedule, [&](std::size_t s, const Action& action, std::int64_t) {
    const bool arrives = action.work == (s == 0 ? Work::forward : Work::recv_activation);
    const bool leaves = action.work == (forward_only ? Work::forward : Work::backward);
    held[s] += arrives;
    verdict.peak_activations[s] = std::max(verdict.peak_activations[s], held[s]);
    held[s] -= leaves;
    return std::int64_t{0};
  });
  for (std::size_t s = 0; s < next.size(); ++s)
    if (next[s] < schedule.stages[s].size()) {
      verdict.error =
          describe(s, schedule.stages[s][next[s]]) + ": waits for ever, its message is not the next to come";
      return verdict;
    }
  return verdict;
}

double Timing::idle() const {
  std::int64_t sum = 0;
  for (const auto b : busy) sum += b;
  return 1 - static_cast<double>(sum) / (static_cast<double>(makespan) * static_cast<double>(busy.size()));
}

Timing simulate(const Schedule& schedule, std::int64_t forward_cost, std::int64_t backward_cost) {
  Timing timing{0, std::vector<std::int64_t>(schedule.stages.size())};
  std::vector<std::int64_t> clock(schedule.stages.size());
  walk(schedule, [&](std::size_t s, const Action& action, std::int64_t arrival) {
    const std::int64_t cost = action.work == Work::forward    ? forward_cost
                              : action.work == Work::backward ? backward_cost
                                                              : 0;
    timing.busy[s] += cost;
    clock[s] = std::max(clock[s], arrival) + cost;
    timing.makespan = std::max(timing.makespan, clock[s]);
    return clock[s];
  });
  return timing;
}

}  // namespace tutti::trainers

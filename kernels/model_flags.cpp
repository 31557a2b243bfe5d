// Signals: a flag's count, and the clock that comes with it.
#include <algorithm>

#include "kernels/model.hpp"

namespace tutti::model {

/// The clock that came with the earliest count that satisfies the wait: no more is certain.
void Model::acquire(Strand& me, const Wait& wait) {
  const Published& past = published_[wait.flag];
  constexpr std::size_t kMost = Published::kSignals;
  const std::size_t kept = std::min(past.sent, kMost);
  const Published::Signal* earliest = nullptr;
  bool forgotten = past.sent > kMost;  // whether it may be
  for (std::size_t back = 1; back <= kept; ++back) {
    const Published::Signal& signal = past.signals[(past.sent - back) % kMost];
    if (signal.count >= wait.wanted) earliest = &signal;
    if (signal.count > wait.wanted) continue;
    forgotten = false;
    break;
  }
  if (!earliest || (wait.tag && earliest->count != wait.wanted)) return;
  if (forgotten && !wait.tag)  // nobody should look back that far
    find(Defect::counts,
         text_of(me) + " waits for a count that is more than " + std::to_string(kMost) + " signals back");
  me.clock.join(earliest->clock);
  // What earlier calls sent is no step of this one.
  if (wait.wanted > wait.base) me.steps = std::max(me.steps, earliest->steps + 1);
}

void Model::publish(Strand& me, const Clock& known, std::uint64_t* flag, std::uint64_t value, bool tag) {
  Published& past = published_[flag];
  if (past.latest.strand >= 0) {
    const Strand& writer = strands_[static_cast<std::size_t>(past.latest.strand)];
    if (&writer != &me)
      find(Defect::counts,
           text_of(me) + " sets a flag that " + who(past.latest) + " set before: a flag has one writer");
  }
  past.latest = mark_of(me, true);
  if (!tag && value <= *flag)
    find(Defect::counts, text_of(me) + " sets a flag from " + std::to_string(*flag) + " to " + std::to_string(value) +
                             ": counts only grow");
  if (tag) past.sent = 0;  // nobody waits for older ones
  const std::size_t i = past.sent++ % Published::kSignals;
  if (i == past.signals.size()) past.signals.emplace_back();
  past.signals[i].count = tag ? static_cast<std::uint32_t>(value) : value;
  past.signals[i].steps = me.steps;
  past.signals[i].clock = known;
  me.clock.tick(me.number);
  *flag = value;
  wake(past.waiters);
}

}  // namespace tutti::model

// Signals: a flag's count, and the clock that comes with it.
#include <algorithm>

#include "kernels/model.hpp"

namespace tutti::model {
namespace {

constexpr std::size_t kSignals = 64;  // of a flag's past; waits look back by less than the slots

}  // namespace

/// The clock that came with the earliest count that satisfies the wait: no more is certain.
void Model::acquire(Strand& me, const Wait& wait) {
  const std::deque<Published::Signal>& past = published_[wait.flag].signals;
  const auto first = std::lower_bound(past.begin(), past.end(), wait.wanted,
                                      [](const Published::Signal& s, std::uint64_t count) { return s.count < count; });
  if (first == past.end() || (wait.tag && first->count != wait.wanted)) return;
  // The one waited for may be forgotten already; nobody should look back that far.
  if (first == past.begin() && past.size() == kSignals && !wait.tag && first->count > wait.wanted)
    find(Defect::counts,
         text_of(me) + " waits for a count that is more than " + std::to_string(kSignals) + " signals back");
  me.clock.join(first->clock);
  // What earlier calls sent is no step of this one.
  if (wait.wanted > wait.base) me.steps = std::max(me.steps, first->steps + 1);
}

void Model::publish(Strand& me, const Clock& known, std::uint64_t* flag, std::uint64_t value, bool tag) {
  Published& past = published_[flag];
  if (past.latest.strand >= 0) {
    const Strand& writer = strands_[static_cast<std::size_t>(past.latest.strand)];
    const bool in_one_group = past.latest.strand != me.number && past.latest.call == me.call;
    if (writer.rank != me.rank || writer.block != me.block || in_one_group)
      find(Defect::counts,
           text_of(me) + " sets a flag that " + who(past.latest) + " set before: a flag has one writer");
  }
  past.latest = mark_of(me, true);
  if (!tag && value <= *flag)
    find(Defect::counts, text_of(me) + " sets a flag from " + std::to_string(*flag) + " to " + std::to_string(value) +
                             ": counts only grow");
  if (tag) past.signals.clear();  // nobody waits for older ones
  if (past.signals.size() == kSignals) past.signals.pop_front();
  past.signals.push_back({tag ? static_cast<std::uint32_t>(value) : value, me.steps, known});
  me.clock.tick(me.number);
  *flag = value;
  wake(past.waiters);
}

}  // namespace tutti::model

#include "kernels/timed_flags.hpp"

#include <stdexcept>

namespace tutti::timed {

void Pasts::add(FlagPast& flag, const Signal& signal) {
  flag.count = signal.count;
  if (flag.spilled == 0 && flag.many < FlagPast::kKept) {
    const std::uint32_t at = (flag.first + flag.many++) % FlagPast::kKept;
    flag.seen[at] = signal.seen;
    flag.counts[at] = signal.count;
    flag.steps[at] = signal.steps;
    return;
  }
  if (flag.spilled == 0) {
    if (free_.empty()) {
      if (spilled_.size() == 0xffff) throw std::length_error("too many flags that nobody waits for");
      spilled_.emplace_back();
      free_.push_back(static_cast<std::uint16_t>(spilled_.size()));
    }
    flag.spilled = free_.back();
    free_.pop_back();
  }
  spilled_[flag.spilled - 1u].push_back(signal);
}

Signal Pasts::acquire(FlagPast& flag, std::uint64_t wanted) {
  flag.acquired = wanted;
  for (;;) {
    while (flag.many > 0 && flag.counts[flag.first] < wanted) {
      flag.first = static_cast<std::uint8_t>((flag.first + 1) % FlagPast::kKept);
      --flag.many;
    }
    if (flag.many > 0) return {flag.counts[flag.first], flag.seen[flag.first], flag.steps[flag.first]};
    std::deque<Signal>& more = spilled_[flag.spilled - 1u];
    while (!more.empty() && more.front().count < wanted) more.pop_front();
    for (; !more.empty() && flag.many < FlagPast::kKept; more.pop_front()) {
      const std::uint32_t at = (flag.first + flag.many++) % FlagPast::kKept;
      flag.seen[at] = more.front().seen;
      flag.counts[at] = more.front().count;
      flag.steps[at] = more.front().steps;
    }
    if (more.empty()) {
      free_.push_back(flag.spilled);
      flag.spilled = 0;
    }
  }
}

}  // namespace tutti::timed

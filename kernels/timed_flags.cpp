#include "kernels/timed_flags.hpp"

#include <stdexcept>

namespace tutti::timed {

void Pasts::add(FlagPast& flag, const Signal& signal) {
  flag.count = signal.count;
  if (flag.spilled == 0 && flag.many < FlagPast::kKept) {
    flag.kept[flag.many++] = {signal.seen, static_cast<std::uint32_t>(signal.count), signal.steps};
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
    // What is under way on one flag is far less than 2^31 signals.
    std::uint16_t past = 0;
    while (past < flag.many &&
           static_cast<std::int32_t>(flag.kept[past].count - static_cast<std::uint32_t>(wanted)) < 0)
      ++past;
    if (past > 0) {
      flag.many = static_cast<std::uint16_t>(flag.many - past);
      for (std::uint16_t i = 0; i < flag.many; ++i) flag.kept[i] = flag.kept[i + past];
    }
    if (flag.many > 0)
      return {wanted + (flag.kept[0].count - static_cast<std::uint32_t>(wanted)), flag.kept[0].seen,
              flag.kept[0].steps};
    std::deque<Signal>& more = spilled_[flag.spilled - 1u];
    while (!more.empty() && more.front().count < wanted) more.pop_front();
    for (; !more.empty() && flag.many < FlagPast::kKept; more.pop_front()) {
      const Signal& next = more.front();
      flag.kept[flag.many++] = {next.seen, static_cast<std::uint32_t>(next.count), next.steps};
    }
    if (more.empty()) {
      free_.push_back(flag.spilled);
      flag.spilled = 0;
    }
  }
}

}  // namespace tutti::timed

#include "tests/emulator/check/schedule_policy.hpp"

#include <fmt/format.h>

namespace tutti::emulator {
namespace {

constexpr std::size_t kBurst = 64;        // picks, at most
constexpr std::size_t kAlone = 2000;      // the same for a stream
constexpr std::size_t kLongPause = 5000;  // longer than a slice takes everybody
constexpr std::size_t kSeldom = 64;       // one of so many

}  // namespace

Policy::Policy(std::uint64_t seed, std::size_t streams)
    : random_(seed ^ 0x9e3779b97f4a7c15u),  // other numbers than the memory draws
      way_(static_cast<Way>(seed % static_cast<std::uint64_t>(Way::kWays))),
      still_until_(streams, 0) {
  chosen_ = below(streams);
}

bool Policy::stands_still(std::size_t stream) const {
  if (way_ == Way::late) return stream == chosen_;
  if (way_ == Way::one_stream) return stream != chosen_;
  return still_until_[stream] > picks_;
}

/// Any ready thread of a stream that does not stand still; if there is none, any.
std::uint32_t Policy::any(const ReadyThreads& ready) {
  std::size_t candidates = 0;
  for (std::size_t s = 0; s < ready.streams(); ++s)
    if (!stands_still(s)) candidates += ready.of(s).size();
  const bool all = candidates == 0;
  std::size_t number = below(all ? ready.total() : candidates);
  for (std::size_t s = 0;; ++s) {
    if (!all && stands_still(s)) continue;
    if (number < ready.of(s).size()) return ready.of(s)[number];
    number -= ready.of(s).size();
  }
}

std::uint32_t Policy::pick(const ReadyThreads& ready) {
  ++picks_;
  switch (way_) {
    case Way::uniform:
    case Way::paused_at_store:
    case Way::kWays: break;
    case Way::late:
      if (!ready.of(chosen_).empty() && below(kSeldom) == 0) {
        const auto& late = ready.of(chosen_);
        return late[below(late.size())];
      }
      break;
    case Way::bursts:
      if (left_ != 0 && ready.contains(current_)) {
        --left_;
        return current_;
      }
      left_ = 1 + below(kBurst);
      break;
    case Way::depth_first:
      if (picks_ > 1 && ready.contains(current_) && below(kSeldom) != 0) return current_;
      break;
    case Way::in_turn:
      for (std::size_t k = 0; k < ready.streams(); ++k) {
        chosen_ = (chosen_ + 1) % ready.streams();
        const auto& list = ready.of(chosen_);
        if (!list.empty()) return list[static_cast<std::size_t>(picks_) % list.size()];
      }
      break;
    case Way::one_stream:
      if (left_ == 0) {
        chosen_ = below(ready.streams());
        left_ = 1 + below(kAlone);
      }
      --left_;
      break;
  }
  return current_ = any(ready);
}

void Policy::ran(std::uint32_t, std::size_t stream, bool wrote) {
  if (way_ == Way::paused_at_store && wrote && below(8) == 0) still_until_[stream] = picks_ + below(kLongPause);
}

std::string Policy::name() const {
  switch (way_) {
    case Way::uniform: return "any thread";
    case Way::late: return fmt::format("stream {} late", chosen_);
    case Way::bursts: return "a thread for a while";
    case Way::depth_first: return "a thread as long as it can";
    case Way::in_turn: return "a thread of each stream in turn";
    case Way::paused_at_store: return "pauses at stores";
    case Way::one_stream: return "a stream for a while";
    case Way::kWays: break;
  }
  return "";
}

}  // namespace tutti::emulator

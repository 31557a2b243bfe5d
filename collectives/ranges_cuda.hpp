// The calls of backends on GPUs as named ranges in a profiler's time line (NVTX).
#pragma once
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <span>

#include "collectives/backend.hpp"

namespace tutti {

/// The range of a call on the calling thread: its enqueuing and, if the call waits, its end.
class CallRange {
 public:
  /// "all_reduce two_shot 4096 bytes" or "group of 3 messages". `how`: the algorithm, or whose.
  CallRange(std::span<const Request> requests, const char* how) {
    std::array<char, 64> name{};  // the rest of a longer one is cut off
    const auto end = name.size() - 1;
    if (requests.size() == 1)
      fmt::format_to_n(name.data(), end, "{} {} {} bytes", name_of(requests[0].collective), how, requests[0].bytes());
    else
      fmt::format_to_n(name.data(), end, "group of {} messages", requests.size());
    nvtxRangePushA(name.data());
  }
  CallRange(const CallRange&) = delete;
  CallRange& operator=(const CallRange&) = delete;
  ~CallRange() { nvtxRangePop(); }
};

}  // namespace tutti

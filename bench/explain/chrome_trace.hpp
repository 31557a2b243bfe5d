// A recording as Chrome's trace events, for ui.perfetto.dev and chrome://tracing.
#pragma once
#include <string>

#include "bench/explain/messages.hpp"
#include "bench/explain/recording.hpp"

namespace tutti::explain {

/// JSON: a process for each rank, a thread for each block, a slice for each word that takes time or signals, an arrow
/// from each signal to the wait that it ended first, a counter of the payload that each rank has received. `title` goes
/// into the metadata.
std::string chrome_trace(const Recording& recording, const Chains& chains, const std::string& title);

}  // namespace tutti::explain

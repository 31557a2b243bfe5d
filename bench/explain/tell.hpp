// From a recording to a story.
#pragma once
#include "bench/explain/messages.hpp"
#include "bench/explain/recording.hpp"
#include "bench/explain/story.hpp"

namespace tutti::explain {

/// Throws bench::ArgumentError if the kernel cuts cells.
Story tell(const Recording& recording, const Chains& chains);

/// Runs each: with the cells that they ask for, or, where none asks, with as many as make every kernel's formula exact,
/// if there are few such.
std::vector<Recording> record_alike(std::vector<Subject> subjects);

}  // namespace tutti::explain

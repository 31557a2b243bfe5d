// A story as a picture that stands still.
#pragma once
#include <string>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// SVG: of each step that moves something the cells after it, with arrows from where they came. `step`: of that step
/// alone, or of the cells before the call if 0; -1: all. Text is text, nothing else is needed, it reads in light and in
/// dark, and the same story makes the same bytes. Throws bench::ArgumentError if the story has no such step.
std::string picture(const Story& story, int step);

}  // namespace tutti::explain

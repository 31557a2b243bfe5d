// A story as people read it in a terminal.
#pragma once
#include <string>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// Everything: what is called, who moves what at each step, the cells after it, what it cost. `colour`: with escapes
/// for a terminal, else plain ASCII.
std::string table(const Story& story, bool colour);

/// "all_reduce, sum, by ring", "broadcast, root 1, by tree": for headings.
std::string title_of(const Story& story);

/// "step 2 of 7", "after the last message".
std::string title_of(const Step& step, const Story& story);

}  // namespace tutti::explain

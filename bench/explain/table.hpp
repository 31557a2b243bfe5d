// A story as people read it in a terminal.
#pragma once
#include <string>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// The columns that a terminal is taken to have.
inline constexpr int kColumns = 100;

/// Everything: what is called, who moves what at each step, the cells after it, what it cost. `colour`: with escapes
/// for a terminal, else plain ASCII.
std::string table(const Story& story, bool colour);

/// 3 -> "3", 2.5 -> "2.5", 0.333... -> "0.33".
std::string text_of_value(double value);

}  // namespace tutti::explain

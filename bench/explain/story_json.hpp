// A story as JSON: what `--story FILE` writes and what the page embeds.
#pragma once
#include <string>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// One JSON object on one line, ASCII, the same bytes for the same story. The keys are the members' names in the order
/// of story.hpp; kinds are their names ("in", "copy", "wait"). A cell is an array [value, ranks, index, chunk], its
/// ranks a list of numbers; an empty cell is null; `Cells` are arrays [row, first, count]; costs are arrays
/// [steps, bytes].
std::string to_json(const Story& story);

}  // namespace tutti::explain

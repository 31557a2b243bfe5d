// A story as the page reads it.
#pragma once
#include <nlohmann/json.hpp>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// Shorter than a story: of each step not all cells that it leaves, only those that it changed. `story.js` reads it.
nlohmann::ordered_json page_data(const Story& story);

}  // namespace tutti::explain

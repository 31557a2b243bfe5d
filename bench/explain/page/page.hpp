// A page that plays stories in a browser: one file that needs nothing else.
#pragma once
#include <string>
#include <vector>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// The page, as HTML. All stories are of one collective with as many ranks on one machine, by different algorithms or
/// in different memory; they share one time. The same stories make the same bytes.
std::string page_of(const std::vector<Story>& stories);

}  // namespace tutti::explain

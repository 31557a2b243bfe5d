// The files that a page is made of, as CMake embedded them.
#pragma once
#include <string_view>

namespace tutti::explain::parts {

extern const std::string_view page_html, page_css;
extern const std::string_view script;  ///< all of it, in the order that CMakeLists.txt gives

}  // namespace tutti::explain::parts

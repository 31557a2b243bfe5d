#include "bench/explain/page/page.hpp"

#include <string_view>

#include "bench/explain/page/page_data.hpp"
#include "bench/explain/page/parts.hpp"

namespace tutti::explain {
namespace {

// `text` with the one `place` in it replaced.
std::string filled(std::string_view text, std::string_view place, std::string_view with) {
  const std::size_t at = text.find(place);
  std::string all(text.substr(0, at));
  all.append(with).append(text.substr(at + place.size()));
  return all;
}

// JSON between script tags: no text in it may end the script.
std::string embedded(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))
    c == '<' ? text.append("\\u003c") : text.append(1, c);
  return text;
}

}  // namespace

std::string page_of(const std::vector<Story>& stories) {
  auto data = nlohmann::ordered_json::array();
  for (const Story& story : stories) data.push_back(page_data(story));
  std::string page = filled(parts::page_html, "{{page.css}}", parts::page_css);
  page = filled(page, "{{script}}", parts::script);
  return filled(page, "{{stories}}", embedded(data));
}

}  // namespace tutti::explain

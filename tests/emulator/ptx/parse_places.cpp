#include "tests/emulator/ptx/parse_places.hpp"

#include "tests/emulator/ptx/parse_number.hpp"

namespace tutti::emulator {
namespace {

constexpr std::uint32_t kMost = 0x7fffffff;

}  // namespace

// A .loc of inlined code names the position of the call; the latest .loc of that position says where that is inlined.
void Places::parse(Lexer& lexer) {
  const auto position = [&lexer] {
    const std::uint32_t file = parse_count(lexer, "a file", 0, kMost);
    const std::uint32_t line = parse_count(lexer, "a line", 0, kMost);
    return Position{file, line, parse_count(lexer, "a column", 0, kMost)};
  };
  const Position here = position();
  std::uint32_t within = 0;
  while (lexer.take(',')) {
    if (lexer.take("function_name")) {
      lexer.word("the label of a name");
      if (lexer.take('+')) parse_offset(lexer);
    } else if (lexer.take("inlined_at")) {
      const Position at = position();
      const auto found = latest_.find(at);
      within = found != latest_.end() ? found->second : place_of(std::get<0>(at), std::get<1>(at), 0);
    } else {
      lexer.expected("function_name or inlined_at");
    }
  }
  current_ = place_of(std::get<0>(here), std::get<1>(here), within);
  latest_[here] = current_;
}

std::uint32_t Places::place_of(std::uint32_t file, std::uint32_t line, std::uint32_t within) {
  const auto [entry, fresh] = known_.try_emplace({file, line, within}, static_cast<std::uint32_t>(places_.size()));
  if (fresh) {
    Place place;
    place.at.push_back({file, line});
    place.at.insert(place.at.end(), places_[within].at.begin(), places_[within].at.end());
    places_.push_back(std::move(place));
  }
  return entry->second;
}

}  // namespace tutti::emulator

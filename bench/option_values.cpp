#include "bench/option_values.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "bench/arguments.hpp"

namespace tutti::bench {

std::optional<std::string> help_or_read(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {
    throw ArgumentError(fmt::format("{} (-h lists the options)", error.what()));
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = list.find(',', begin);
    parts.push_back(list.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

int whole_number(const char* option, const std::string& text, int least, int most) {
  int value = 0;
  const bool digits = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) value = std::stoi(text);
  if (!digits || value < least || value > most)
    throw ArgumentError(fmt::format("{} '{}': use a whole number from {} to {}", option, text, least, most));
  return value;
}

}  // namespace tutti::bench

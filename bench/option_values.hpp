// What the values of options say, told the same way by all programs.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tutti::bench {

/// Lets `app` read the arguments (without the program's name). The text of -h if it is among them. Throws
/// ArgumentError.
std::optional<std::string> help_or_read(CLI::App& app, const std::vector<std::string>& arguments);

/// The parts of a list with commas; an empty text is one empty part.
std::vector<std::string> split(const std::string& list);

/// Throws ArgumentError, which names the option, if `text` is no whole number from `least` to `most`.
int whole_number(const char* option, const std::string& text, int least, int most);

}  // namespace tutti::bench

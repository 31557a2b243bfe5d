#include "tests/emulator/kernels/words.hpp"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <stdexcept>

namespace tutti::emulator {
namespace {

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == line.npos ? "" : line.substr(begin);
}

/// The function whose body has the line.
std::string enclosing_function(const std::vector<std::string>& lines, std::size_t number) {
  static const std::regex kBegins(R"(TUTTI_KERNEL.*?(\w+)\()");
  for (std::size_t at = std::min(number, lines.size()); at > 0; --at)
    if (std::smatch match; std::regex_search(lines[at - 1], match, kBegins)) return match[1];
  return "?";
}

}  // namespace

const std::vector<std::string>& Words::lines(const std::string& file) {
  auto& lines = files_[file];
  if (!lines.empty()) return lines;
  std::ifstream in(root_ + "/kernels/" + file);
  if (!in) throw std::runtime_error(fmt::format("cannot read kernels/{} in {}", file, root_));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string Words::text_of(const Module& module, const Function& function, const Instruction& instruction) {
  // Innermost first: the last place in the block is the word, the one after it the kernel's line.
  const Place& place = function.places[instruction.place];
  std::string word;
  for (const Place::At& at : place.at) {
    const std::string file = name_in(module.files()[at.file]);
    if (file == "block_cuda.cuh") {
      word = enclosing_function(lines(file), at.line);
    } else if (!word.empty()) {
      const auto& source = lines(file);
      return fmt::format("{} of `{}`", word, at.line <= source.size() ? trimmed(source[at.line - 1]) : "?");
    }
  }
  return "unknown";
}

}  // namespace tutti::emulator

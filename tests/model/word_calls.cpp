#include "tests/model/word_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace tutti::mutants {
namespace {

/// Comments made blank, so that all else stays where it is.
void blank_comments(std::string& source) {
  for (std::size_t at = 0; (at = source.find("//", at)) != source.npos;)
    for (; at < source.size() && source[at] != '\n'; ++at) source[at] = ' ';
}

/// From `begin` to the bracket that closes the first one after it, blanks and ends of lines made one blank.
std::string statement_at(const std::string& source, std::size_t begin) {
  std::string text;
  int open = 0;
  for (std::size_t at = begin; at < source.size(); ++at) {
    const char c = source[at];
    if (c == '\n' || c == ' ') {
      if (text.back() != ' ' && text.back() != '(') text += ' ';
      continue;
    }
    text += c;
    open += (c == '(') - (c == ')');
    if (c == ')' && open == 0) break;
  }
  return text;
}

}  // namespace

std::vector<WordCall> calls_in(const std::string& file, std::string source) {
  static const std::regex kCall(
      R"(\bblock_?\.((?:copy|reduce|enter|leave|signal|wait|advance_\w+|\w+_packets|offer|accept|sync|lane_to|lane_from)\())");
  blank_comments(source);
  std::vector<WordCall> calls;
  for (std::sregex_iterator found(source.begin(), source.end(), kCall), none; found != none; ++found) {
    const auto begin = static_cast<std::size_t>(found->position(1));
    const std::string word = (*found)[1];
    calls.push_back({file, 1 + static_cast<int>(std::count(source.begin(), source.begin() + found->position(1), '\n')),
                     word.substr(0, word.size() - 1), statement_at(source, begin)});
  }
  return calls;
}

WordCalls::WordCalls(const std::string& folder) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    // The executors are no kernels.
    if (entry.path().extension() == ".hpp" && !entry.path().filename().string().starts_with("block"))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream in(path);
    std::ostringstream source;
    source << in.rdbuf();
    for (WordCall& call : calls_in(path.filename(), source.str())) {
      if (find(call.file, call.line, call.word))
        throw std::runtime_error(
            fmt::format("{}:{} has {} twice: give each a line of its own", call.file, call.line, call.word));
      calls_.push_back(std::move(call));
    }
  }
  if (calls_.empty()) throw std::runtime_error(fmt::format("no kernels in {}", folder));
}

const WordCall* WordCalls::find(std::string_view file, int line, std::string_view word) const {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const WordCall& call) {
    return call.file == file && call.line == line && call.word == word;
  });
  return found == calls_.end() ? nullptr : &*found;
}

}  // namespace tutti::mutants

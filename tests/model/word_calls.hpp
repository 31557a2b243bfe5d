// Where the kernels' sources call words of their blocks: what a test of every word must have met.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tutti::mutants {

/// A call of a word in a kernel's source.
struct WordCall {
  std::string file;  ///< such as "ring.hpp"
  int line = 0;      ///< of its first letter
  std::string word;  ///< such as "wait"
  std::string text;  ///< as it stands there, but on one line: "wait(credit(next), k + 1 - slots)"
};

class WordCalls {
 public:
  /// Reads the kernels in `folder`. Throws std::runtime_error if it cannot be read, has no kernel, or if a line calls
  /// one word twice: words are told apart by their lines.
  explicit WordCalls(const std::string& folder);

  const std::vector<WordCall>& all() const { return calls_; }
  /// Null if no such word stands there.
  const WordCall* find(std::string_view file, int line, std::string_view word) const;

 private:
  std::vector<WordCall> calls_;  // by file and line
};

/// The calls in one source, comments apart.
std::vector<WordCall> calls_in(const std::string& file, std::string source);

}  // namespace tutti::mutants

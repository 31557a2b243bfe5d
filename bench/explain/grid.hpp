// Rows of cells as lines of text, within a terminal's columns.
#pragma once
#include <string>
#include <vector>

#include "bench/explain/story.hpp"

namespace tutti::explain {

/// The columns that a terminal is taken to have.
inline constexpr int kColumns = 100;

/// 3 -> "3", 2.5 -> "2.5", 0.333... -> "0.33".
std::string text_of_value(double value);

/// `text` with a terminal's escapes for `codes`, if `colour`.
std::string escaped(const std::string& text, const std::string& codes, bool colour);

class Grid {
 public:
  using State = std::vector<std::vector<Cell>>;  // [row]

  Grid(const Story& story, bool colour);

  /// Labels of rows, in the order in which they first come.
  const std::vector<std::string>& labels() const { return labels_; }

  /// The rows with these labels as they are `now`: a column for each rank if that fits, else a line for each, else
  /// several. What differs from `before`, if that is given, stands out.
  std::string text(const std::vector<std::string>& labels, const State& now, const State* before) const;

 private:
  /// Text whose escapes take no columns.
  struct Piece {
    std::string text;
    int width = 0;
  };
  using Pieces = std::vector<std::vector<Piece>>;  // [label][rank]

  void see(const std::vector<Cell>& cells);
  int row_of(const std::string& label, int rank) const;
  std::vector<Piece> pieces(int row, const State& now, const State* before, int width) const;
  std::string in_columns(const std::vector<std::string>& labels, const Pieces& pieces) const;
  std::string in_lines(const std::vector<std::string>& labels, const Pieces& pieces) const;
  std::string in_broken_lines(const std::string& label, const State& now, const State* before) const;

  const Story& story_;
  bool colour_;
  int width_ = 1;  // of a cell
  std::vector<std::string> labels_;
};

}  // namespace tutti::explain

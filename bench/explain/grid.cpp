#include "bench/explain/grid.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tutti::explain {
namespace {

constexpr int kMargin = 10;  // before the cells: a rank, or a row's label
constexpr int kGap = 3;      // between columns
constexpr int kColours = 6;  // of a terminal that are told apart on light and dark

std::string spaces(int count) { return std::string(static_cast<std::size_t>(std::max(0, count)), ' '); }

std::string trimmed(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1) + "\n"; }

}  // namespace

std::string text_of_value(double value) {
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  const std::string text = fmt::format("{:.2f}", value);
  return text.back() == '0' ? text.substr(0, text.size() - 1) : text;
}

std::string escaped(const std::string& text, const std::string& codes, bool colour) {
  return colour && !text.empty() ? fmt::format("\033[{}m{}\033[0m", codes, text) : text;
}

Grid::Grid(const Story& story, bool colour) : story_(story), colour_(colour) {
  for (const Row& row : story_.rows) {
    see(row.cells);
    if (std::find(labels_.begin(), labels_.end(), row.label) == labels_.end()) labels_.push_back(row.label);
  }
  for (const Step& step : story_.steps)
    for (const auto& row : step.after) see(row);
}

void Grid::see(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells)
    if (!cell.empty()) width_ = std::max(width_, static_cast<int>(text_of_value(cell.value).size()));
}

int Grid::row_of(const std::string& label, int rank) const {
  for (std::size_t i = 0; i < story_.rows.size(); ++i)
    if (story_.rows[i].label == label && story_.rows[i].rank == rank) return static_cast<int>(i);
  return -1;
}

/// The row's cells, its parts apart, in lines of up to `width` columns.
std::vector<Grid::Piece> Grid::pieces(int row, const State& now, const State* before, int width) const {
  const std::vector<int>& parts = story_.rows[static_cast<std::size_t>(row)].parts;
  const std::vector<Cell>& cells = now[static_cast<std::size_t>(row)];
  std::vector<Piece> lines(1);
  for (int c = 0; c < static_cast<int>(cells.size()); ++c) {
    const Cell& cell = cells[static_cast<std::size_t>(c)];
    const bool begins = std::find(parts.begin(), parts.end(), c) != parts.end();
    const auto next = std::upper_bound(parts.begin(), parts.end(), c);
    const int rest = (next == parts.end() ? static_cast<int>(cells.size()) : *next) - c;
    // A part that would not end in this line begins the next.
    if (lines.back().width > 0 && lines.back().width + kGap + (begins ? rest : 1) * (width_ + 1) - 1 > width)
      lines.emplace_back();
    Piece& line = lines.back();
    const std::string gap = line.width == 0 ? "" : begins ? " | " : " ";
    const std::string value = cell.empty() ? "." : text_of_value(cell.value);
    const bool fresh = before && (*before)[static_cast<std::size_t>(row)][static_cast<std::size_t>(c)] != cell;
    line.text += gap + spaces(width_ - static_cast<int>(value.size()));
    line.text += cell.empty()
                     ? escaped(value, "2", colour_)
                     : escaped(value, fmt::format("{}3{}", fresh ? "1;4;" : "", 1 + cell.chunk % kColours), colour_);
    line.width += static_cast<int>(gap.size()) + width_;
  }
  return lines;
}

std::string Grid::text(const std::vector<std::string>& labels, const State& now, const State* before) const {
  Pieces all;
  std::vector<std::string> shown;
  for (const std::string& label : labels) {
    std::vector<Piece> of_ranks(static_cast<std::size_t>(story_.ranks));
    bool any = false;
    for (int rank = 0; rank < story_.ranks; ++rank) {
      const int row = row_of(label, rank);
      if (row < 0) continue;
      any = true;
      of_ranks[static_cast<std::size_t>(rank)] = pieces(row, now, before, 1 << 20).front();
    }
    if (!any) continue;
    all.push_back(std::move(of_ranks));
    shown.push_back(label);
  }
  if (const std::string columns = in_columns(shown, all); !columns.empty()) return columns;
  if (const std::string lines = in_lines(shown, all); !lines.empty()) return lines;
  std::string text;
  for (const std::string& label : shown) text += in_broken_lines(label, now, before);
  return text;
}

/// Empty if too wide.
std::string Grid::in_columns(const std::vector<std::string>& labels, const Pieces& pieces) const {
  const auto n = static_cast<std::size_t>(story_.ranks);
  std::vector<int> widths;
  int total = kMargin - kGap;
  for (std::size_t r = 0; r < n; ++r) {
    widths.push_back(static_cast<int>(fmt::format("rank {}", r).size()));
    for (const auto& of_ranks : pieces) widths[r] = std::max(widths[r], of_ranks[r].width);
    total += widths[r] + kGap;
  }
  if (total > kColumns) return "";
  std::string head = spaces(kMargin);
  for (std::size_t r = 0; r < n; ++r) head += fmt::format("{:<{}}", fmt::format("rank {}", r), widths[r] + kGap);
  std::string text = trimmed(head);
  for (std::size_t l = 0; l < labels.size(); ++l) {
    std::string line = fmt::format("  {:<{}}", labels[l], kMargin - 2);
    for (std::size_t r = 0; r < n; ++r) line += pieces[l][r].text + spaces(widths[r] - pieces[l][r].width + kGap);
    text += trimmed(line);
  }
  return text;
}

/// The same.
std::string Grid::in_lines(const std::vector<std::string>& labels, const Pieces& pieces) const {
  std::vector<int> widths;
  std::string head = spaces(kMargin);
  int total = kMargin - kGap;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    widths.push_back(static_cast<int>(labels[l].size()));
    for (const Piece& piece : pieces[l]) widths[l] = std::max(widths[l], piece.width);
    total += widths[l] + kGap;
    head += fmt::format("{:<{}}", labels[l], widths[l] + kGap);
  }
  if (total > kColumns) return "";
  std::string text = trimmed(head);
  for (std::size_t r = 0; r < static_cast<std::size_t>(story_.ranks); ++r) {
    std::string line = fmt::format("  {:<{}}", fmt::format("rank {}", r), kMargin - 2);
    for (std::size_t l = 0; l < labels.size(); ++l)
      line += pieces[l][r].text + spaces(widths[l] - pieces[l][r].width + kGap);
    text += trimmed(line);
  }
  return text;
}

std::string Grid::in_broken_lines(const std::string& label, const State& now, const State* before) const {
  std::string text = spaces(kMargin) + label + "\n";
  for (int rank = 0; rank < story_.ranks; ++rank) {
    const int row = row_of(label, rank);
    if (row < 0) continue;
    std::string head = fmt::format("  {:<{}}", fmt::format("rank {}", rank), kMargin - 2);
    for (const Piece& line : pieces(row, now, before, kColumns - kMargin)) {
      text += head + line.text + "\n";
      head = spaces(kMargin);
    }
  }
  return text;
}

}  // namespace tutti::explain

#include "bench/explain/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "bench/sizes.hpp"

namespace tutti::explain {
namespace {

using State = std::vector<std::vector<Cell>>;  // [row]

/// Text whose escapes take no columns.
struct Piece {
  std::string text;
  int width = 0;
};

class Table {
 public:
  Table(const Story& story, bool colour) : s_(story), colour_(colour) {
    for (const Row& row : s_.rows) see(row.cells);
    for (const Step& step : s_.steps)
      for (const auto& row : step.after) see(row);
    for (const Row& row : s_.rows)
      if (std::find(labels_.begin(), labels_.end(), row.label) == labels_.end()) labels_.push_back(row.label);
  }

  std::string text() {
    std::string text = header();
    State now;
    for (const Row& row : s_.rows) now.push_back(row.cells);
    if (!now.empty()) text.append("\n").append(heading("before")) += grid({"in", "out"}, now, nullptr);
    for (const Step& step : s_.steps) {
      text.append("\n").append(heading(title(step)));
      for (const Action& action : step.actions) text += fmt::format("  {:<72}  {}\n", action.text, dim(action.source));
      text += flags(step);
      std::vector<std::string> changed;
      for (const std::string& label : labels_)
        if (changes(label, now, step.after)) changed.push_back(label);
      if (!changed.empty()) text += grid(changed, step.after, &now);
      now = step.after;
    }
    if (!now.empty()) text.append("\n").append(heading("after")) += grid({"in", "out"}, now, nullptr);
    return text + "\n" + footer();
  }

 private:
  void see(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells)
      if (!cell.empty()) width_ = std::max(width_, static_cast<int>(text_of_value(cell.value).size()));
  }

  std::string escape(const std::string& text, const std::string& codes) const {
    return colour_ && !text.empty() ? "\033[" + codes + "m" + text + "\033[0m" : text;
  }
  std::string dim(const std::string& text) const { return escape(text, "2"); }
  std::string heading(const std::string& text) const { return escape(text, "1") + "\n"; }

  std::string header() const {
    std::string call = s_.collective;
    if (s_.sums) call += ", " + s_.op;
    if (s_.root >= 0)
      call += s_.collective == "send_recv" ? fmt::format(" from rank {} to rank {}", s_.root, (s_.root + 1) % s_.ranks)
                                           : fmt::format(", root {}", s_.root);
    std::string text = escape(fmt::format("{}, by {}", call, s_.algorithm), "1");
    text += fmt::format(" ({}): {} ranks, {} memory, {} block{}, in virtual time on '{}'\n", s_.file, s_.ranks,
                        s_.memory, s_.blocks, s_.blocks > 1 ? "s" : "", s_.machine);
    if (!s_.values.empty())
      text += fmt::format("A cell is {} equal f32, {} bytes; {}; \".\" is a cell that nobody has written yet.\n",
                          s_.cell_bytes / 4, s_.cell_bytes, s_.values);
    return text;
  }

  std::string title(const Step& step) const {
    const std::string when = step.number <= s_.counted.steps
                                 ? fmt::format("step {} of {}", step.number, s_.counted.steps)
                                 : std::string("after the last message");
    return step.text.empty() ? when : when + "; " + step.text;
  }

  /// Which flags were sent, where one sends to all or to one; those of an exchange between all have their own words.
  std::string flags(const Step& step) const {
    std::map<std::string, std::string> lists;
    for (const Message& m : step.messages)
      if (m.heard >= 0 && (m.purpose == "data" || m.purpose == "credit"))
        lists[m.purpose] += fmt::format(" {}>{}", m.from, m.to);
    std::string text;
    for (const auto& [purpose, list] : lists) {
      const std::string line = fmt::format("  {} flags:{}", purpose, list);
      text += dim(line.size() <= kColumns ? line : line.substr(0, line.rfind(' ', kColumns - 5)) + " ...") + "\n";
    }
    return text;
  }

  const Row* row_of(const std::string& label, int rank, std::size_t* index) const {
    for (std::size_t i = 0; i < s_.rows.size(); ++i)
      if (s_.rows[i].label == label && s_.rows[i].rank == rank) {
        *index = i;
        return &s_.rows[i];
      }
    return nullptr;
  }

  bool changes(const std::string& label, const State& before, const State& after) const {
    for (std::size_t i = 0; i < s_.rows.size(); ++i)
      if (s_.rows[i].label == label && before[i] != after[i]) return true;
    return false;
  }

  /// Cells in their columns, parts apart; those that differ from `before` stand out.
  Piece piece(const Row& row, const std::vector<Cell>& cells, const std::vector<Cell>* before) const {
    Piece piece;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const bool begins = std::find(row.parts.begin(), row.parts.end(), static_cast<int>(c)) != row.parts.end();
      const std::string gap = c == 0 ? "" : begins ? " | " : " ";
      const std::string value = cells[c].empty() ? "." : text_of_value(cells[c].value);
      const bool fresh = before && (*before)[c] != cells[c];
      piece.text += gap + std::string(static_cast<std::size_t>(width_) - value.size(), ' ');
      piece.text += cells[c].empty() ? dim(value)
                                     : escape(value, fmt::format("{}3{}", fresh ? "1;4;" : "", 1 + cells[c].chunk % 6));
      piece.width += static_cast<int>(gap.size()) + width_;
    }
    return piece;
  }

  static std::string padded(const Piece& piece, int width) {
    return piece.text + std::string(static_cast<std::size_t>(std::max(0, width - piece.width)), ' ');
  }

  /// The rows with these labels: a column for each rank if that fits, else a line for each.
  std::string grid(const std::vector<std::string>& labels, const State& now, const State* before) const {
    std::vector<std::vector<Piece>> pieces;  // [label][rank]
    std::vector<std::string> shown;
    for (const std::string& label : labels) {
      std::vector<Piece> of_ranks;
      bool any = false;
      for (int rank = 0; rank < s_.ranks; ++rank) {
        std::size_t i = 0;
        const Row* const row = row_of(label, rank, &i);
        any |= row != nullptr;
        of_ranks.push_back(row ? piece(*row, now[i], before ? &(*before)[i] : nullptr) : Piece{});
      }
      if (!any) continue;
      pieces.push_back(std::move(of_ranks));
      shown.push_back(label);
    }
    const std::string columns = in_columns(shown, pieces);
    return columns.empty() ? in_lines(shown, pieces) : columns;
  }

  /// Empty if too wide.
  std::string in_columns(const std::vector<std::string>& labels, const std::vector<std::vector<Piece>>& pieces) const {
    const auto n = static_cast<std::size_t>(s_.ranks);
    std::vector<int> widths(n, 7);
    int total = 10;
    for (std::size_t r = 0; r < n; ++r) {
      for (const auto& of_ranks : pieces) widths[r] = std::max(widths[r], of_ranks[r].width);
      total += widths[r] + 3;
    }
    if (total - 3 > kColumns) return "";
    std::string text(10, ' ');
    for (std::size_t r = 0; r < n; ++r) text += fmt::format("{:<{}}", fmt::format("rank {}", r), widths[r] + 3);
    text = trimmed(text) + "\n";
    for (std::size_t l = 0; l < labels.size(); ++l) {
      std::string line = fmt::format("  {:<8}", labels[l]);
      for (std::size_t r = 0; r < n; ++r) line += padded(pieces[l][r], widths[r]) + "   ";
      text += trimmed(line) + "\n";
    }
    return text;
  }

  std::string in_lines(const std::vector<std::string>& labels, const std::vector<std::vector<Piece>>& pieces) const {
    std::vector<int> widths;
    int total = 10;
    for (std::size_t l = 0; l < labels.size(); ++l) {
      int most = static_cast<int>(labels[l].size());
      for (const Piece& piece : pieces[l]) most = std::max(most, piece.width);
      widths.push_back(most);
      total += most + 3;
    }
    std::string text;
    if (total - 3 > kColumns && labels.size() > 1) {  // one after the other
      for (std::size_t l = 0; l < labels.size(); ++l) text += in_lines({labels[l]}, {pieces[l]});
      return text;
    }
    std::string head(10, ' ');
    for (std::size_t l = 0; l < labels.size(); ++l) head += fmt::format("{:<{}}", labels[l], widths[l] + 3);
    text = trimmed(head) + "\n";
    for (std::size_t r = 0; r < static_cast<std::size_t>(s_.ranks); ++r) {
      std::string line = fmt::format("  {:<8}", fmt::format("rank {}", r));
      for (std::size_t l = 0; l < labels.size(); ++l) line += padded(pieces[l][r], widths[l]) + "   ";
      text += trimmed(line) + "\n";
    }
    return text;
  }

  static std::string trimmed(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

  std::string footer() const {
    const auto bytes = [](double b) {
      return b == std::floor(b) ? fmt::format("{:.0f}", b) : fmt::format("{:.2f}", b);
    };
    const bool steps = s_.counted.steps == s_.formula.steps,
               moved = std::abs(s_.counted.bytes - s_.formula.bytes) < 1e-6;
    std::string text =
        fmt::format("counted: {} step{}, {} bytes by the rank that moves most; formula in {}: {} step{}, {} bytes; ",
                    s_.counted.steps, s_.counted.steps == 1 ? "" : "s", bytes(s_.counted.bytes), s_.file,
                    s_.formula.steps, s_.formula.steps == 1 ? "" : "s", bytes(s_.formula.bytes));
    text = s_.formula_text.empty() && steps && moved ? text + "they agree\n"
                                                     : text + "they DIFFER: " + s_.formula_text + "\n";
    text += fmt::format("virtual time: {:.0f} ns. ", s_.end);
    text += s_.right ? "The replay of the moves equals the memory bit for bit, and the result is right.\n"
                     : "WRONG: " + s_.wrong + "\n";
    return text;
  }

  const Story& s_;
  bool colour_;
  int width_ = 1;
  std::vector<std::string> labels_;
};

}  // namespace

std::string text_of_value(double value) {
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  std::string text = fmt::format("{:.2f}", value);
  return text.back() == '0' ? text.substr(0, text.size() - 1) : text;
}

std::string table(const Story& story, bool colour) { return Table(story, colour).text(); }

}  // namespace tutti::explain

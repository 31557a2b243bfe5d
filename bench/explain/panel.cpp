#include "bench/explain/panel.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "bench/explain/grid.hpp"
#include "bench/explain/table.hpp"

namespace tutti::explain {
namespace {

constexpr double kCellHeight = 22, kLineGap = 4, kFewGap = 34, kManyGap = 76, kPartGap = 7, kRankGap = 30;
constexpr double kLabels = 58;        // for the rows' labels, at the left
constexpr double kTop = 44;           // for the step and the ranks
constexpr double kBottom = 34;        // for arrows that go back up, or
constexpr double kBottomOfSums = 58;  // for sums of what stands in the last row
constexpr double kLeastRank = 64;
constexpr double kMostOfLine = 8;  // cells beside each other, if a buffer has more

/// The hue of a chunk: neighbours far apart.
int hue(int chunk, int chunks) { return chunks <= 0 ? 210 : (210 + chunk * 360 / chunks) % 360; }
std::string fill(int chunk, int chunks) { return fmt::format("hsl({} 75% 78%)", hue(chunk, chunks)); }
std::string stroke(int chunk, int chunks) { return fmt::format("hsl({} 60% 45%)", hue(chunk, chunks)); }

const char* sign_of(const std::string& op) { return op == "prod" ? "\u00d7" : op == "min" || op == "max" ? "m" : "+"; }

}  // namespace

Panel::Panel(const Story& story) : story_(story), gap_(kFewGap) { lay_out(); }

bool Panel::shows(const Step& step) const {
  return !step.actions.empty() || (story_.rows.empty() && !step.messages.empty());
}

void Panel::lay_out() {
  std::size_t digits = 1;
  for (const Step& step : story_.steps)
    for (const auto& row : step.after)
      for (const Cell& each : row)
        if (!each.empty()) digits = std::max(digits, text_of_value(each.value).size());
  const double cell = 13 + 6.8 * static_cast<double>(digits);

  // A row takes as many lines as its parts need beside each other within the width of a buffer.
  double room = kLeastRank;
  for (const Row& row : story_.rows)
    if (row.kind != Row::Kind::slot)
      room = std::max(room,
                      cell * static_cast<double>(row.cells.size()) + kPartGap * static_cast<double>(row.parts.size()));
  room = std::min(room, kMostOfLine * cell + kMostOfLine * kPartGap);
  const char* const order[] = {"in", "inbox", "outbox", "packets", "message", "out"};
  for (const char* label : order)
    for (const Row& row : story_.rows)
      if (row.label == label && (labels_.empty() || labels_.back() != label)) labels_.emplace_back(label);

  // Many arrows need room to be told apart.
  constexpr std::size_t kMany = 3;
  for (const Step& step : story_.steps)
    for (const Action& each : step.actions)
      if (each.from.size() >= kMany || each.to.size() >= kMany) gap_ = kManyGap;

  boxes_.resize(story_.rows.size());
  double y = kTop;
  for (const std::string& label : labels_) {
    tops_.push_back(y);
    double bottom = y + kCellHeight;
    for (std::size_t r = 0; r < story_.rows.size(); ++r) {
      const Row& row = story_.rows[r];
      if (row.label != label) continue;
      double x = 0, line = y;
      for (int c = 0; c < static_cast<int>(row.cells.size()); ++c) {
        const bool begins = std::find(row.parts.begin(), row.parts.end(), c) != row.parts.end();
        const auto next = std::upper_bound(row.parts.begin(), row.parts.end(), c);
        const int rest = (next == row.parts.end() ? static_cast<int>(row.cells.size()) : *next) - c;
        if (begins) x += kPartGap;
        if (begins ? x > 0 && x + cell * rest > room + 1 : x + cell > room + 1) {
          x = 0;
          line += kCellHeight + kLineGap;
        }
        boxes_[r].push_back({x, line, cell, kCellHeight});
        x += cell;
      }
      bottom = std::max(bottom, line + kCellHeight);
    }
    bottoms_.push_back(bottom);
    y = bottom + gap_;
  }
  double x = kLabels;
  for (int rank = 0; rank < story_.ranks; ++rank) {
    double width = kLeastRank;
    for (std::size_t r = 0; r < story_.rows.size(); ++r)
      for (const Box& box : boxes_[r])
        if (story_.rows[r].rank == rank) width = std::max(width, box.x + box.width);
    for (std::size_t r = 0; r < story_.rows.size(); ++r)
      for (Box& box : boxes_[r])
        if (story_.rows[r].rank == rank) box.x += x;
    left_.push_back(x);
    right_.push_back(x + width);
    x += width + kRankGap;
  }
  width_ = static_cast<int>(x);
  height_ = static_cast<int>((labels_.empty() ? kTop + gap_ : y - gap_) + (sums_below() ? kBottomOfSums : kBottom));
}

/// Whether some sum gathers below the last row.
bool Panel::sums_below() const {
  for (const Step& step : story_.steps)
    for (const Action& each : step.actions)
      for (const Cells& from : each.from)
        if (each.kind == Action::Kind::add && story_.rows[static_cast<std::size_t>(from.row)].label == labels_.back())
          return true;
  return false;
}

std::string Panel::definitions() const {
  std::string text = "<defs>\n";
  const auto marker = [&](const std::string& name, const std::string& colour) {
    text += fmt::format(
        R"(<marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5.5" markerHeight="5.5" orient="auto">)"
        R"(<path d="M0 0 8 4 0 8z" fill="{}"/></marker>)"
        "\n",
        name, colour);
  };
  for (int c = 0; c < story_.chunks; ++c) marker(fmt::format("a{}", c), stroke(c, story_.chunks));
  marker("flag", "currentColor");
  return text + "</defs>\n";
}

Panel::Box Panel::box_of(const Cells& cells) const {
  const auto& row = boxes_[static_cast<std::size_t>(cells.row)];
  const Box& first = row[static_cast<std::size_t>(cells.first)];
  const Box& last = row[static_cast<std::size_t>(cells.first + cells.count - 1)];
  if (last.y > first.y) {  // over several lines: the first of them
    const Box& whole = row.front();
    return {first.x, first.y, std::max(first.width, last.x + last.width - whole.x), first.height};
  }
  return {first.x, first.y, last.x + last.width - first.x, first.height};
}

/// Of all lines of the row and those beside it.
double Panel::bottom_of(const Cells& cells) const {
  const std::string& label = story_.rows[static_cast<std::size_t>(cells.row)].label;
  const auto at = std::find(labels_.begin(), labels_.end(), label) - labels_.begin();
  return bottoms_[static_cast<std::size_t>(at)];
}

/// Whether a slot's cell is still to be read at the step, or later.
bool Panel::needed(int row, int number, int index) const {
  if (story_.rows[static_cast<std::size_t>(row)].kind != Row::Kind::slot) return true;
  for (std::size_t s = static_cast<std::size_t>(std::max(0, index)); s < story_.steps.size(); ++s)
    for (const Action& each : story_.steps[s].actions)
      for (const Cells& from : each.from)
        if (from.row == row && from.first <= number && number < from.first + from.count) return true;
  return false;
}

std::string Panel::cell(int row, int number, const Cell& cell, bool fresh, bool old) const {
  const Box& box = boxes_[static_cast<std::size_t>(row)][static_cast<std::size_t>(number)];
  const std::string where =
      fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", box.x, box.y, box.width, box.height);
  if (cell.empty()) return fmt::format("<rect class=\"empty\" {}/>\n", where);
  std::string text = old ? "<g class=\"old\">\n" : "";
  text += fmt::format("<rect class=\"cell{}\" {} fill=\"{}\"/>\n", fresh ? " fresh" : "", where,
                      fill(cell.chunk, story_.chunks));
  text += fmt::format("<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", box.x + box.width / 2,
                      box.y + (story_.sums ? 14 : 15.5), text_of_value(cell.value));
  // Whose parts a sum has: a dash for each rank.
  const double dash = (box.width - 4) / story_.ranks;
  for (int r = 0; story_.sums && r < story_.ranks; ++r)
    if (cell.ranks >> r & 1)
      text += fmt::format("<rect class=\"part\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"2\"/>\n",
                          box.x + 2 + r * dash + 0.4, box.y + kCellHeight - 4, dash - 0.8);
  return text + (old ? "</g>\n" : "");
}

std::string Panel::cells_of(int index) const {
  std::string text;
  for (std::size_t r = 0; r < story_.rows.size(); ++r) {
    const Row& row = story_.rows[r];
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const int at = static_cast<int>(r), number = static_cast<int>(c);
      const auto state = [&](int i) -> const Cell& {
        return i < 0 ? row.cells[c] : story_.steps[static_cast<std::size_t>(i)].after[r][c];
      };
      const bool fresh = index >= 0 && state(index) != state(index - 1);
      text += cell(at, number, state(index), fresh, !fresh && !needed(at, number, index));
    }
  }
  return text;
}

std::string Panel::curve(Point from, Point to, bool down, const std::string& look) const {
  const double bend = down ? std::max(14.0, (to.y - from.y) / 2) : 24;
  const double end = down ? to.y - bend : to.y + bend;
  return fmt::format("<path {} d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n", look, from.x,
                     from.y, from.x, from.y + bend, to.x, end, to.x, to.y);
}

int Panel::chunk_of(const Action& action, int index) const {
  const Cells& to = action.to.front();
  return story_.steps[static_cast<std::size_t>(index)]
      .after[static_cast<std::size_t>(to.row)][static_cast<std::size_t>(to.first)]
      .chunk;
}

/// Copies go from cell to cell; a sum gathers in a circle below its doer's cells and goes from there.
std::string Panel::action(const Action& action, int chunk) const {
  const std::string colour = stroke(chunk, story_.chunks);
  const std::string line = fmt::format("class=\"arrow\" stroke=\"{}\"", colour);
  const std::string arrow = fmt::format("{} marker-end=\"url(#a{})\"", line, chunk);
  const auto below = [](const Box& box) { return Point{box.x + box.width / 2, box.y + box.height}; };
  const auto reach = [&](Point from, const Cells& to) {
    const Box box = box_of(to);
    const bool down = box.y > from.y + 4;
    const double bottom = bottom_of(to);
    if (!down && box.y + box.height < bottom - 1) {  // another line is below it: from the left
      const double middle = box.y + box.height / 2;
      return fmt::format("<path {} d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n", arrow, from.x,
                         from.y, from.x, from.y + 24, box.x - 44, middle + 6, box.x - 2, middle);
    }
    const double across = box.x + box.width / 2 - from.x;
    if (!down && across > -box.width / 2 && across < box.width / 2)  // right above: beside what comes down
      return curve({from.x - 7, from.y - 7}, {from.x - 12, box.y + box.height + 1}, false, arrow);
    return curve(from, {box.x + box.width / 2, down ? box.y - 1 : box.y + box.height + 1}, down, arrow);
  };
  std::string text;
  if (action.kind == Action::Kind::copy) {
    const Box source = box_of(action.from.front());
    for (const Cells& to : action.to) text += reach(below(source), to);
    return text;
  }
  double lowest = 0;
  for (const Cells& from : action.from) lowest = std::max(lowest, bottom_of(from));
  const auto rank = static_cast<std::size_t>(action.rank);
  const Box target = box_of(action.to.front());
  const double x = std::clamp(target.x + target.width / 2, left_[rank] + 8, right_[rank] - 8);
  const Point sum{x, lowest + gap_ / 2};
  for (const Cells& from : action.from) text += curve(below(box_of(from)), {sum.x, sum.y - 7}, true, line);
  for (const Cells& to : action.to) text += reach({sum.x, sum.y + 7}, to);
  text +=
      fmt::format("<circle class=\"sum\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\" stroke=\"{}\"/>\n", sum.x, sum.y, colour);
  text +=
      fmt::format("<text class=\"sign\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", sum.x, sum.y + 4.2, sign_of(story_.op));
  return text;
}

std::string Panel::flags(const Step& step) const {
  std::string text;
  for (std::size_t rank = 0; rank < left_.size(); ++rank)
    text += fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"22\" rx=\"4\"/>\n",
                        left_[rank] - 8, kTop - 22, right_[rank] - left_[rank]);
  std::vector<Message> messages = step.messages;
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  for (const Message& m : messages) {
    const auto from = static_cast<std::size_t>(m.from), to = static_cast<std::size_t>(m.to);
    const double shift = m.from < m.to ? 14 : -14;
    text +=
        curve({(left_[from] + right_[from]) / 2 - 8 + shift, kTop + 2},
              {(left_[to] + right_[to]) / 2 - 8 - shift, kTop + 3}, false, "class=\"flag\" marker-end=\"url(#flag)\"");
  }
  return text;
}

std::string Panel::draw(int index) const {
  const Step* const step = index < 0 ? nullptr : &story_.steps[static_cast<std::size_t>(index)];
  std::string text =
      fmt::format("<text class=\"step\" y=\"16\">{}</text>\n", step ? title_of(*step, story_) : "before the call");
  for (int rank = 0; rank < story_.ranks; ++rank)
    text += fmt::format("<text class=\"quiet\" x=\"{:.1f}\" y=\"{:.0f}\">rank {}</text>\n",
                        left_[static_cast<std::size_t>(rank)], kTop - 7, rank);
  for (std::size_t l = 0; l < labels_.size(); ++l)
    text += fmt::format("<text class=\"quiet\" y=\"{:.1f}\">{}</text>\n", tops_[l] + 15, labels_[l]);
  if (step && story_.rows.empty()) return text + flags(*step);
  // Arrows pass behind cells, so that numbers can be read.
  if (step) {
    std::vector<Action> actions = step->actions;  // by rank, so that pictures do not depend on times
    std::stable_sort(actions.begin(), actions.end(), [](const Action& a, const Action& b) {
      return std::tie(a.rank, a.block) < std::tie(b.rank, b.block);
    });
    for (const Action& each : actions) text += action(each, chunk_of(each, index));
  }
  return text + cells_of(index);
}

}  // namespace tutti::explain

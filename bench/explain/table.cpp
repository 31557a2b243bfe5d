#include "bench/explain/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "bench/explain/grid.hpp"

namespace tutti::explain {
namespace {

std::string header(const Story& s, bool colour) {
  std::string text = escaped(title_of(s), "1", colour);
  text += fmt::format("; the kernel is in {}\n{} ranks, {} memory, {} block{}, in virtual time on machine '{}'\n",
                      s.file, s.ranks, s.memory, s.blocks, s.blocks > 1 ? "s" : "", s.machine);
  if (!s.values.empty())
    text += fmt::format("A cell is {} equal f32, {} bytes. Before, {}; \".\" is not written yet.\n", s.cell_bytes / 4,
                        s.cell_bytes, s.values);
  return text;
}

/// Which flags ended a wait; those of an exchange between all have words of their own.
std::string flags(const Step& step, bool colour) {
  std::map<std::string, std::string> lists;
  std::vector<Message> messages = step.messages;
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  for (const Message& m : messages)
    if (m.heard >= 0 && (m.purpose == "data" || m.purpose == "credit"))
      lists[m.purpose] += fmt::format(" {}>{}", m.from, m.to);
  std::string text;
  for (const auto& [purpose, list] : lists) {
    std::string line = fmt::format("  {} flags:{}", purpose, list);
    if (line.size() > kColumns) line = line.substr(0, line.rfind(' ', kColumns - 4)) + " ...";
    text += escaped(line, "2", colour) + "\n";
  }
  return text;
}

std::string actions(const Step& step, bool colour) {
  std::vector<Action> ordered = step.actions;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Action& a, const Action& b) {
    return std::tie(a.rank, a.block) < std::tie(b.rank, b.block);
  });
  std::string text;
  for (const Action& action : ordered) {
    const std::string line = fmt::format("  {:<75}", action.text);
    text += line;
    text += line.size() + 2 + action.source.size() > kColumns ? fmt::format("\n{:77}", "") : "";
    text += fmt::format("  {}\n", escaped(action.source, "2", colour));
  }
  return text;
}

std::vector<std::string> changed(const Story& story, const Grid& grid, const Grid::State& before,
                                 const Grid::State& after) {
  std::vector<std::string> labels;
  for (const std::string& label : grid.labels()) {
    bool differs = false;
    for (std::size_t i = 0; i < story.rows.size(); ++i)
      differs = differs || (story.rows[i].label == label && before[i] != after[i]);
    if (differs) labels.push_back(label);
  }
  return labels;
}

std::string text_of(const Cost& cost) {
  const std::string bytes = fmt::format("{:.{}f}", cost.bytes, cost.bytes == std::floor(cost.bytes) ? 0 : 2);
  return fmt::format("{} step{}, {} bytes by the rank that moves most", cost.steps, cost.steps == 1 ? "" : "s", bytes);
}

std::string footer(const Story& s) {
  std::string text = fmt::format("counted  {}\nformula  {}\n", text_of(s.counted), text_of(s.formula));
  text += s.formula_text.empty() ? fmt::format("         they agree; the formula is in {}\n", s.file)
                                 : fmt::format("         they DIFFER: {}\n", s.formula_text);
  text += fmt::format("time     {:.0f} ns, predicted\n", s.end);
  text += s.right ? "checked  the moves replayed equal the memory bit for bit, and the result is right\n"
                  : fmt::format("WRONG    {}\n", s.wrong);
  return text;
}

}  // namespace

std::string title_of(const Story& s) {
  std::string call = s.collective;
  if (s.sums) call += ", " + s.op;
  if (s.root >= 0)
    call += s.collective == "send_recv" ? fmt::format(" from rank {} to rank {}", s.root, (s.root + 1) % s.ranks)
                                        : fmt::format(", root {}", s.root);
  return fmt::format("{}, by {}", call, s.algorithm);
}

std::string title_of(const Step& step, const Story& story) {
  return step.number <= story.counted.steps ? fmt::format("step {} of {}", step.number, story.counted.steps)
                                            : "after the last message";
}

std::string table(const Story& story, bool colour) {
  const Grid grid(story, colour);
  const auto section = [&](const std::string& heading) { return fmt::format("\n{}\n", escaped(heading, "1", colour)); };
  std::string text = header(story, colour);
  Grid::State now;
  for (const Row& row : story.rows) now.push_back(row.cells);
  if (!now.empty()) text += section("before") + grid.text({"in", "out"}, now, nullptr);
  for (const Step& step : story.steps) {
    const std::string title = title_of(step, story);
    text += section(step.text.empty() ? title : title + "; " + step.text);
    text += actions(step, colour) + flags(step, colour);
    if (const auto labels = changed(story, grid, now, step.after); !labels.empty())
      text += grid.text(labels, step.after, &now);
    now = step.after;
  }
  if (!now.empty()) text += section("after") + grid.text({"in", "out"}, now, nullptr);
  return text + "\n" + footer(story);
}

}  // namespace tutti::explain

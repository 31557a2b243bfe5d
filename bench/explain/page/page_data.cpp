#include "bench/explain/page/page_data.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tutti::explain {
namespace {

using Json = nlohmann::ordered_json;

// Picoseconds are more than anybody sees. Whole numbers without ".0": most are.
Json rounded(double ns) {
  const double whole = std::round(ns);
  if (std::abs(ns - whole) < 0.0005) return static_cast<std::int64_t>(whole);
  return std::round(ns * 1000) / 1000;
}

// The mask in hexadecimal: a number of JavaScript does not hold 64 bits.
Json cell_of(const Cell& cell) {
  if (cell.empty()) return 0;
  return Json::array({cell.value, fmt::format("{:x}", cell.ranks), cell.index, cell.chunk});
}

Json ranges_of(const std::vector<Cells>& ranges) {
  Json all = Json::array();
  for (const Cells& range : ranges) all.push_back({range.row, range.first, range.count});
  return all;
}

const char* name_of(Row::Kind kind) { return kind == Row::Kind::in ? "in" : kind == Row::Kind::out ? "out" : "slot"; }

const char* name_of(Span::Kind kind) {
  return kind == Span::Kind::transfer ? "transfer" : kind == Span::Kind::reduce ? "reduce" : "wait";
}

// Texts that come again and again are written once.
class Texts {
 public:
  std::size_t place_of(const std::string& text) {
    const auto [found, is_new] = places_.try_emplace(text, all_.size());
    if (is_new) all_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> all_;
};

// What a rank does is said of the word's span too, there without the rank.
Json text_of(const Action& action, Texts& texts) {
  const std::string who = fmt::format("rank {} ", action.rank);
  if (action.text.compare(0, who.size(), who) != 0) return action.text;
  return texts.place_of(action.text.substr(who.size()));
}

Json action_of(const Action& action, Texts& texts) {
  return Json::array({action.kind == Action::Kind::add ? "add" : "copy", action.rank, action.block,
                      rounded(action.begin), rounded(action.end), ranges_of(action.from), ranges_of(action.to),
                      text_of(action, texts), texts.place_of(action.source)});
}

Json message_of(const Message& message, Texts& texts) {
  return Json::array({texts.place_of(message.purpose), message.from, message.to, message.block, rounded(message.sent),
                      rounded(message.arrived)});
}

Json span_of(const Span& span, Texts& texts) {
  return Json::array({name_of(span.kind), span.rank, span.block, rounded(span.begin), rounded(span.end),
                      texts.place_of(span.text), texts.place_of(span.source)});
}

}  // namespace

Json page_data(const Story& story) {
  Json data = {{"collective", story.collective},
               {"algorithm", story.algorithm},
               {"kernel", story.kernel},
               {"op", story.op},
               {"memory", story.memory},
               {"machine", story.machine},
               {"file", story.file},
               {"values", story.values},
               {"ranks", story.ranks},
               {"root", story.root},
               {"blocks", story.blocks},
               {"cellBytes", story.cell_bytes},
               {"callBytes", story.call_bytes},
               {"counted", {{"steps", story.counted.steps}, {"bytes", story.counted.bytes}}},
               {"formula", {{"steps", story.formula.steps}, {"bytes", story.formula.bytes}}},
               {"formulaText", story.formula_text},
               {"end", rounded(story.end)},
               {"right", story.right},
               {"wrong", story.wrong}};
  std::vector<std::vector<Cell>> before;
  Json& rows = data["rows"] = Json::array();
  for (const Row& row : story.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row.cells) cells.push_back(cell_of(cell));
    rows.push_back({{"kind", name_of(row.kind)},
                    {"rank", row.rank},
                    {"label", row.label},
                    {"cells", cells},
                    {"parts", row.parts}});
    before.push_back(row.cells);
  }

  Texts texts;
  Json& steps = data["steps"] = Json::array();
  for (const Step& step : story.steps) {
    Json actions = Json::array(), messages = Json::array(), changed = Json::array();
    for (const Action& action : step.actions) actions.push_back(action_of(action, texts));
    for (const Message& message : step.messages) messages.push_back(message_of(message, texts));
    for (std::size_t row = 0; row < step.after.size(); ++row)
      for (std::size_t cell = 0; cell < step.after[row].size(); ++cell) {
        const Cell& now = step.after[row][cell];
        if (now == before[row][cell]) continue;
        changed.push_back({row, cell, now.value, fmt::format("{:x}", now.ranks), now.index, now.chunk});
        before[row][cell] = now;
      }
    steps.push_back({{"begin", rounded(step.begin)},
                     {"end", rounded(step.end)},
                     {"text", step.text},
                     {"actions", actions},
                     {"messages", messages},
                     {"changed", changed}});
  }

  Json& spans = data["spans"] = Json::array();
  for (const Span& span : story.spans) spans.push_back(span_of(span, texts));
  data["texts"] = texts.all();
  return data;
}

}  // namespace tutti::explain

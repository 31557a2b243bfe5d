#include "bench/explain/page/page_data.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>

namespace tutti::explain {
namespace {

using Json = nlohmann::ordered_json;

// Picoseconds are more than anybody sees.
double rounded(double ns) { return std::round(ns * 1000) / 1000; }

// The mask in hexadecimal: a number of JavaScript does not hold 64 bits.
Json cell_of(const Cell& cell) {
  return cell.empty() ? Json(0) : Json::array({cell.value, fmt::format("{:x}", cell.ranks), cell.chunk});
}

Json ranges_of(const std::vector<Cells>& ranges) {
  Json all = Json::array();
  for (const Cells& range : ranges) all.push_back({range.row, range.first, range.count});
  return all;
}

Json action_of(const Action& action) {
  return {{"kind", action.kind == Action::Kind::add ? "add" : "copy"},
          {"rank", action.rank},
          {"block", action.block},
          {"begin", rounded(action.begin)},
          {"end", rounded(action.end)},
          {"from", ranges_of(action.from)},
          {"to", ranges_of(action.to)},
          {"text", action.text},
          {"source", action.source}};
}

const char* name_of(Row::Kind kind) {
  return kind == Row::Kind::in ? "in" : kind == Row::Kind::out ? "out" : "slot";
}

const char* name_of(Span::Kind kind) {
  return kind == Span::Kind::transfer ? "transfer" : kind == Span::Kind::reduce ? "reduce" : "wait";
}

}  // namespace

Json page_data(const Story& story) {
  Json data = {{"collective", story.collective}, {"algorithm", story.algorithm}, {"kernel", story.kernel},
               {"memory", story.memory},         {"machine", story.machine},     {"file", story.file},
               {"ranks", story.ranks},           {"root", story.root},           {"end", rounded(story.end)},
               {"right", story.right}};
  data["counted"] = {{"steps", story.counted.steps}, {"bytes", story.counted.bytes}};
  data["formula"] = {{"steps", story.formula.steps}, {"bytes", story.formula.bytes}};

  std::vector<std::vector<Cell>> before;
  Json& rows = data["rows"] = Json::array();
  for (const Row& row : story.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row.cells) cells.push_back(cell_of(cell));
    rows.push_back({{"kind", name_of(row.kind)}, {"rank", row.rank}, {"label", row.label}, {"cells", cells}});
    before.push_back(row.cells);
  }

  Json& steps = data["steps"] = Json::array();
  for (const Step& step : story.steps) {
    Json actions = Json::array(), changed = Json::array();
    for (const Action& action : step.actions) actions.push_back(action_of(action));
    for (std::size_t row = 0; row < step.after.size(); ++row)
      for (std::size_t cell = 0; cell < step.after[row].size(); ++cell) {
        const Cell& now = step.after[row][cell];
        if (now == before[row][cell]) continue;
        changed.push_back({row, cell, now.value, fmt::format("{:x}", now.ranks), now.chunk});
        before[row][cell] = now;
      }
    steps.push_back({{"number", step.number},
                     {"begin", rounded(step.begin)},
                     {"end", rounded(step.end)},
                     {"actions", actions},
                     {"changed", changed}});
  }

  Json& spans = data["spans"] = Json::array();
  for (const Span& span : story.spans)
    spans.push_back({name_of(span.kind), span.rank, span.block, rounded(span.begin), rounded(span.end), span.text});
  return data;
}

}  // namespace tutti::explain

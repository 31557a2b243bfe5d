#include "bench/explain/story_json.hpp"

#include <nlohmann/json.hpp>

namespace tutti::explain {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Row::Kind kind) {
  constexpr const char* names[] = {"in", "out", "slot"};
  return names[static_cast<int>(kind)];
}
const char* name_of(Action::Kind kind) { return kind == Action::Kind::copy ? "copy" : "add"; }
const char* name_of(Span::Kind kind) {
  constexpr const char* names[] = {"transfer", "reduce", "wait"};
  return names[static_cast<int>(kind)];
}

Json json(const Cell& cell);
Json json(const Cells& cells);
Json json(const Action& action);
Json json(const Message& message);
Json json(const Row& row);
Json json(const Step& step);
Json json(const Span& span);

template <class T>
Json json(const std::vector<T>& list) {
  Json array = Json::array();
  for (const T& each : list) array.push_back(json(each));
  return array;
}

Json json(const Cell& cell) {
  if (cell.empty()) return nullptr;
  Json ranks = Json::array();
  for (int r = 0; r < 64; ++r)
    if (cell.ranks >> r & 1) ranks.push_back(r);
  return Json::array({cell.value, ranks, cell.index, cell.chunk});
}

Json json(const Cells& cells) { return Json::array({cells.row, cells.first, cells.count}); }

Json json(const Cost& cost) { return Json::array({cost.steps, cost.bytes}); }

Json json(const Row& row) {
  return {{"kind", name_of(row.kind)}, {"rank", row.rank},   {"label", row.label},
          {"cells", json(row.cells)},  {"parts", row.parts}, {"expected", json(row.expected)}};
}

Json json(const Action& action) {
  return {{"kind", name_of(action.kind)}, {"rank", action.rank}, {"block", action.block},
          {"begin", action.begin},        {"end", action.end},   {"from", json(action.from)},
          {"to", json(action.to)},        {"text", action.text}, {"source", action.source}};
}

Json json(const Message& message) {
  return {{"purpose", message.purpose}, {"from", message.from},       {"to", message.to},      {"block", message.block},
          {"sent", message.sent},       {"arrived", message.arrived}, {"heard", message.heard}};
}

Json json(const Step& step) {
  Json after = Json::array();
  for (const auto& row : step.after) after.push_back(json(row));
  return {{"number", step.number}, {"begin", step.begin},           {"end", step.end},
          {"text", step.text},     {"actions", json(step.actions)}, {"messages", json(step.messages)},
          {"after", after}};
}

Json json(const Span& span) {
  return {{"kind", name_of(span.kind)}, {"rank", span.rank},  {"block", span.block},
          {"begin", span.begin},        {"end", span.end},    {"text", span.text},
          {"source", span.source},      {"bytes", span.bytes}};
}

}  // namespace

std::string to_json(const Story& s) {
  const Json story = {{"collective", s.collective},
                      {"algorithm", s.algorithm},
                      {"kernel", s.kernel},
                      {"op", s.op},
                      {"memory", s.memory},
                      {"machine", s.machine},
                      {"file", s.file},
                      {"values", s.values},
                      {"ranks", s.ranks},
                      {"root", s.root},
                      {"blocks", s.blocks},
                      {"chunks", s.chunks},
                      {"sums", s.sums},
                      {"cell_bytes", s.cell_bytes},
                      {"call_bytes", s.call_bytes},
                      {"rows", json(s.rows)},
                      {"steps", json(s.steps)},
                      {"spans", json(s.spans)},
                      {"counted", json(s.counted)},
                      {"formula", json(s.formula)},
                      {"formula_text", s.formula_text},
                      {"end", s.end},
                      {"right", s.right},
                      {"wrong", s.wrong}};
  return story.dump(-1, ' ', true);
}

}  // namespace tutti::explain

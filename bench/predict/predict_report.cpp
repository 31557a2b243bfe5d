#include "bench/predict/predict_report.hpp"

#include <nlohmann/json.hpp>

namespace tutti::predict {
namespace {

using Json = nlohmann::ordered_json;

Json head_of(const Row& row) {
  const bench::Case& c = row.question.c;
  const bool typed = !c.is(bench::Operation::barrier);
  return {
      {"predicted", true},
      {"collective", bench::name_of(c.operation)},
      {"backend", "native"},
      {"algorithm", name_of(row.refused.empty() ? row.prediction.algorithm : row.question.algorithm)},
      {"asked_algorithm", name_of(row.question.algorithm)},
      {"memory", bench::name_of(row.question.memory)},
      {"ranks", c.ranks},
      {"bytes", c.bytes},
      {"count", c.count},
      {"type", typed ? name_of(c.type) : "none"},
      {"op", c.reduces() ? name_of(c.op) : "none"},
      {"root", c.rooted() ? c.root : -1},
      {"in_place", c.in_place},
  };
}

Json row_object(const Row& row) {
  const bench::Case& c = row.question.c;
  const Prediction& p = row.prediction;
  Json object = head_of(row);
  object.update(Json{
      {"time_us", p.seconds * 1e6},
      {"algbw", bench::algbw(c.bytes, p.seconds) / bench::kGB},
      {"busbw", bench::busbw(c.operation, c.ranks, c.bytes, p.seconds) / bench::kGB},
      {"steps", p.cost.steps},
      {"wire_bytes", p.cost.bytes},
      {"link_bytes", p.wire_bytes},
      {"limit_us", p.limit > 0 ? Json(p.limit * 1e6) : Json(nullptr)},
      {"blocks", p.blocks},
      {"best", row.fastest},
      {"auto", row.chosen},
  });
  return object;
}

}  // namespace

std::string predict_report(const MachineFile& machine, const std::string& command, const std::vector<Group>& groups) {
  Json document = {
      {"predicted", true},
      {"machine", Json::parse(write_machine(machine))},
      {"command", command},
      {"rows", Json::array()},
      {"not_applicable", Json::array()},
  };
  for (const Group& group : groups)
    for (const Row& row : group) {
      if (row.refused.empty()) {
        document["rows"].push_back(row_object(row));
        continue;
      }
      Json object = head_of(row);
      object["why"] = row.refused;
      document["not_applicable"].push_back(std::move(object));
    }
  // A file's name in the command need not be UTF-8.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::predict

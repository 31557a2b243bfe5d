#include "bench/report.hpp"

#include <nlohmann/json.hpp>

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

Json row_object(const Row& row) {
  const Case& c = row.c;
  const bool typed = c.operation != Operation::barrier;
  Json ratio = Json::object(), low = Json::object(), high = Json::object();
  for (const auto& [peer, r] : row.ratio) {
    ratio[peer] = r.median;
    low[peer] = r.low;
    high[peer] = r.high;
  }
  return {
      {"collective", name_of(c.operation)},
      {"backend", row.backend},
      {"algorithm", row.algorithm},
      {"asked_algorithm", row.asked_algorithm},
      {"memory", name_of(row.memory)},
      {"ranks", c.ranks},
      {"bytes", c.bytes},
      {"count", c.count},
      {"type", typed ? name_of(c.type) : "none"},
      {"op", c.reduces() ? name_of(c.op) : "none"},
      {"root", c.operation == Operation::broadcast ? c.root : -1},
      {"in_place", c.in_place},
      {"time_us", row.seconds * 1e6},
      {"time_us_min", row.seconds_min * 1e6},
      {"time_us_max", row.seconds_max * 1e6},
      {"algbw", algbw(c.bytes, row.seconds) / kGB},
      {"busbw", busbw(c.operation, c.ranks, c.bytes, row.seconds) / kGB},
      {"wrong", row.checked ? Json(row.wrong) : Json(nullptr)},
      {"ratio", ratio},
      {"ratio_low", low},
      {"ratio_high", high},
      {"rounds", row.rounds},
      {"placement", name_of(row.placement)},
      {"placement_ns", row.placement_ns},
  };
}

}  // namespace

std::string report(const Machine& machine, const std::string& command, const std::vector<Row>& rows) {
  Json document = {
      {"machine",
       {{"cpu", machine.cpu},
        {"cores", machine.cores},
        {"memory_gib", machine.memory_gib},
        {"gpus", machine.gpus},
        {"mpi", machine.mpi}}},
      {"command", command},
      {"rows", Json::array()},
  };
  for (const Row& row : rows) document["rows"].push_back(row_object(row));
  return document.dump(1) + "\n";
}

}  // namespace tutti::bench

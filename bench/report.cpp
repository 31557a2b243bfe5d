#include "bench/report.hpp"

#include <nlohmann/json.hpp>

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

// What was asked of whom.
Json head_of(const Row& row) {
  const Case& c = row.c;
  const bool typed = !c.is(Operation::barrier);
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
      {"root", c.rooted() ? c.root : -1},
      {"in_place", c.in_place},
  };
}

// Times are left out where they mean nothing.
Json row_object(const Row& row, bool timed) {
  const Case& c = row.c;
  Json ratio = Json::object(), low = Json::object(), high = Json::object();
  for (const auto& [peer, r] : row.ratio) {
    ratio[peer] = r.median;
    low[peer] = r.low;
    high[peer] = r.high;
  }
  const bool has_cost = row.cost.steps > 0;
  Json object = head_of(row);
  if (timed)
    object.update(Json{
        {"time_us", row.seconds * 1e6},
        {"time_us_min", row.seconds_min * 1e6},
        {"time_us_max", row.seconds_max * 1e6},
        {"bound_us", row.bound > 0 ? Json(row.bound * 1e6) : Json(nullptr)},
        {"share", row.bound > 0 ? Json(100 * row.bound / row.seconds) : Json(nullptr)},
        {"algbw", algbw(c.bytes, row.seconds) / kGB},
        {"busbw", busbw(c.operation, c.ranks, c.bytes, row.seconds) / kGB},
    });
  object.update(Json{
      {"wrong", row.checked ? Json(row.wrong) : Json(nullptr)},
      {"steps", has_cost ? Json(row.cost.steps) : Json(nullptr)},
      {"wire_bytes", has_cost ? Json(row.cost.wire_bytes) : Json(nullptr)},
  });
  if (timed)
    object.update(Json{
        {"ratio", ratio},
        {"ratio_low", low},
        {"ratio_high", high},
        {"best_peer", row.best_peer},
        {"rounds", row.rounds},
        {"placement", name_of(row.placement)},
        {"placement_ns", row.placement_ns},
    });
  return object;
}

}  // namespace

std::string report(const Machine& machine, bool on_gpu, const std::string& command, const std::vector<Row>& rows,
                   const std::vector<LeftOut>& left_out) {
  Json document = {
      {"machine",
       {{"cpu", machine.cpu},
        {"cores", machine.cores},
        {"memory_gib", machine.memory_gib},
        {"gpus", machine.gpus},
        {"mpi", machine.mpi},
        {"device", on_gpu ? "gpu" : "cpu"},
        {"emulated", machine.emulated}}},
      {"command", command},
      {"rows", Json::array()},
      {"not_applicable", Json::array()},
  };
  for (const Row& row : rows) document["rows"].push_back(row_object(row, !machine.emulated));
  for (const LeftOut& one : left_out) {
    Json object = head_of(one.row);
    object["why"] = one.why;
    document["not_applicable"].push_back(std::move(object));
  }
  return document.dump(1) + "\n";
}

}  // namespace tutti::bench

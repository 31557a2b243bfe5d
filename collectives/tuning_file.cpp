#include "collectives/tuning_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "collectives/choose.hpp"
#include "collectives/error.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr double kMostNanoseconds = 1e12;
constexpr std::uintmax_t kMostBytes = 16 << 20;

/// Reads the values of one file; what is wrong is told with its place in it.
class Reader {
 public:
  Reader(const std::string& file, bool on_gpu) : file_(file), on_gpu_(on_gpu) {}

  Tuning read(std::string_view text, const Tuning& defaults) const {
    Json json;
    try {
      json = Json::parse(text);
    } catch (const Json::parse_error& error) {
      refuse(fmt::format("is no JSON (byte {})", error.byte));
    }
    if (!json.is_object()) refuse("is no JSON object");
    expect_keys(json, "", {"tutti_tuning", "device", "machine", "how", "command", "ranks", "formulas"});
    if (const Json& version = at(json, "", "tutti_tuning"); version != kVersion)
      refuse(fmt::format("tutti_tuning is {}, this version reads {}", version.dump(), kVersion));
    const Json& device = at(json, "", "device");
    if (device != "cpu" && device != "gpu")
      refuse(fmt::format("device is {}; it is \"cpu\" or \"gpu\"", device.dump()));
    if ((device == "gpu") != on_gpu_)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("tuning '{}': is for {}, this session runs on {}; give the file of another tune, or unset "
                      "TUTTI_TUNING",
                      file_, on_gpu_ ? "CPUs" : "GPUs", on_gpu_ ? "GPUs" : "the CPU"));
    Tuning tuning = defaults;
    const Json& formulas = at(json, "", "formulas");
    if (!formulas.is_object()) refuse("formulas is no object");
    for (const auto& [name, algorithms] : formulas.items()) {
      const auto collective = parse_collective(name);
      if (!collective) refuse(fmt::format("formulas.{}: there is no such collective", name));
      read_collective(algorithms, *collective, tuning);
    }
    set_origin(tuning, fmt::format("file {}", file_));
    return tuning;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("tuning '{}': {}; write a new one with tutti tune, or unset TUTTI_TUNING", file_, why));
  }

  static std::string below(const std::string& place, const std::string& key) {
    return place.empty() ? key : fmt::format("{}.{}", place, key);
  }

  const Json& at(const Json& object, const std::string& place, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse(fmt::format("{} is missing", below(place, key)));
    return *found;
  }

  void expect_keys(const Json& object, const std::string& place, const std::set<std::string>& known) const {
    for (const auto& [key, value] : object.items())
      if (!known.contains(key)) refuse(fmt::format("{}: there is no such key", below(place, key)));
  }

  double number(const Json& value, const std::string& place) const {
    if (!value.is_number()) refuse(fmt::format("{} is {}, no number", place, value.dump().substr(0, 40)));
    const auto read = value.get<double>();
    if (!(read >= 0 && read <= kMostNanoseconds)) refuse(fmt::format("{} is {}; it is 0 or more", place, read));
    return read;
  }

  void read_collective(const Json& algorithms, Collective collective, Tuning& tuning) const {
    const std::string place = fmt::format("formulas.{}", name_of(collective));
    if (!algorithms.is_object()) refuse(fmt::format("{} is no object", place));
    for (const auto& [name, formula] : algorithms.items()) {
      const auto algorithm = parse_algorithm(name);
      const Implementation* const found = algorithm ? implementation_of(collective, *algorithm) : nullptr;
      if (!found)
        refuse(fmt::format("{}.{}: there is no such algorithm, it has {}", place, name, algorithms_of(collective)));
      tuning.of(found->kernel) = formula_of(formula, fmt::format("{}.{}", place, name));
    }
    bool serves_all = false;
    for (const Implementation& each : implementations()) {
      if (each.collective != collective) continue;
      if (!algorithms.contains(name_of(each.algorithm))) tuning.of(each.kernel) = {};
      serves_all |= tuning.of(each.kernel).known && each.algorithm != Algorithm::packets && in_rank_order(each);
    }
    if (!serves_all) refuse(fmt::format("{} has no algorithm that serves every call", place));
  }

  Formula formula_of(const Json& json, const std::string& place) const {
    Formula formula;
    if (json.is_null()) return formula;
    if (!json.is_object()) refuse(fmt::format("{} is {}, no object or null", place, json.dump().substr(0, 40)));
    expect_keys(json, place, {"base", "step", "peer", "byte"});
    const auto constant = [&](const char* key) { return number(at(json, place, key), below(place, key)); };
    formula.base = constant("base");
    formula.step = constant("step");
    formula.peer = constant("peer");
    const Json& byte = at(json, place, "byte");
    if (!byte.is_array() || byte.size() != formula.byte.size())
      refuse(fmt::format("{}.byte is no list of {} numbers", place, formula.byte.size()));
    for (std::size_t i = 0; i < byte.size(); ++i)
      formula.byte[i] = number(byte[i], fmt::format("{}.byte[{}]", place, i));
    formula.known = true;
    return formula;
  }

  const std::string& file_;
  bool on_gpu_;
};

}  // namespace

Tuning read_tuning(std::string_view text, const std::string& file, bool on_gpu, const Tuning& defaults) {
  return Reader(file, on_gpu).read(text, defaults);
}

Tuning read_tuning_file(const std::string& file, bool on_gpu, const Tuning& defaults) {
  const auto cannot = [&](const char* why) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("tuning '{}': {}; give a file that tutti tune wrote, or unset TUTTI_TUNING", file, why));
  };
  // A folder opens, and a pipe or device may never end.
  std::error_code fault;
  const auto status = std::filesystem::status(file, fault);
  if (!std::filesystem::exists(status)) throw cannot("there is no such file");
  if (!std::filesystem::is_regular_file(status)) throw cannot("is no file");
  if (std::filesystem::file_size(file, fault) > kMostBytes || fault) throw cannot("is too large");
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw cannot("cannot be read");
  return read_tuning(text, file, on_gpu, defaults);
}

TuningNotes notes_of(std::string_view text) {
  const Json json = Json::parse(text);
  const auto told = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  TuningNotes notes{json.at("device") == "gpu", told("machine"), told("how"), told("command"), {}};
  if (json.contains("ranks") && json["ranks"].is_array())
    for (const Json& ranks : json["ranks"])
      if (ranks.is_number_integer()) notes.ranks.push_back(ranks.get<int>());
  return notes;
}

std::string write_tuning(const Tuning& tuning, const TuningNotes& notes) {
  // A line for each formula, for people; four digits are more than measuring gives.
  const auto text = [](const auto& value) { return Json(value).dump(); };
  std::string lines =
      fmt::format("{{\n \"tutti_tuning\": {},\n \"device\": \"{}\",\n", kVersion, notes.on_gpu ? "gpu" : "cpu");
  lines += fmt::format(" \"machine\": {},\n \"how\": {},\n \"command\": {},\n \"ranks\": [{}],\n \"formulas\": {{",
                       text(notes.machine), text(notes.how), text(notes.command), fmt::join(notes.ranks, ", "));
  std::optional<Collective> open;
  for (const Implementation& each : implementations()) {
    const Formula& formula = tuning.of(each.kernel);
    if (open != each.collective)
      lines += fmt::format("{}\n  \"{}\": {{", open ? "\n  }," : "", name_of(each.collective));
    else
      lines += ",";
    open = each.collective;
    lines += fmt::format("\n   \"{}\": ", name_of(each.algorithm));
    if (!formula.known) {
      lines += "null";
      continue;
    }
    lines += fmt::format("{{\"base\": {:.4g}, \"step\": {:.4g}, \"peer\": {:.4g}, \"byte\": [", formula.base,
                         formula.step, formula.peer);
    for (std::size_t i = 0; i < formula.byte.size(); ++i)
      lines += fmt::format("{}{:.4g}", i > 0 ? ", " : "", formula.byte[i]);
    lines += "]}";
  }
  return lines + "\n  }\n }\n}\n";
}

}  // namespace tutti

#include "collectives/tuning_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
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
    expect_keys(json, "", {"tutti_tuning", "device", "machine", "how", "command", "ranks", "cache", "formulas"});
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
    tuning.cache = number(at(json, "", "cache"), "cache");
    if (tuning.cache < 1) refuse("cache is below 1 byte");
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
      if (!algorithms.contains(name_of(each.algorithm)))
        refuse(fmt::format("{}.{} is missing (null: never chosen)", place, name_of(each.algorithm)));
      serves_all |= tuning.of(each.kernel).known && each.algorithm != Algorithm::packets && in_rank_order(each);
    }
    if (!serves_all) refuse(fmt::format("{} has no algorithm that serves every call", place));
  }

  Formula formula_of(const Json& json, const std::string& place) const {
    Formula formula;
    if (json.is_null()) return formula;
    if (!json.is_object()) refuse(fmt::format("{} is {}, no object or null", place, json.dump().substr(0, 40)));
    std::set<std::string> known;
    for (int i = 0; i < kTerms; ++i) {
      const char* const name = name_of(static_cast<Term>(i));
      known.insert(name);
      formula.constants[static_cast<std::size_t>(i)] = number(at(json, place, name), below(place, name));
    }
    expect_keys(json, place, known);
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

std::string write_tuning(const Tuning& tuning, const TuningNotes& notes) {
  Json json = {{"tutti_tuning", kVersion}, {"device", notes.on_gpu ? "gpu" : "cpu"},
               {"machine", notes.machine}, {"how", notes.how},
               {"command", notes.command}, {"ranks", notes.ranks},
               {"cache", tuning.cache},    {"formulas", Json::object()}};
  for (const Implementation& each : implementations()) {
    const Formula& formula = tuning.of(each.kernel);
    Json& entry = json["formulas"][name_of(each.collective)][name_of(each.algorithm)];
    if (!formula.known) continue;  // null
    for (int i = 0; i < kTerms; ++i)
      entry[name_of(static_cast<Term>(i))] = formula.constants[static_cast<std::size_t>(i)];
  }
  return json.dump(1) + "\n";
}

}  // namespace tutti

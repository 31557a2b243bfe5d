#include "bench/predict/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/predict/machine_keys.hpp"
#include "bench/predict/shipped_machines.hpp"

namespace tutti::predict {
namespace {

using timed::Machine;
using timed::Wiring;
using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, Wiring> kWirings[] = {
    {"switched", Wiring::switched}, {"direct", Wiring::direct}, {"shared", Wiring::shared}};
constexpr const char* kTexts[] = {"name", "about", "kind", "wiring"};

// Beyond these no machine is, and sums of them would be no times any more.
constexpr double kLeastNumber = 1e-6, kMostNumber = 1e15;
constexpr std::size_t kMostText = 1 << 20;  // bytes of a file
constexpr int kMostDepth = 8;               // nlohmann writes values within values by recursion

const char* const kSourceHelp =
    "say where it comes from: \"data sheet: ...\" or \"published: ...\" with an address, \"measured: ...\" with the "
    "date, or \"estimate: ...\" with the reckoning";

bool has_date(const std::string& text) {
  const auto digits = [&](std::size_t at, std::size_t count) {
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at),
                       text.begin() + static_cast<std::ptrdiff_t>(at + count),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  for (std::size_t i = 0; i + 10 <= text.size(); ++i)
    if (digits(i, 4) && text[i + 4] == '-' && digits(i + 5, 2) && text[i + 7] == '-' && digits(i + 8, 2)) return true;
  return false;
}

bool is_source(const std::string& text) {
  const bool addressed = text.find("https://") != std::string::npos;
  const auto begins = [&](std::string_view kind) { return text.starts_with(kind) && text.size() > kind.size(); };
  return (begins("data sheet: ") && addressed) || (begins("published: ") && addressed) ||
         (begins("measured: ") && has_date(text)) || begins("estimate: ");
}

class Reader {
 public:
  Reader(std::string_view text, std::string file) : file_(std::move(file)) {
    std::vector<std::set<std::string>> seen;
    std::string twice;
    const auto watch = [&](int depth, Json::parse_event_t event, const Json& value) {
      if (depth > kMostDepth) throw MachineError(fmt::format("{}: values within values: this is no machine", file_));
      if (event == Json::parse_event_t::object_start) seen.emplace_back();
      if (event == Json::parse_event_t::object_end) seen.pop_back();
      if (event == Json::parse_event_t::key && !seen.back().insert(value.get<std::string>()).second)
        twice = value.get<std::string>();
      return true;
    };
    try {
      json_ = Json::parse(text, watch);
    } catch (const Json::parse_error& error) {
      throw MachineError(fmt::format("{}: not JSON: {}", file_, one_line(error.what())));
    }
    if (!twice.empty()) wrong(twice, "is there twice: keep one");
    if (!json_.is_object())
      throw MachineError(fmt::format("{}: a machine is an object: {{\"name\": ..., ...}}", file_));
  }

  MachineFile machine() {
    Machine& m = result_.machine;
    m.name = text("name", "");
    m.about = text("about", "");
    const std::string kind = text("kind", "\"gpu\" or \"cpu\""), wiring = text("wiring", "");
    if (kind != "gpu" && kind != "cpu") wrong("kind", fmt::format("is '{}': use gpu or cpu", kind));
    m.is_gpu = kind == "gpu";
    const auto* const found =
        std::find_if(std::begin(kWirings), std::end(kWirings), [&](const auto& each) { return wiring == each.first; });
    if (found == std::end(kWirings)) wrong("wiring", fmt::format("is '{}': use switched, direct or shared", wiring));
    m.wiring = found->second;
    check_keys();
    for (const Key& key : machine_keys()) read(key);
    if (m.is_gpu && m.wiring == Wiring::direct && m.pair <= 0)
      wrong("pair", "is missing: direct wiring needs the rate between two ranks");
    return std::move(result_);
  }

 private:
  [[noreturn]] void wrong(const std::string& key, const std::string& what) const {
    throw MachineError(one_line(fmt::format("{}: '{}' {}", file_, key, what)));
  }
  static std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    return text;
  }

  std::string text(const std::string& key, const std::string& what) const {
    const auto found = json_.find(key);
    if (found == json_.end()) wrong(key, what.empty() ? "is missing" : "is missing: give " + what);
    if (!found->is_string() || found->get<std::string>().empty()) wrong(key, "is a text that is not empty");
    return one_line(found->get<std::string>());
  }

  Needed needed(const Key& key) const { return result_.machine.is_gpu ? key.gpu : key.cpu; }

  void check_keys() const {
    std::string known;
    std::set<std::string> names(std::begin(kTexts), std::end(kTexts));
    for (const Key& key : machine_keys())
      if (needed(key) != Needed::never) names.insert(key.name);
    for (const std::string& name : names) known.append(known.empty() ? "" : ", ").append(name);
    for (const auto& [key, value] : json_.items())
      if (!names.contains(key))
        wrong(key, fmt::format("is no key of a machine of {}: those are {}", result_.machine.is_gpu ? "GPUs" : "CPUs",
                               known));
  }

  /// The value of an object {"value", "unit", "source"}, after its source is kept as that of `name`.
  const Json& value(const std::string& name, const Json& object, const char* unit) {
    if (!object.is_object())
      wrong(name,
            fmt::format("is a bare value: write {{\"value\": ..., \"unit\": \"{}\", \"source\": \"...\"}}", unit));
    for (const auto& [key, ignored] : object.items())
      if (key != "value" && key != "unit" && key != "source")
        wrong(name, fmt::format("has '{}': a number has value, unit and source", key));
    if (!object.contains("value")) wrong(name, "has no value");
    const auto its_unit = object.find("unit");
    if (its_unit == object.end() || *its_unit != unit)
      wrong(name, fmt::format("has {}: its unit is \"{}\"",
                              its_unit == object.end() ? std::string("no unit") : "unit " + its_unit->dump(), unit));
    const auto source = object.find("source");
    if (source == object.end()) wrong(name, fmt::format("has no source: {}", kSourceHelp));
    if (!source->is_string() || !is_source(source->get<std::string>()))
      wrong(name, fmt::format("has source {}: {}", one_line(source->dump()), kSourceHelp));
    result_.sources[name] = one_line(source->get<std::string>());
    return object.at("value");
  }

  double number(const std::string& name, const Json& value, bool above) const {
    if (!value.is_number()) wrong(name, fmt::format("has value {}: use a number", one_line(value.dump())));
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0 || (above && number == 0))
      wrong(name, fmt::format("has value {}: use {}", value.dump(), above ? "more than 0" : "0 or more"));
    if (number > kMostNumber || (number > 0 && number < kLeastNumber))
      wrong(name, fmt::format("has value {}: use a number from {:g} to {:g}", value.dump(), kLeastNumber, kMostNumber));
    return number;
  }

  void read(const Key& key) {
    if (needed(key) == Needed::never) return;
    const auto found = json_.find(key.name);
    if (found == json_.end()) {
      if (needed(key) == Needed::maybe) return;
      wrong(key.name,
            fmt::format("is missing: give {{\"value\": ..., \"unit\": \"{}\", \"source\": \"...\"}}", key.unit));
    }
    const double read = number(key.name, value(key.name, *found, key.unit), needed(key) == Needed::above);
    Machine& m = result_.machine;
    if (const auto* whole = std::get_if<int Machine::*>(&key.member)) {
      if (read != std::floor(read) || read > 1 << 20)
        wrong(key.name, fmt::format("has value {}: use a whole number", read));
      m.** whole = static_cast<int>(read);
    } else {
      m.*std::get<double Machine::*>(key.member) = read;
    }
  }

  std::string file_;
  Json json_;
  MachineFile result_;
};

Json figure(const MachineFile& file, const std::string& name, const char* unit, Json value) {
  const auto source = file.sources.find(name);
  if (source == file.sources.end() || !is_source(source->second))
    throw MachineError(fmt::format("{}: '{}' has no source: {}", file.machine.name, name, kSourceHelp));
  return {{"value", std::move(value)}, {"unit", unit}, {"source", source->second}};
}

}  // namespace

MachineFile read_machine(std::string_view text, const std::string& file) { return Reader(text, file).machine(); }

std::string write_machine(const MachineFile& file) {
  const Machine& m = file.machine;
  Json json = {{"name", m.name}, {"about", m.about}, {"kind", m.is_gpu ? "gpu" : "cpu"}};
  for (const auto& [name, wiring] : kWirings)
    if (wiring == m.wiring) json["wiring"] = name;
  for (const Key& key : machine_keys()) {
    const Needed needed = m.is_gpu ? key.gpu : key.cpu;
    if (needed == Needed::never || (needed == Needed::maybe && !file.sources.contains(key.name))) continue;
    if (const auto* whole = std::get_if<int Machine::*>(&key.member))
      json[key.name] = figure(file, key.name, key.unit, m.**whole);
    else
      json[key.name] = figure(file, key.name, key.unit, m.*std::get<double Machine::*>(key.member));
  }
  return json.dump(1) + "\n";
}

std::vector<std::string> shipped_machines() {
  std::vector<std::string> names;
  for (const ShippedMachine& each : kShippedMachines) names.emplace_back(each.name);
  return names;
}

MachineFile machine_for(const std::string& name) {
  for (const ShippedMachine& each : kShippedMachines)
    if (each.name == name) return read_machine(each.text, fmt::format("{}.json", each.name));
  if (name.find('/') == std::string::npos && !name.ends_with(".json")) {
    std::string known;
    for (const ShippedMachine& each : kShippedMachines) known.append(known.empty() ? "" : ", ").append(each.name);
    throw MachineError(fmt::format("machine '{}': there are {}, and files whose name ends in .json", name, known));
  }
  std::ifstream file(name);
  std::string text(kMostText + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof()))
    throw MachineError(fmt::format("machine '{}': cannot read this file", name));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostText) throw MachineError(fmt::format("{}: larger than 1 MiB: this is no machine", name));
  return read_machine(text, name);
}

}  // namespace tutti::predict

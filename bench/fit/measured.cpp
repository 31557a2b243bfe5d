#include "bench/fit/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace tutti::fit {
namespace {

using Json = nlohmann::json;

std::optional<bench::Operation> operation_named(const std::string& name) {
  for (int i = 0; i < bench::kOperations; ++i)
    if (name == bench::name_of(static_cast<bench::Operation>(i))) return static_cast<bench::Operation>(i);
  return std::nullopt;
}

bench::Placement placement_named(const std::string& name) {
  for (const bench::Placement each : {bench::Placement::near, bench::Placement::far, bench::Placement::mixed})
    if (name == bench::name_of(each)) return each;
  return bench::Placement::unknown;
}

/// The row as a question; empty if its names are unknown to this version.
std::optional<predict::Question> question_of(const Json& row) {
  const auto operation = operation_named(row.at("collective"));
  const auto algorithm = parse_algorithm(row.at("algorithm").get<std::string>());
  const std::string type = row.at("type"), op = row.at("op");
  if (!operation || !algorithm) return std::nullopt;
  bench::Case shape{.operation = *operation, .ranks = row.at("ranks"), .in_place = row.at("in_place")};
  if (type != "none") {
    const auto parsed = parse_data_type(type);
    if (!parsed) return std::nullopt;
    shape.type = *parsed;
  }
  if (op != "none") {
    const auto parsed = parse_reduce_op(op);
    if (!parsed) return std::nullopt;
    shape.op = *parsed;
  }
  shape.root = std::max(0, row.at("root").get<int>());
  predict::Question question{.c = bench::case_of(row.at("bytes"), shape), .algorithm = *algorithm};
  question.memory =
      row.at("memory") == name_of(bench::MemoryKind::any) ? bench::MemoryKind::any : bench::MemoryKind::peer_mapped;
  return question;
}

void add_row(Measurements& all, const Json& row, const std::string& file) {
  if (row.at("backend") != "native") return;
  const auto question = question_of(row);
  const std::string what = fmt::format("{} by {}, {} bytes, {} ranks", row.at("collective").get<std::string>(),
                                       row.at("algorithm").get<std::string>(), row.at("bytes").get<std::size_t>(),
                                       row.at("ranks").get<int>());
  if (!question) throw FileError(fmt::format("{}: {}: this version does not know it", file, what));
  if (row.at("wrong").is_number() && row.at("wrong").get<std::uint64_t>() > 0)
    throw FileError(fmt::format("{}: {}: its results were wrong, so its time says nothing", file, what));
  Measured measured{*question, row.at("time_us").get<double>() * 1e-6, placement_named(row.at("placement"))};
  if (measured.question.c.ranks < 2) return;
  if (!(measured.seconds > 0)) throw FileError(fmt::format("{}: {}: it has no time", file, what));
  if (row.at("asked_algorithm") == name_of(Algorithm::automatic)) {
    all.left_out.push_back(what + ": chosen by auto, the same call as with its algorithm forced");
  } else if (measured.placement == bench::Placement::mixed) {
    all.left_out.push_back(what + ": measured while the cores were now near, now far");
  } else {
    all.rows.push_back(measured);
  }
}

}  // namespace

void add_measurements(Measurements& all, std::string_view text, const std::string& file) {
  try {
    const Json json = Json::parse(text);
    const Json& machine = json.at("machine");
    const std::string command = json.at("command"), cpu = machine.at("cpu");
    const int cores = machine.at("cores");
    if (machine.at("device") != "cpu")
      throw FileError(fmt::format("{}: measured on GPUs: fit describes CPUs only", file));
    if (command.find("--steady") != std::string::npos)
      throw FileError(
          fmt::format("{}: measured with --steady: predict knows fresh buffers only, so measure without", file));
    if (!all.cpu.empty() && (cpu != all.cpu || cores != all.cores))
      throw FileError(
          fmt::format("{}: measured on {} cores of {}, the files before on {} of {}: fit one machine at a time", file,
                      cores, cpu, all.cores, all.cpu));
    all.cpu = cpu;
    all.cores = cores;
    all.commands += (all.commands.empty() ? "" : "; ") + command;
    for (const Json& row : json.at("rows")) add_row(all, row, file);
  } catch (const Json::exception& error) {
    std::string why = error.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    throw FileError(fmt::format("{}: no file of bench --json: {}", file, why));
  }
}

Measurements read_measurements(const std::vector<std::string>& files) {
  Measurements all;
  for (const std::string& file : files) {
    std::ifstream in(file);
    std::ostringstream text;
    if (!in || !(text << in.rdbuf())) throw FileError(fmt::format("{}: cannot read this file", file));
    add_measurements(all, text.str(), file);
  }
  return all;
}

std::vector<Measured> of_placement(const std::vector<Measured>& rows, bench::Placement placement) {
  std::vector<Measured> result;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(result),
               [placement](const Measured& row) { return row.placement == placement; });
  return result;
}

}  // namespace tutti::fit

#include "trainers/command_line.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <type_traits>

#include "trainers/fashion_mnist.hpp"

namespace tutti::trainers {
namespace {

constexpr const char* kExamples = R"(
examples:
  ./tutti train --preset fashion --parallel data
  ./tutti -n 2 train --preset lecture --parallel pipeline --trace
  ./tutti train --preset fashion --parallel tensor --layers 784-512-10 --epochs 3 --json result.json

environment (the arguments win):
  TUTTI_BACKEND   native, mpi (on the CPU) or nccl (on GPUs) [native]
  TUTTI_TIMEOUT   seconds that a wait may last before the run fails [600]
  TUTTI_DEVICE    where the trainers keep their numbers and compute: cpu; gpu, one for each rank, whose products are
                  cuBLAS's; or auto, GPUs if every rank can have one [auto]
)";

std::vector<int> parse_widths(const std::string& text) {
  std::vector<int> widths;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int width = 0;
    const auto [next, error] = std::from_chars(at, end, width);
    if (error != std::errc{} || (next < end && *next != '-' && *next != ',') || next + 1 == end)
      throw UsageError("--layers: '" + text + "' is not a list of widths such as 784-256-10");
    widths.push_back(width);
    at = next + 1;
  }
  return widths;
}

/// Refuses what is no number of type T as a whole, the empty text and what T cannot hold among it.
template <class T>
CLI::Validator number() {
  return {[](const std::string& text) -> std::string {
            T value{};
            const char* const end = text.data() + text.size();
            const auto [next, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc{} && next == end) return "";
            return "'" + text + "' is not a " +
                   (std::is_floating_point_v<T> ? ""
                    : std::is_signed_v<T>       ? "whole "
                                                : "non-negative whole ") +
                   "number in range";
          },
          ""};
}

/// What was given; what was not stays the preset's.
struct Given {
  std::string preset = "fashion", parallel = "data";
  std::optional<std::string> layers, activation, optimizer, dtype, schedule, backend, json, data, decay;
  std::optional<int> batch, epochs, micro_batches;
  std::optional<std::int64_t> steps;
  std::optional<double> rate, momentum, weight_decay;
  std::optional<std::uint64_t> seed;
  bool activate_last = false, no_activate_last = false, trace = false;
};

void add_options(CLI::App& app, Given& given) {
  app.add_option("--preset", given.preset, "lecture: 4 layers of 1024, normal data; fashion: Fashion-MNIST (default)")
      ->check(CLI::IsMember({"lecture", "fashion"}));
  app.add_option("--parallel", given.parallel, "serial, data (default), tensor or pipeline")
      ->check(CLI::IsMember({"serial", "data", "tensor", "pipeline"}));
  app.add_option("--layers", given.layers, "widths from input to output, such as 784-256-128-64-10");
  app.add_option("--activation", given.activation, "relu or gelu")->check(CLI::IsMember({"relu", "gelu"}));
  auto* last = app.add_flag("--activate-last", given.activate_last, "activate the last layer's outputs too (lecture)");
  app.add_flag("--no-activate-last", given.no_activate_last, "leave the last layer's outputs as they are (fashion)")
      ->excludes(last);
  app.add_option("--batch", given.batch, "rows of a global batch, whatever the number of ranks (128)")
      ->check(number<int>());
  app.add_option("--epochs", given.epochs, "times through the data (fashion 10, lecture 1)")->check(number<int>());
  app.add_option("--steps", given.steps, "stop after so many steps")->check(number<std::int64_t>());
  app.add_option("--optimizer", given.optimizer, "sgd or adamw")->check(CLI::IsMember({"sgd", "adamw"}));
  app.add_option("--lr", given.rate, "learning rate (0.001)")->check(number<double>());
  app.add_option("--decay", given.decay, "of the learning rate over all epochs: none or cosine (none)")
      ->check(CLI::IsMember({"none", "cosine"}));
  app.add_option("--momentum", given.momentum, "of sgd (0.9)")->check(number<double>());
  app.add_option("--weight-decay", given.weight_decay, "of adamw (fashion 0, lecture 0.01)")->check(number<double>());
  app.add_option("--seed", given.seed, "of initialisation, data and shuffle (0)")->check(number<std::uint64_t>());
  app.add_option("--dtype", given.dtype, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}));
  app.add_option("--micro-batches", given.micro_batches, "of the pipeline (4)")->check(number<int>());
  app.add_option("--schedule", given.schedule, "of the pipeline: gpipe or 1f1b")
      ->check(CLI::IsMember({"gpipe", "1f1b"}));
  app.add_option("--backend", given.backend, "of the collectives: native, mpi, nccl or auto")
      ->check(CLI::IsMember({"auto", "native", "mpi", "nccl"}));
  app.add_option("--data", given.data, std::string("folder of Fashion-MNIST (") + kFashionMnistFolder + ")");
  app.add_option("--json", given.json, "also write the result to this file");
  app.add_flag("--trace", given.trace, "print what each rank computes and sends");
}

template <class To, class From>
void set(To& to, const std::optional<From>& from) {
  if (from) to = static_cast<To>(*from);
}

Config config_of(const Given& given) {
  Config config = preset_config(given.preset == "lecture" ? Preset::lecture : Preset::fashion);
  TrainerSpec& t = config.trainer;
  config.parallel = *parse_parallel(given.parallel);
  if (given.layers) t.mlp.widths = parse_widths(*given.layers);
  if (given.activation) t.mlp.activation = *parse_activation(*given.activation);
  if (given.optimizer) t.optimizer.kind = *parse_optimizer(*given.optimizer);
  if (given.schedule) t.schedule = *parse_schedule(*given.schedule);
  if (given.backend) config.backend = *parse_backend(*given.backend);
  if (given.dtype) config.dtype = *given.dtype == "f64" ? DataType::f64 : DataType::f32;
  if (given.activate_last || given.no_activate_last) t.mlp.activate_last = given.activate_last;
  if (given.decay) config.decay = *given.decay == "cosine" ? Decay::cosine : Decay::none;
  if (given.steps && *given.steps < 1)
    throw UsageError("--steps: '" + std::to_string(*given.steps) + "' is less than 1");
  if (given.json && given.json->empty()) throw UsageError("--json: '' is not the name of a file");
  set(t.batch, given.batch);
  set(t.micro_batches, given.micro_batches);
  set(t.seed, given.seed);
  set(t.optimizer.rate, given.rate);
  set(t.optimizer.momentum, given.momentum);
  set(t.optimizer.weight_decay, given.weight_decay);
  set(config.epochs, given.epochs);
  set(config.steps, given.steps);
  set(config.json, given.json);
  set(config.data_folder, given.data);
  config.trace = given.trace;
  return config;
}

}  // namespace

CommandLine parse_command_line(int count, char** arguments) {
  CLI::App app("Trains a multi-layer perceptron: serial, or data, tensor or pipeline parallel.");
  app.name("tutti-train");
  app.footer(kExamples);
  Given given;
  CommandLine line;
  bool check = false;
  int ranks = 1;
  app.add_flag("--check-arguments", check)->group("");
  app.add_option("--ranks", ranks)->group("")->check(CLI::PositiveNumber);
  add_options(app, given);
  try {
    app.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    line.help = true;
    line.help_text = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  line.config = config_of(given);
  if (check) line.check_ranks = ranks;
  return line;
}

}  // namespace tutti::trainers

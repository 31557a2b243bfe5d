// tutti-train: the program behind `./tutti train`.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "collectives/tutti.hpp"
#include "trainers/command_line.hpp"
#include "trainers/fashion_mnist.hpp"
#include "trainers/run.hpp"

namespace {

using namespace tutti::trainers;

/// Throws InputError if this run cannot start; reads no data.
void check(const Config& config, int ranks) {
  const std::string reason = refusal(config, ranks);
  if (!reason.empty()) throw InputError(reason);
  const char* const device = std::getenv("TUTTI_DEVICE");
  if (config.backend == tutti::BackendKind::nccl && device && std::string_view(device) == "cpu")
    throw InputError("--backend: nccl works on GPUs, but TUTTI_DEVICE is cpu; use native or mpi, or unset it");
  check_files(config);
}

/// Rank 0's verdict holds for all, since only its files count; it alone says why. True if the run may start.
bool check_together(tutti::Session& session, const Config& config) {
  int usable = 1;
  if (session.rank() == 0) try {
      check(config, session.size());
    } catch (const InputError& error) {
      fmt::print(stderr, "tutti-train: {}\n", error.what());
      usable = 0;
    }
  return session.bootstrap_all_gather(usable)[0] == 1;
}

void write_json(const Config& config, int ranks, const RunResult& result) {
  const TrainerSpec& t = config.trainer;
  nlohmann::ordered_json json;
  json["config"] = {{"preset", name_of(config.preset)},
                    {"parallel", name_of(config.parallel)},
                    {"ranks", ranks},
                    {"backend", result.backend},
                    {"device", result.device},
                    {"layers", t.mlp.widths},
                    {"activation", name_of(t.mlp.activation)},
                    {"activate_last", t.mlp.activate_last},
                    {"bias", t.mlp.bias},
                    {"loss", name_of(t.loss)},
                    {"optimizer", name_of(t.optimizer.kind)},
                    {"lr", t.optimizer.rate},
                    {"decay", name_of(config.decay)},
                    {"momentum", t.optimizer.momentum},
                    {"weight_decay", t.optimizer.weight_decay},
                    {"batch", t.batch},
                    {"epochs", config.epochs},
                    {"steps", config.steps},
                    {"seed", t.seed},
                    {"dtype", name_of(config.dtype)},
                    {"micro_batches", t.micro_batches},
                    {"schedule", name_of(t.schedule)}};
  json["steps"] = result.steps;
  json["losses"] = result.losses;
  json["epoch_losses"] = result.epoch_losses;
  json["accuracy"] = result.accuracy ? nlohmann::ordered_json(*result.accuracy) : nlohmann::ordered_json(nullptr);
  json["seconds"] = result.seconds;
  json["samples_per_second"] = result.samples_per_second;
  json["sent_bytes_per_step"] = result.sent_bytes_per_step;
  std::ofstream file(config.json, std::ios::trunc);
  file << json.dump(2) << "\n";
  file.close();
  if (!file) throw InputError(fmt::format("--json: {} could not be written", config.json));
}

/// True if what was asked for cannot be had here, which all ranks find alike.
bool is_refusal(const tutti::Error& error) {
  return error.code() == tutti::ErrorCode::unsupported || error.code() == tutti::ErrorCode::invalid_argument;
}

tutti::Session make_session(const Config& config) {
  try {
    return tutti::Session({.backend = config.backend});
  } catch (const tutti::Error& error) {
    if (is_refusal(error)) throw InputError(error.what());
    throw;
  }
}

int train(const Config& config) {
  tutti::Session session = make_session(config);
  if (!check_together(session, config)) return 2;
  const bool reports = session.rank() == 0;
  try {
    const RunResult result = run(session, config);
    if (!reports) return 0;
    if (!config.json.empty()) write_json(config, session.size(), result);
    fmt::print("{} steps in {:.2f} s, {:.0f} samples/s\n", result.steps, result.seconds, result.samples_per_second);
    if (result.accuracy) fmt::print("test accuracy {:.2f} %\n", 100 * *result.accuracy);
    return 0;
  } catch (const InputError& error) {
    if (reports) fmt::print(stderr, "tutti-train: {}\n", error.what());
    return 2;
  } catch (const Diverged& error) {
    if (reports) fmt::print(stderr, "tutti-train: {}\n", error.what());
    tutti::let_rank_0_speak();
    return 1;
  } catch (const std::exception& error) {
    const auto* const known = dynamic_cast<const tutti::Error*>(&error);
    if (known && is_refusal(*known)) {
      if (reports) fmt::print(stderr, "tutti-train: {}\n", error.what());
      return 2;
    }
    fmt::print(stderr, "tutti-train: rank {}: {}\n", session.rank(), error.what());
    return 1;
  }
}

}  // namespace

int main(int count, char** arguments) {
  // Every rank finds the same mistake; one says so.
  const bool speaks = tutti::launched_rank() == 0;
  const auto refuse = [&](const char* why) {
    if (speaks) fmt::print(stderr, "tutti-train: {}\n", why);
    tutti::let_rank_0_speak();
    return 2;
  };
  try {
    const CommandLine line = parse_command_line(count, arguments);
    if (line.help) {
      if (speaks) fmt::print("{}", line.help_text);
      return 0;
    }
    if (const std::string fault = tutti::environment_fault(); !fault.empty()) return refuse(fault.c_str());
    if (line.check_ranks == 0) {
      prepare_for_gpu();
      return train(line.config);
    }
    check(line.config, line.check_ranks);
    return 0;
  } catch (const UsageError& error) {
    return refuse(error.what());
  } catch (const InputError& error) {
    return refuse(error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti-train: {}\n", error.what());
    return 1;
  }
}

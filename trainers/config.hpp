// A training run as the command line describes it.
#pragma once
#include <string>
#include <vector>

#include "collectives/tutti.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

enum class Preset : std::uint8_t {
  lecture,  ///< 4 layers of 1024, GELU after each, no bias, normal data, mean square: the lecture's
  fashion,  ///< Fashion-MNIST, 784-256-128-64-10
};
const char* name_of(Preset preset);

enum class Decay : std::uint8_t {
  none,
  cosine,  ///< from the full rate to 0 along half a cosine over all epochs
};
const char* name_of(Decay decay);
/// What the learning rate is multiplied by in step `step` of `steps`, counted from 0.
double rate_factor(Decay decay, std::int64_t step, std::int64_t steps);

/// Equal on all ranks. preset_config gives a preset's values; the command line then changes some.
struct Config {
  Preset preset = Preset::fashion;
  Parallel parallel = Parallel::data;
  TrainerSpec trainer;
  int epochs = 10;
  std::int64_t steps = 0;  ///< stop after so many steps; 0: all of the epochs
  Decay decay = Decay::none;
  DataType dtype = DataType::f32;
  BackendKind backend = BackendKind::automatic;
  std::string data_folder;
  std::string json;  ///< empty: none
  bool trace = false;
};

Config preset_config(Preset preset);

/// Why this run cannot work on so many ranks, in one line that says what to do; empty if it can. Local, reads no file.
std::string refusal(const Config& config, int ranks);

/// Throws InputError if the data set or the place for the JSON file is not usable. Reads no data.
void check_files(const Config& config);

/// The lines before training: where it runs, model, layout, what each rank holds, what is replicated, the scale of
/// gradients, and the bytes that a step sends.
std::vector<std::string> header(const Config& config, int ranks, const std::string& backend, const std::string& device);

/// Bytes that `rank` sends in one step over `rows` rows, if each collective sends the least it can (ring or direct).
std::int64_t sent_bytes(const Config& config, int rank, int ranks, int rows);

}  // namespace tutti::trainers

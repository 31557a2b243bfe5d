// The constants that are compiled in: files that `tutti tune` wrote.
#include <fmt/core.h>

#include "collectives/shipped_tunings.hpp"
#include "collectives/tuning_file.hpp"

namespace tutti {
namespace {

Tuning read_shipped(std::string_view text, const char* name, bool on_gpu) {
  Tuning tuning = read_tuning(text, name, on_gpu, {});
  const TuningNotes notes = notes_of(text);
  set_origin(tuning, fmt::format("{}: {}; {}", name, notes.how, notes.machine));
  return tuning;
}

}  // namespace

const Tuning& default_tuning(bool on_gpu, bool crowded) {
  // Each read when it is first needed: 0.1 ms.
  if (on_gpu) {
    static const Tuning gpu = read_shipped(kGpuTuning, "defaults for GPUs", true);
    return gpu;
  }
  if (crowded) {
    static const Tuning tuning = read_shipped(kCrowdedTuning, "defaults for more ranks than cores", false);
    return tuning;
  }
  static const Tuning cpu = read_shipped(kCpuTuning, "defaults for CPUs", false);
  return cpu;
}

}  // namespace tutti

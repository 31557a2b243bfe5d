#include "bench/machine.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/gpu_name.hpp"
#include "collectives/environment.hpp"
#include "collectives/mpi_library.hpp"

namespace tutti::bench {
namespace {

// The value after "NAME :" in a file of such lines; empty if there is none.
std::string value_in(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

Machine this_machine(bool on_gpu) {
  Machine machine;
  machine.cpu = value_in("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = "unknown CPU";
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) machine.cores = std::max(1, CPU_COUNT(&mask));
  const double kib = std::strtod(value_in("/proc/meminfo", "MemTotal").c_str(), nullptr);
  machine.mpi = mpi_library();
  machine.memory_gib = std::round(kib / (1 << 20) * 10) / 10;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none))
    machine.gpus.push_back(value_in((entry.path() / "information").string(), "Model"));
  if (on_gpu) {
    const std::string gpu = gpu_name();
    machine.emulated = is_emulated(gpu);
    if (machine.emulated)
      machine.gpus = {gpu};
    else if (machine.gpus.empty() && !gpu.empty())
      machine.gpus.push_back(gpu);
  }
  return machine;
}

std::string device_of(bool on_gpu, const Machine& machine) {
  if (!on_gpu) return fmt::format("the CPU ({})", why_on_cpu());
  std::vector<std::string> names = machine.gpus;
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fmt::format("the GPU ({})", names.empty() ? "of unknown name" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace tutti::bench

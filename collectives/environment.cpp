#include "collectives/environment.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "collectives/backend.hpp"
#include "collectives/deadline.hpp"
#include "collectives/gpu_driver.hpp"

namespace tutti {
namespace {

std::string_view device_asked_for() {
  const char* const device = std::getenv("TUTTI_DEVICE");
  return device && *device ? device : "auto";
}

}  // namespace

BackendKind default_backend() {
  const char* const name = std::getenv("TUTTI_BACKEND");
  if (!name || !*name) return BackendKind::native;
  const auto kind = parse_backend(name);
  if (!kind)
    throw Error(ErrorCode::invalid_argument, fmt::format("TUTTI_BACKEND is '{}'; use auto, native, mpi or nccl", name));
  return *kind == BackendKind::automatic ? BackendKind::native : *kind;
}

int launched_rank() {
  for (const char* name : {"TUTTI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name); value && *value) return std::atoi(value);
  return 0;
}

void let_rank_0_speak() {
  if (launched_rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
}

int threads_asked_for() {
  const char* const text = std::getenv("TUTTI_THREADS");
  if (!text || !*text) return 0;
  if (text[0] >= '1' && text[0] <= '0' + kMostThreads && !text[1]) return text[0] - '0';
  throw Error(ErrorCode::invalid_argument, fmt::format("TUTTI_THREADS is '{}': give 1 to {}", text, kMostThreads));
}

std::string environment_fault() {
  BackendKind backend = BackendKind::native;
  try {
    backend = default_backend();
    default_timeout_s();
    threads_asked_for();
  } catch (const Error& error) {
    return error.what();
  }
  const std::string_view device = device_asked_for();
  if (device != "cpu" && device != "gpu" && device != "auto")
    return fmt::format("TUTTI_DEVICE is '{}'; use cpu, gpu or auto, or unset it", device);
  const std::string lack = lack_of_gpu();
  if (device == "gpu" && !lack.empty())
    return fmt::format("TUTTI_DEVICE is gpu, but {}; TUTTI_DEVICE=cpu runs on the CPU", lack);
  if (backend == BackendKind::nccl && (device == "cpu" || !lack.empty()))
    return fmt::format("TUTTI_BACKEND is nccl, which needs GPUs, but {}; use native or mpi on the CPU",
                       device == "cpu" ? "TUTTI_DEVICE is cpu" : lack);
  return "";
}

std::string why_on_cpu() {
  if (const std::string lack = lack_of_gpu(); !lack.empty()) return lack;
  return device_asked_for() == "cpu" ? "TUTTI_DEVICE is cpu" : "no GPU for each rank";
}

}  // namespace tutti

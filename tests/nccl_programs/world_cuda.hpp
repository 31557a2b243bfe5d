// The ranks of a communicator in one process, each with a GPU, a stream and memory of its own.
#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/nccl_programs/elements_cuda.hpp"

namespace nccl_programs {

void check(cudaError_t result, const char* call);
/// Throws with NCCL's own words.
void check(ncclResult_t result, const char* call);

/// How many GPUs a test of several can have; tests skip, and say so, if there are too few.
int gpus();

/// Memory on a GPU.
class Memory {
 public:
  Memory(int device, std::size_t bytes);
  Memory(int device, std::span<const std::byte> content);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;
  ~Memory();
  void* at(std::size_t byte = 0) const { return static_cast<std::byte*>(memory_) + byte; }
  std::vector<std::byte> content() const;

 private:
  int device_;
  std::size_t bytes_;
  void* memory_ = nullptr;
};

/// Who calls for the ranks.
enum class Callers {
  one_thread,       ///< one thread for all, in groups
  thread_per_rank,  ///< a thread for each, without groups
};

class World {
 public:
  /// Ranks 0 to ranks - 1 on the devices of these numbers, with streams that do not wait for the default stream.
  explicit World(int ranks, Callers callers = Callers::one_thread);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const { return static_cast<int>(comms_.size()); }
  ncclComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  cudaStream_t stream(int rank) const { return streams_[static_cast<std::size_t>(rank)]; }
  /// Makes `call` for every rank, and waits for the streams. Throws the error of the lowest rank that has one.
  void run(const std::function<ncclResult_t(int rank)>& call) const;
  /// The same without the wait.
  void start(const std::function<ncclResult_t(int rank)>& call) const;
  void wait() const;

 private:
  Callers callers_;
  std::vector<ncclComm_t> comms_;
  std::vector<cudaStream_t> streams_;
};

/// Expects that `memory` holds these values from element `first` on.
void expect_values(const Memory& memory, ncclDataType_t type, std::size_t first, std::span<const double> expected,
                   const std::string& what);

}  // namespace nccl_programs

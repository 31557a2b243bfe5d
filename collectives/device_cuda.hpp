// A rank's GPU, as all communicators of a session share it.
#pragma once
#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "collectives/agree.hpp"
#include "collectives/bootstrap.hpp"
#include "collectives/error.hpp"

namespace tutti::detail {

/// Throws ErrorCode::system, saying which call on which device failed and why.
void check_cuda(cudaError_t result, const char* call);
void check_cuda(int result, const char* call);

/// Makes a device current for a scope, and the former one again afterwards.
class OnDevice {
 public:
  explicit OnDevice(int device);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

 private:
  int before_ = -1;
};

/// Runs `work` on this rank; if it throws an Error on some rank, every rank throws that of the lowest. Collective.
template <class Work>
void together(Bootstrap& bootstrap, const Work& work) {
  ErrorCode code = ErrorCode::system;
  std::string trouble;
  try {
    work();
  } catch (const Error& error) {
    code = error.code();
    trouble = error.what();
  }
  agree(bootstrap, code, trouble);
}

class DeviceSession {
 public:
  /// Takes device `device`, which no other rank has. Collective; throws on all ranks alike.
  DeviceSession(Bootstrap& bootstrap, int device, std::chrono::nanoseconds timeout);
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  int device() const { return device_; }
  /// Blocks of the kernels that each rank's device holds at once, at least.
  int resident_blocks() const { return resident_blocks_; }
  std::chrono::nanoseconds timeout() const { return timeout_; }
  /// A stream for set-up: it does not wait for the default stream, nor for calls in flight.
  cudaStream_t quiet() const { return quiet_; }

  /// [segment][rank] in device memory, for the kernels.
  char* const* segments() const { return segments_; }
  /// Enters where `segment` is mapped here, of every rank; a null `bases` clears it.
  void publish(int segment, char* const* bases);

  // Device memory that peers may have mapped cannot be freed while they do. A rank retires its share of an allocation
  // when it has closed its own mappings; once all have, each frees its share, at the next allocation.
  std::uint64_t next_serial() { return ++serial_; }
  void retire(std::uint64_t serial, void* memory);
  /// Frees what every rank has retired. Collective.
  void free_retired(Bootstrap& bootstrap);

 private:
  struct Retired {
    std::uint64_t serial;
    void* memory;
  };
  int device_;
  int ranks_;
  int resident_blocks_ = 0;
  std::chrono::nanoseconds timeout_;
  cudaStream_t quiet_ = nullptr;
  char** segments_ = nullptr;
  std::uint64_t serial_ = 0;
  std::mutex mutex_;  // segments are destroyed by any thread
  std::vector<Retired> retired_;
};

}  // namespace tutti::detail

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
  /// Enters where `segment` is mapped here, of every rank.
  void publish(int segment, char* const* bases);
  /// Clears that: at once, or if a call is in flight, which may still look it up, with what is put aside.
  void withdraw(int segment);

  // Mapping, closing and freeing memory may wait for all kernels of the device, and a kernel may wait for a peer: one
  // that then waits for this rank would wait for ever. So they happen only while no rank has a call in flight, and what
  // is destroyed meanwhile is put aside for then.

  /// An event for the end of the newest call of some order; until `drop_end`, a call is in flight while it is pending.
  cudaEvent_t make_end();
  void drop_end(cudaEvent_t end);
  /// Throws ErrorCode::invalid_argument, alike on all ranks, if a call of the session is in flight on any; `what` names
  /// what needs that none is. Collective.
  void expect_idle(Bootstrap& bootstrap, const char* what);

  std::uint64_t next_serial() { return ++serial_; }
  /// Puts a rank's side of the allocation of that serial aside: its share, and its mappings of the peers'. The share is
  /// freed once every rank has closed its mappings.
  void retire(std::uint64_t serial, void* share, std::vector<void*> mappings);
  /// Puts pinned host memory aside.
  void retire_host(void* memory);
  /// Closes and frees what can be. After `expect_idle`. Collective.
  void free_retired(Bootstrap& bootstrap);

 private:
  struct Retired {
    std::uint64_t serial;
    void* share;
    std::vector<void*> mappings;
  };
  bool is_busy();  ///< under the mutex
  void close_retired();

  int device_;
  int ranks_;
  int resident_blocks_ = 0;
  std::chrono::nanoseconds timeout_;
  cudaStream_t quiet_ = nullptr;
  char** segments_ = nullptr;
  std::uint64_t serial_ = 0;
  std::mutex mutex_;  // of what follows: segments are destroyed by any thread
  std::vector<cudaEvent_t> ends_;
  std::vector<Retired> retired_;
  std::vector<void*> retired_host_;
  std::vector<int> retired_segments_;
};

}  // namespace tutti::detail

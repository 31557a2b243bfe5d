// A rank's GPU, as all communicators of a session share it.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "collectives/agree.hpp"
#include "collectives/bootstrap.hpp"
#include "collectives/error.hpp"
#include "collectives/residency_cuda.hpp"
#include "collectives/retired_cuda.hpp"

namespace tutti::detail {

/// Throws ErrorCode::system, saying which call on which device failed and why.
void check_cuda(cudaError_t result, const char* call);
void check_cuda(int result, const char* call);

/// Makes a device current for a scope, and the former one again afterwards.
class OnDevice {
 public:
  explicit OnDevice(int device);
  /// For destructors, which go on where the device cannot be used any more.
  OnDevice(int device, std::nothrow_t) noexcept;
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

/// Where the ranks of a session run, as its set-up found.
struct DevicePlan {
  int device = 0;           ///< this rank's, by its number in this process
  int ranks_here = 1;       ///< ranks on the fullest GPU
  RankSet in_process = 0;   ///< the session's ranks of this process
  std::vector<int> peers;   ///< their devices, each once
  bool own_kernels = true;  ///< tutti's, not NCCL's
};

class DeviceSession {
 public:
  /// Collective; throws on all ranks alike.
  DeviceSession(Bootstrap& bootstrap, const DevicePlan& plan, std::chrono::nanoseconds timeout);
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  int device() const { return plan_.device; }
  /// The devices whose kernels reach memory of this rank by its pointers.
  const std::vector<int>& peers() const { return plan_.peers; }
  /// Whether a rank of the session is of this process, and whether any of `session_ranks` is not.
  bool is_in_process(int session_rank) const { return plan_.in_process >> session_rank & 1; }
  bool has_strangers(std::span<const int> session_ranks) const {
    return (set_of(session_ranks) & ~plan_.in_process) != 0;
  }
  bool virtual_memory() const { return virtual_memory_; }  ///< segments are made of it
  /// Whether an NVSwitch may reduce and replicate among the session's GPUs: it was asked for, and each rank has a GPU
  /// of its own that says it can.
  bool multicast() const { return multicast_; }
  std::chrono::nanoseconds timeout() const { return timeout_; }
  /// A stream for set-up: it does not wait for the default stream, nor for calls in flight.
  cudaStream_t quiet() const { return quiet_; }
  /// Makes `stream` wait for what the legacy default stream holds. Streams that collectives run on are not ordered with
  /// it by CUDA itself: where ranks share a GPU in one process, a default stream that then waited for one rank's
  /// collective would hold up what another rank does before its own.
  void follow_default(cudaStream_t stream);
  /// Copies after what the default stream holds, and waits for the end.
  void copy(void* to, const void* from, std::size_t bytes);

  /// Takes a part of the blocks for a communicator of the ranks of `bootstrap`, the same on all. Collective; throws
  /// ErrorCode::unsupported on all alike if there is not one block for each of its calls.
  Blocks reserve_blocks(Bootstrap& bootstrap);
  void give_back(const Blocks& blocks, int ranks);

  /// [segment][rank] in device memory, for the kernels.
  char* const* segments() const { return segments_; }
  /// Enters where `segment` is mapped here, of every rank.
  void publish(int segment, char* const* bases);
  /// Clears that: at once, or if a call is in flight, which may still look it up, with what is put aside. To be called
  /// before the index is free for another segment.
  void withdraw(int segment);
  /// Closes what is put aside now if no call of this rank is in flight, so that peers may free what is theirs.
  void close_if_idle();

  /// An event for the end of the newest call of some order; until `drop_end`, a call is in flight while it is pending.
  cudaEvent_t make_end();
  void drop_end(cudaEvent_t end);
  /// Whether a call of this rank is in flight. May be called by any thread.
  bool is_busy();
  /// Throws ErrorCode::invalid_argument, alike on all ranks, if a call of the session is in flight on any; `what` names
  /// what needs that none is. Then closes and frees what is put aside. `members` has the session's rank of each rank of
  /// `bootstrap`. Collective.
  void expect_idle(Bootstrap& bootstrap, std::span<const int> members, const char* what);

  RetiredMemory& retired() { return retired_; }
  /// This rank's mapping of a peer's memory, made by `map` unless it is there already: for memory of the caller, which
  /// may be registered several times.
  RetiredMemory::Thing mapping_of(int session_rank, std::uint64_t memory,
                                  const std::function<RetiredMemory::Thing()>& map);
  std::uint64_t next_serial() { return ++serial_; }

 private:
  bool is_any_pending();  ///< of the ends; under the mutex
  void close_retired();
  void release();

  DevicePlan plan_;
  int session_ranks_;
  std::atomic<int> free_blocks_ = 0;  ///< given back by any thread
  bool virtual_memory_ = false;
  bool multicast_ = false;
  std::chrono::nanoseconds timeout_;
  cudaStream_t quiet_ = nullptr;
  cudaStream_t copies_ = nullptr;
  cudaEvent_t default_ = nullptr;  ///< what the default stream holds
  char** segments_ = nullptr;
  std::uint64_t serial_ = 0;
  RetiredMemory retired_;
  std::mutex mutex_;  // of what follows: segments are destroyed by any thread
  std::vector<cudaEvent_t> ends_;
  std::vector<int> retired_segments_;
  std::map<std::pair<int, std::uint64_t>, std::weak_ptr<void>> mappings_;
};

}  // namespace tutti::detail

#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/residency.hpp"
#include "tests/emulator/runtime/streams.hpp"

namespace tutti::emulated {

class ModuleInstance;
class FatBinary;

/// One GPU that the program sees, with all that belongs to its primary context.
class Device {
 public:
  Device(int index, int gpu);
  ~Device();

  int index() const { return index_; }  ///< as the program counts
  int gpu() const { return gpu_; }      ///< as the machine counts

  // ---- What went wrong: the first fault stays, until the device is reset.
  void fail(const DeviceFault& fault);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const std::atomic<bool>& failed_flag() const { return failed_; }
  void require_healthy() const;

  // ---- Streams
  std::shared_ptr<Stream> create_stream(unsigned flags, int priority);
  /// The created stream at this address; null if there is none.
  std::shared_ptr<Stream> find_stream(const Stream* stream) const;
  void destroy_stream(Stream& stream);
  std::shared_ptr<Stream> legacy_stream();
  std::shared_ptr<Stream> per_thread_stream();
  /// Queues the operation in the order that the default stream imposes.
  Point submit(Stream& stream, Operation operation);
  /// What every stream was given until now.
  std::vector<Point> all_work();
  void synchronize();

  // ---- Memory
  /// Counts bytes of the device's memory; false if there are not so many.
  bool take(std::size_t bytes);
  void give(std::size_t bytes);
  std::size_t free_bytes() const;
  /// Bit d: kernels here may touch memory of device d.
  std::uint64_t peers() const { return peers_.load(std::memory_order_acquire); }
  void set_peers(std::uint64_t peers) { peers_.store(peers, std::memory_order_release); }

  // ---- Kernels
  Residency& residency() { return residency_; }
  /// The variables that a fat binary has on this device, made at the first use.
  ModuleInstance& instance_of(const FatBinary& binary);

  /// Everything of it ends and is given back; it is as new.
  void reset();

 private:
  const int index_, gpu_;
  std::atomic<bool> failed_{false};
  cudaError_t failure_ = cudaSuccess;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;  ///< all but the legacy one
  std::vector<Point> leaving_;                    ///< what destroyed streams still have to do
  std::shared_ptr<Stream> legacy_;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
  std::size_t taken_ = 0;
  std::atomic<std::uint64_t> peers_{0};
  Residency residency_;
  std::mutex instances_mutex_;
  std::map<const FatBinary*, std::unique_ptr<ModuleInstance>> instances_;
};

/// The devices that the program sees. The first call says that this is an emulation.
std::vector<std::unique_ptr<Device>>& devices();
/// Throws Failure(cudaErrorInvalidDevice) for an index that is none, cudaErrorNoDevice if there is none at all.
Device& device_at(int index);
/// The calling thread's.
Device& current_device();
int current_index();
void set_current_index(int index);

/// Sets the calling thread's device for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int index) : before_(current_index()) { set_current_index(index); }
  ~OnDevice() { set_current_index(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

}  // namespace tutti::emulated

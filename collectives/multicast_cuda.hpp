// One range of addresses for the memory of several GPUs, by which an NVSwitch reduces what is loaded from all of them
// and replicates what is stored to them.
#pragma once
#include <cuda.h>

#include <memory>
#include <vector>

#include "collectives/device_cuda.hpp"
#include "collectives/segments_cuda.hpp"
#include "collectives/virtual_memory_cuda.hpp"

namespace tutti {

/// A multicast object as one rank holds it: its memory bound, the whole mapped for its GPU. Its end unmaps and unbinds.
class MulticastMemory {
 public:
  /// A new object for `gpus` GPUs, each with `bytes`. `shareable`: other processes may import it.
  static std::shared_ptr<MulticastMemory> make(int gpus, std::size_t bytes, bool shareable);
  static std::shared_ptr<MulticastMemory> from_descriptor(int fd, std::size_t bytes);
  /// The same object, for another rank of this process.
  static std::shared_ptr<MulticastMemory> again(std::shared_ptr<MulticastMemory> first);
  ~MulticastMemory();
  MulticastMemory(const MulticastMemory&) = delete;
  MulticastMemory& operator=(const MulticastMemory&) = delete;

  Descriptor share() const;
  /// In this order, with a meeting of all ranks before `bind`, which needs all GPUs added, and before `map`.
  void add(int device);
  void bind(std::shared_ptr<VirtualMemory> memory);
  void map();
  char* base() const { return reinterpret_cast<char*>(base_); }

 private:
  MulticastMemory(CUmemGenericAllocationHandle handle, std::size_t bytes, std::shared_ptr<MulticastMemory> owner = {})
      : handle_(handle), bytes_(bytes), owner_(std::move(owner)) {}

  CUmemGenericAllocationHandle handle_;
  std::size_t bytes_;
  std::shared_ptr<MulticastMemory> owner_;  ///< of the handle, if this is not
  int device_ = -1;
  std::shared_ptr<VirtualMemory> memory_;  ///< once bound
  CUdeviceptr base_ = 0;
  bool mapped_ = false;
};

/// To what a GPU's memory is rounded up so that multicast of `gpus` GPUs can have it; at least `bytes` is wanted.
std::size_t multicast_grain(int gpus, std::size_t bytes, bool shareable);

/// Whether `device` and its driver can be part of a multicast object.
bool can_multicast(int device);

/// Binds `mine`, of as many bytes on every member, to an object of all members' GPUs, and returns it mapped, or null on
/// all ranks alike if a GPU or the switch cannot. Collective.
std::shared_ptr<MulticastMemory> bind_multicast(const Members& members, const detail::DeviceSession& device,
                                                std::shared_ptr<VirtualMemory> mine);

}  // namespace tutti

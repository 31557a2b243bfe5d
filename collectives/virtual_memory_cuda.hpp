// Device memory made in two steps, physical memory and addresses for it, so that several processes or multicast can map
// the same.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "collectives/bootstrap.hpp"

namespace tutti {

/// Physical memory mapped at addresses of its own, for the kernels of `devices`. Its end unmaps it, gives the addresses
/// back and then lets go of the memory, which lives on where others have it mapped.
class VirtualMemory {
 public:
  /// New memory on `device`, at least `bytes` and a multiple of `grain`, 2 MiB-aligned. `shareable`: other processes
  /// may import it.
  static std::shared_ptr<VirtualMemory> make(int device, std::size_t bytes, bool shareable,
                                             std::span<const int> devices, std::size_t grain = 0);
  /// Memory of another process, of exactly `bytes`, out of the descriptor that it has exported.
  static std::shared_ptr<VirtualMemory> from_descriptor(int fd, std::size_t bytes, int device);
  ~VirtualMemory();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  char* base() const { return reinterpret_cast<char*>(base_); }
  std::size_t bytes() const { return bytes_; }
  CUmemGenericAllocationHandle handle() const { return handle_; }
  Descriptor share() const;

 private:
  VirtualMemory(CUmemGenericAllocationHandle handle, std::size_t bytes) : handle_(handle), bytes_(bytes) {}
  void map(std::span<const int> devices);

  CUmemGenericAllocationHandle handle_;
  std::size_t bytes_;
  CUdeviceptr base_ = 0;
  bool mapped_ = false;
};

/// Why `device` cannot have such memory, shareable between processes; empty if it can.
std::string lack_of_virtual_memory(int device);

/// A descriptor of physical memory or of a multicast object, and back.
Descriptor share_handle(CUmemGenericAllocationHandle handle);
CUmemGenericAllocationHandle import_handle(int fd);

/// A descriptor of somebody else's memory of this process that begins at `base`; none if it cannot be exported.
Descriptor share_of_foreign(const void* base);

/// Lets kernels of `devices` reach virtual memory of this process; false if it may not be.
bool open_to(std::span<const int> devices, const void* base, std::size_t bytes);

}  // namespace tutti

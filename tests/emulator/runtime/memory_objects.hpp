#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>

#include "tests/emulator/runtime/address_space.hpp"

namespace tutti::emulated {

class Device;
class Multicast;

/// What a handle of the driver's virtual memory names: memory of one GPU, or a multicast object. Lives while it has a
/// handle or is mapped somewhere in this process; its file lives while any process has it.
struct MemoryObject {
  ~MemoryObject();

  CUmemAllocationProp properties{};  ///< of the memory of a GPU; where a GPU is invisible here, its location is none
  int gpu = -1;                      ///< as the machine counts; -1: multicast
  std::size_t bytes = 0;
  std::shared_ptr<MemoryFile> file;
  Device* counted_on = nullptr;          ///< where the bytes are taken
  std::shared_ptr<Multicast> multicast;  ///< null: memory of a GPU
};

/// A new file of that many bytes, whose name says what is in it and so is known to whoever is given its descriptor;
/// throws Failure(cudaErrorMemoryAllocation).
MemoryFile named_file(std::size_t bytes, const char* name);

/// With one reference. Further ones are made by retain_handle; each is given back by cuMemRelease.
CUmemGenericAllocationHandle enter_object(std::shared_ptr<MemoryObject> object);
CUmemGenericAllocationHandle retain_handle(const std::shared_ptr<MemoryObject>& object);
/// Throw Failure(cudaErrorInvalidValue) for a handle that is none.
std::shared_ptr<MemoryObject> object_of(CUmemGenericAllocationHandle handle);
void release_handle(CUmemGenericAllocationHandle handle);

/// The device, as this process counts, of a GPU of the machine; -1 if it is not visible.
int visible_index(int gpu);

constexpr std::size_t kMemoryGrain = AddressSpace::kGranularity;

}  // namespace tutti::emulated

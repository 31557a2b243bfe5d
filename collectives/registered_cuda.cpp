// The caller's memory, mapped by the peers through the allocation that it lies in.
#include <fmt/format.h>

#include "collectives/driver_cuda.hpp"
#include "collectives/mapped_segment_cuda.hpp"
#include "collectives/streams_cuda.hpp"
#include "collectives/virtual_memory_cuda.hpp"

namespace tutti {
namespace {

using detail::DeviceSession;
using Thing = MappedSegment::Thing;

enum class Kind : std::uint8_t {
  none,        ///< it cannot be handed on
  empty,       ///< of 0 bytes
  pointer,     ///< to ranks of the same process, where there are no others
  handle,      ///< CUDA IPC: memory of cudaMalloc
  descriptor,  ///< virtual memory, such as PyTorch's expandable segments
};

/// What a rank hands out.
struct Offered {
  Kind kind;
  std::size_t bytes;
  std::size_t offset;         ///< of the memory in its allocation
  std::size_t whole;          ///< of the allocation
  std::uint64_t allocation;   ///< its number in its process, never given twice
  char* pointer;              ///< for ranks of the same process
  cudaIpcMemHandle_t handle;  ///< of the allocation
};

bool is_own_device_memory(const void* memory, int device) {
  cudaPointerAttributes attributes{};
  const cudaError_t result = cudaPointerGetAttributes(&attributes, memory);
  if (result != cudaSuccess) cudaGetLastError();
  return result == cudaSuccess && attributes.type == cudaMemoryTypeDevice && attributes.device == device;
}

/// Finds out what `memory` is part of; `descriptor`: of that, if that is how to hand it on.
Offered look_at(const DeviceSession& device, void* memory, std::size_t bytes, bool strangers, Descriptor& descriptor) {
  Offered mine{};
  mine.bytes = bytes;
  if (bytes == 0) {
    mine.kind = Kind::empty;
    return mine;
  }
  if (!is_own_device_memory(memory, device.device())) return mine;
  const auto at = reinterpret_cast<CUdeviceptr>(memory);
  CUdeviceptr base = 0;
  if (driver().mem_get_address_range(&base, &mine.whole, at) != CUDA_SUCCESS) return mine;
  mine.offset = at - base;
  // Memory that was mapped piece by piece has no handle of the whole.
  if (mine.whole < bytes || mine.offset > mine.whole - bytes) return mine;
  int has_handle = 0;
  if (driver().pointer_get_attribute(&has_handle, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at) !=
          CUDA_SUCCESS ||
      driver().pointer_get_attribute(&mine.allocation, CU_POINTER_ATTRIBUTE_BUFFER_ID, at) != CUDA_SUCCESS)
    return mine;
  mine.pointer = static_cast<char*>(memory);
  auto* const start = reinterpret_cast<void*>(base);
  // Peer access opens memory of cudaMalloc to the process's other GPUs; other memory is opened piece by piece.
  if (!has_handle && device.peers().size() > 1 && !open_to(device.peers(), start, mine.whole)) return mine;
  if (!strangers) {
    mine.kind = Kind::pointer;
  } else if (has_handle) {
    if (cudaIpcGetMemHandle(&mine.handle, start) == cudaSuccess)
      mine.kind = Kind::handle;
    else
      cudaGetLastError();
  } else {
    descriptor = share_of_foreign(start);
    if (descriptor.get() >= 0) mine.kind = Kind::descriptor;
  }
  return mine;
}

/// Maps a peer's allocation, unless an earlier registration has; returns where it begins, too.
std::pair<char*, Thing> map_peer(DeviceSession& device, const Offered& theirs, const Descriptor* descriptor, int rank,
                                 int session_rank) {
  if (theirs.kind == Kind::handle) {
    Thing mapping = device.mapping_of(session_rank, theirs.allocation,
                                      [&] { return open_by_handle(theirs.handle, device.device(), rank); });
    return {static_cast<char*>(mapping.get()), mapping};
  }
  Thing mapping = device.mapping_of(session_rank, theirs.allocation, [&] {
    return VirtualMemory::from_descriptor(descriptor->get(), theirs.whole, device.device());
  });
  return {static_cast<VirtualMemory*>(mapping.get())->base(), mapping};
}

}  // namespace

std::shared_ptr<SharedSegment> register_device_memory(const Members& members, std::shared_ptr<DeviceSession> device,
                                                      void* memory, std::size_t bytes) {
  Bootstrap& bootstrap = members.bootstrap;
  const detail::OnDevice current(device->device());
  const detail::BesideCaptures beside;
  device->expect_idle(bootstrap, members.session_ranks, "memory is registered");
  Descriptor descriptor;
  Offered mine{};
  const bool strangers = device->has_strangers(members.session_ranks);
  detail::together(bootstrap, [&] { mine = look_at(*device, memory, bytes, strangers, descriptor); });
  const std::vector<Offered> offered = bootstrap.all_gather(mine);
  bool by_descriptor = false;
  for (const Offered& theirs : offered) {
    if (theirs.kind == Kind::none) return nullptr;
    by_descriptor |= theirs.kind == Kind::descriptor;
  }
  std::vector<Descriptor> descriptors(offered.size());
  if (by_descriptor) descriptors = bootstrap.share(descriptor.get());

  auto segment = std::make_shared<MappedSegment>(members, device);
  detail::together(bootstrap, [&] {
    for (int r = 0; r < bootstrap.size(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      const Offered& theirs = offered[at];
      if (theirs.kind == Kind::empty || device->is_in_process(members.session_ranks[at])) {
        segment->set(r, theirs.pointer, theirs.bytes);
      } else {
        auto [base, mapping] = map_peer(*device, theirs, &descriptors[at], r, members.session_ranks[at]);
        segment->set(r, base + theirs.offset, theirs.bytes);
        segment->holding().mappings.push_back(std::move(mapping));
      }
    }
  });
  return segment;
}

}  // namespace tutti

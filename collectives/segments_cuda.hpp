// Device memory that every rank of a communicator reaches.
#pragma once
#include <memory>
#include <span>

#include "collectives/device_cuda.hpp"
#include "collectives/segments.hpp"

namespace tutti {

/// The ranks of an allocation: those of `bootstrap`, and the session's rank of each.
struct Members {
  Bootstrap& bootstrap;
  std::span<const int> session_ranks;
};

/// `bytes` zeroed bytes on every rank's GPU (may differ between ranks; 0 is legal), 2 MiB-aligned, mapped by all:
/// between processes by CUDA IPC or, if the session makes virtual memory, by descriptors; between threads by pointers.
/// Collective; throws on all ranks alike, also if a call of the session is in flight on one. A rank's memory is freed
/// by a later call, after every rank has let go. `multicast`: reached by the switch too, if the session has one that
/// can.
std::shared_ptr<SharedSegment> allocate_device_segment(const Members& members,
                                                       std::shared_ptr<detail::DeviceSession> device, std::size_t bytes,
                                                       bool multicast = false);

/// The callers' own memory: `bytes` at `memory` on each rank (may differ; null and 0 are legal), mapped by all through
/// the allocation that it lies in. Null, on all ranks alike, if some rank's is not device memory of its GPU, or of a
/// kind that cannot be handed on. Collective; throws as above. A rank frees the memory only after every rank has
/// destroyed this, and with no call of the session in flight: then nobody maps it any more.
std::shared_ptr<SharedSegment> register_device_memory(const Members& members,
                                                      std::shared_ptr<detail::DeviceSession> device, void* memory,
                                                      std::size_t bytes);

}  // namespace tutti

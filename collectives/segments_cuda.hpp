// Device memory that every rank reaches.
#pragma once
#include <memory>

#include "collectives/device_cuda.hpp"
#include "collectives/segments.hpp"

namespace tutti {

/// `bytes` zeroed bytes on every rank's GPU (may differ between ranks; 0 is legal), mapped by all: between processes by
/// CUDA IPC, between threads by peer access. Collective; throws on all ranks alike, also if a call of the session is in
/// flight on one. A rank's memory is freed by a later call, after every rank has let go.
std::shared_ptr<SharedSegment> allocate_device_segment(Bootstrap& bootstrap,
                                                       std::shared_ptr<detail::DeviceSession> device,
                                                       std::size_t bytes);

}  // namespace tutti

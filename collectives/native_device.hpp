// Where a session asks to run.
#pragma once
#include <memory>
#include <string>

#include "collectives/bootstrap.hpp"
#include "collectives/native_cuda.hpp"

namespace tutti {

/// What TUTTI_DEVICE and the session's options ask for.
enum class DeviceWish {
  cpu,
  gpu,
  named,      ///< ranks name the GPUs that they want
  automatic,  ///< "auto": a fall-back to the CPU is worth a word
  unset,      ///< the same, without a word
};

/// Throws ErrorCode::invalid_argument, alike on all ranks, if TUTTI_DEVICE has another value or not the same on all, or
/// is cpu though a rank's `gpu` names the GPU that it wants (-1: none), and ErrorCode::unsupported if it is cpu and the
/// backend nccl. Collective.
DeviceWish agreed_device_wish(Bootstrap& bootstrap, BackendKind backend, int gpu);

/// For ranks that wished for a GPU and cannot have one, which `why_not` says, the same text on all: throws
/// ErrorCode::unsupported if they must have it, else returns null, and says so on rank 0's stderr if asked for "auto".
std::shared_ptr<detail::DeviceSession> without_gpu(Bootstrap& bootstrap, BackendKind backend, DeviceWish wish,
                                                   const std::string& why_not);

}  // namespace tutti

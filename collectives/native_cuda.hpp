// What the rest of tutti sees of the GPU. Declared in every build; a build without CUDA has no GPU to offer.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "collectives/backend.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
class DeviceSession;
}  // namespace detail

/// The GPU side of a session of backend native or nccl, or null if its ranks shall run on the CPU; the same on all
/// ranks. `gpu`: the GPU that this rank wants, or -1 (see SessionOptions::gpu). TUTTI_DEVICE decides: "cpu"; "gpu":
/// throws on all ranks alike if a rank cannot have a GPU that reaches all others; "auto", or unset: then falls back to
/// the CPU, which rank 0 says on stderr for "auto". nccl needs GPUs, one for each rank. Ranks take the GPUs that they
/// see so that as few as can be share one, which rank 0 says if it happens; the rank's GPU becomes the calling thread's
/// current device. Collective.
std::shared_ptr<detail::DeviceSession> device_session(Bootstrap& bootstrap, BackendKind backend,
                                                      std::chrono::nanoseconds timeout, int gpu);

/// The native backend on GPUs, for a session that has a device session. Collective; throws on all ranks alike.
/// The communicator's session and bootstrap outlive the backend. Pointers given to its calls are of device memory; a
/// call with a null stream comes after what the legacy default stream did, and has ended on return; with a stream, it
/// is in the stream's order as in NCCL.
std::unique_ptr<Backend> native_cuda_backend(const detail::CommunicatorState& communicator,
                                             const CommunicatorOptions& options);

}  // namespace tutti

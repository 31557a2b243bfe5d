// NCCL's own collectives, for comparison.
#pragma once
#include <memory>

#include "collectives/backend.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
}

/// NCCL over the GPUs of the communicator's ranks; the library is opened here, by name. Collective; throws
/// ErrorCode::unsupported on all ranks alike if the session runs on the CPU, or if there is no library to open.
std::unique_ptr<Backend> nccl_backend(const detail::CommunicatorState& communicator,
                                      const CommunicatorOptions& options);

}  // namespace tutti

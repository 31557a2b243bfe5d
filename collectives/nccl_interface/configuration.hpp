// What programs ask of a new communicator in an ncclConfig_t.
#pragma once
#include <nccl.h>

namespace tutti::nccl_interface {

/// Whether functions wait for the communicator; `fallback` if the configuration (null: there is none) leaves it open.
/// Throws ncclInvalidArgument if it was not made by NCCL_CONFIG_INITIALIZER or a field makes no sense. What else it
/// asks for concerns NCCL's own ways, and has no meaning here.
bool is_blocking(const ncclConfig_t* configuration, bool fallback = true);

}  // namespace tutti::nccl_interface

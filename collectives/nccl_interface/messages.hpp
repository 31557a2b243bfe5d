// The sends and receives of a group.
#pragma once
#include <span>

#include "collectives/nccl_interface/communicator.hpp"

namespace tutti::nccl_interface {

/// Launches them, all of one communicator, in `stream`; they make progress together. One that sends what another,
/// issued before it, receives comes after that: NCCL leaves open what is then sent, tutti does not.
void launch_messages(ncclComm& communicator, std::span<const Request> messages, cudaStream_t stream);

}  // namespace tutti::nccl_interface

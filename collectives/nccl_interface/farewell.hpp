// How the ranks of a communicator part, where they are processes.
//
// A rank's memory can be freed once no other maps it. Ranks that are threads hold each other's; processes must tell
// each other that they have let go. ncclCommDestroy does not wait for other ranks, who may not be destroyed before this
// one has returned, so a thread of each does.
#pragma once
#include <memory>

#include "collectives/session_state.hpp"

namespace tutti::nccl_interface {

/// Waits in the background until all ranks have come here, then frees what this one had for the communicator; `state`
/// has no backend any more. Gives the others a moment before it returns. When one never comes, or the process ends
/// before, the memory goes with the process. Does not throw.
void part(std::shared_ptr<detail::CommunicatorState> state);

}  // namespace tutti::nccl_interface

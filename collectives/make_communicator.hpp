// Communicators, over all ranks of a session or some.
#pragma once
#include "collectives/session_state.hpp"

namespace tutti {

/// A communicator of the session's backend over the ranks of `bootstrap`; `members` has the session's rank of each.
/// Collective over them; throws on all alike.
Communicator make_communicator(std::shared_ptr<detail::SessionState> session, std::shared_ptr<Bootstrap> bootstrap,
                               std::vector<int> members, const CommunicatorOptions& options);

}  // namespace tutti

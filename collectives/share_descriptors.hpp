// Descriptors handed from process to process of one host.
#pragma once
#include <vector>

#include "collectives/bootstrap.hpp"

namespace tutti {

/// Bootstrap::share for ranks that are processes: every rank sends `fd` to every other as SCM_RIGHTS over abstract Unix
/// sockets, whose addresses travel by bootstrap.all_gather. A connection counts only if it comes from the same user and
/// brings the token that this rank gave out. Lasts at most min(timeout_s / 3, 10 s): all ranks have arrived when it
/// begins. Collective; throws ErrorCode::system on all ranks alike, for example where a container separates their
/// networks.
std::vector<Descriptor> share_descriptors(Bootstrap& bootstrap, int fd, double timeout_s);

}  // namespace tutti

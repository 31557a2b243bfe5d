// A peer among the contenders.
#pragma once
#include "bench/contender.hpp"
#include "bench/peers/job.hpp"

namespace tutti::bench::peers {

/// Starts the peer's processes. Collective; throws as Job does.
std::unique_ptr<Contender> peer_contender(Bootstrap& bootstrap, const Setting& setting, std::size_t in_bytes,
                                          std::size_t out_bytes);

}  // namespace tutti::bench::peers

// Which kernel a call runs, and why. Depends only on what is equal on all ranks.
#pragma once
#include <string_view>

#include "collectives/backend.hpp"
#include "kernels/kernels.hpp"

namespace tutti {

struct Plan {
  Kernel kernel = Kernel::barrier;
  Algorithm algorithm = Algorithm::direct;
  std::string_view reason;
};

/// Throws ErrorCode::unsupported, alike on all ranks, if the request forces an algorithm that cannot serve it.
Plan choose(const Request& request, const Geometry& geometry, bool deterministic);

/// The algorithms that a collective can be forced to use: "ring, tree".
std::string algorithms_of(Collective collective);

/// What `plan` costs, by its kernel's formula, if all buffers are mapped.
Choice choice_of(const Request& request, const Plan& plan, int ranks, int blocks);

/// What ranks compare when they meet in `request`; a send and its receive have the same.
Description describe(const Request& request, const Plan& plan, int blocks);

/// "all_reduce f32 sum, 1024 elements, by ring", for messages.
std::string to_string(Description description, std::uint64_t elements);

}  // namespace tutti

// What a caller may get wrong, found before anything is changed.
#pragma once
#include "collectives/backend.hpp"

namespace tutti {

/// Throws ErrorCode::invalid_argument with one line if `request` is not a legal call on `rank` of `size`.
void validate(const Request& request, int rank, int size);

/// The same if a receive of the group would write what another of its operations reads or writes.
void validate_group(std::span<const Request> requests, int rank);

}  // namespace tutti

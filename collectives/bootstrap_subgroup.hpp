// What every Bootstrap::subgroup checks before it makes anything.
#pragma once
#include <span>

#include "collectives/bootstrap.hpp"

namespace tutti {

/// Returns this rank's place in `members`, or -1 if it is empty. Collective over `parent`; throws
/// ErrorCode::invalid_argument or mismatch on all ranks alike unless every list names ranks of `parent`, each once and
/// its giver among them, and all members of a group give the same list.
int place_in_subgroup(Bootstrap& parent, std::span<const int> members);

}  // namespace tutti

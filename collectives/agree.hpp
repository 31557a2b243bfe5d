// One rank's trouble becomes the same Error on every rank.
#pragma once
#include <string>

#include "collectives/bootstrap.hpp"
#include "collectives/error.hpp"

namespace tutti {

/// Returns if no rank has trouble (an empty text); else throws, on every rank, the code and text of the lowest rank
/// that has. Texts are cut after about 500 bytes. Collective.
void agree(Bootstrap& bootstrap, ErrorCode code, const std::string& trouble);

}  // namespace tutti

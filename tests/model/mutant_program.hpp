// `./tutti check --mutants`: the hunt with its progress, its table and its exit code.
#pragma once
#include <vector>

#include "tests/model/mutant_hunt.hpp"

namespace tutti::mutants {

/// Of all kernels, if none are given. 0 if every mutant was found or is listed, else 1. Throws as run(Hunt) does.
int hunt_and_tell(const std::vector<Kernel>& kernels, int seeds, unsigned threads);

}  // namespace tutti::mutants

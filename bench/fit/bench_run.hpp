// Runs tutti-bench on this machine, for its JSON file.
#pragma once
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::fit {

struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One run after the other at 2 and at 4 ranks, each of one collective, started by mpirun; their files are in `folder`.
/// `told` gets a line before each. Throws RunError if mpirun or tutti-bench (beside this program) cannot be started, or
/// fails.
std::vector<std::string> measure_here(const std::string& folder, const std::function<void(const std::string&)>& told);

}  // namespace tutti::fit

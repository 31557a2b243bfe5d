// The rows of a run as JSON.
#pragma once
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/rows.hpp"

namespace tutti::bench {

/// An object with `machine`, `command` and `rows`; docs/benchmarking.md lists the keys of a row. Times are in
/// microseconds, bandwidths in 1e9 bytes/s.
std::string report(const Machine& machine, const std::string& command, const std::vector<Row>& rows);

}  // namespace tutti::bench

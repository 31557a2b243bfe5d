// The rows of a run as JSON.
#pragma once
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/rows.hpp"

namespace tutti::bench {

/// An object with `machine`, `command`, `rows` and `not_applicable`; docs/benchmarking.md lists the keys of a row.
/// Times are in microseconds, bandwidths in 1e9 bytes/s; both are left out if the GPUs are emulated.
std::string report(const Machine& machine, bool on_gpu, const std::string& command, const std::vector<Row>& rows,
                   const std::vector<LeftOut>& left_out);

}  // namespace tutti::bench

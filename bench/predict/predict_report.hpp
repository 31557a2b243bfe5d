// Predictions as JSON.
#pragma once
#include "bench/predict/machine_file.hpp"
#include "bench/predict/rows.hpp"

namespace tutti::predict {

/// An object as bench's report has it, with `predicted`: true beside `machine`; docs/predict.md lists the keys of a
/// row.
std::string predict_report(const MachineFile& machine, const std::string& command, const std::vector<Group>& groups);

}  // namespace tutti::predict

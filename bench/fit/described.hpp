// A fitted machine as a file for predict.
#pragma once
#include "bench/fit/fitting.hpp"
#include "bench/predict/machine_file.hpp"

namespace tutti::fit {

/// `date` is when it was measured, as 2026-11-30; `judged` are the rows that were not fitted.
predict::MachineFile described(const Fit& fit, const Measurements& measurements, const std::string& name,
                               bench::Placement placement, const std::string& date, const Summary& judged);

/// When the youngest of `files` was written; today if there are none.
std::string date_of(const std::vector<std::string>& files);

}  // namespace tutti::fit

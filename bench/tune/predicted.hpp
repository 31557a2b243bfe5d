// Times of a described machine.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/predict/machine_file.hpp"
#include "bench/tune/timing.hpp"
#include "bench/tune/tune_arguments.hpp"

namespace tutti::tune {

/// What predict would tell of every algorithm of every collective, in each world of `worlds`. Nothing is measured.
std::vector<Timing> predicted(const predict::MachineFile& machine, const TuneArguments& arguments,
                              const std::vector<int>& worlds, const std::function<void(const std::string&)>& progress);

}  // namespace tutti::tune

// Times of this machine.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/tune/timing.hpp"
#include "bench/tune/tune_arguments.hpp"

namespace tutti::tune {

/// Races every algorithm of every collective, as bench does. Collective over `session`, which is native; the same on
/// all ranks. `progress` is told what is raced next. Throws bench::ArgumentError if there is too little memory,
/// std::runtime_error if a result was wrong.
std::vector<Timing> measure(Session& session, const TuneArguments& arguments,
                            const std::function<void(const std::string&)>& progress);

}  // namespace tutti::tune

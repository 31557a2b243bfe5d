// What `tutti check` does: groups of trials, on several threads, in an order that mixes large worlds with small ones.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/check_trial.hpp"

namespace tutti::model {

/// Trials of one kernel in one world, of seeds in a row.
struct Group {
  std::optional<Kernel> kernel;  ///< nothing: sequences of mixed calls
  int ranks = 0;
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 0;
};

struct Work {
  std::vector<Group> groups;
  Pins pins;
  std::optional<Plant> plant;
  unsigned jobs = 1;
  double seconds = 0;  ///< to stop after, when trials that run have ended; 0: never
};

/// A schedule in which something is wrong.
struct Found {
  Group group;
  std::uint64_t seed = 0;
  std::optional<Trial> trial;  ///< nothing: a sequence
  std::string text;
};

/// What became of a group. Schedules that are left out: those after a finding, and when time is up.
struct Done {
  std::uint64_t schedules = 0;
  std::uint64_t not_taken = 0;  ///< seeds that the kernel does not take, for what is pinned
  std::uint64_t left_out = 0;
  std::uint64_t words = 0;
};

struct Result {
  std::vector<Done> done;    ///< of each group
  std::vector<Found> found;  ///< of each kernel, and of sequences, the first in the order of the work at most
};

/// `show` is called, by one thread at a time, after each trial: of which group, and how many schedules are done.
using Show = std::function<void(const Group& group, std::uint64_t done)>;

Result run_work(const Work& work, const Show& show);

std::uint64_t schedules_of(const Work& work);

}  // namespace tutti::model

// A hunt for the mutants of some kernels: what became of each, and what `./tutti check --mutants` shows of it.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/model/mutants.hpp"

namespace tutti::mutants {

struct Hunt {
  std::vector<Kernel> kernels;                                     ///< all, if none
  std::string sources = TUTTI_KERNEL_SOURCES;                      ///< the folder of the kernels
  std::string harmless = TUTTI_MUTANTS_HARMLESS;                   ///< lists those that do no harm
  int seeds = 200;                                                 ///< for each mutant, at most
  int seeds_of_listed = 200;                                       ///< for each that is listed
  std::size_t every = 1;                                           ///< runs one in so many mutants
  unsigned threads = 0;                                            ///< 0: one for each core
  std::function<void(std::size_t done, std::size_t of)> progress;  ///< one call at a time, from any thread
};

/// What became of one mutant.
struct Caught {
  std::string kernel;
  std::string name;
  Fate fate;
  std::string reason;  ///< why it is harmless, if it is listed
};

struct Bag {
  std::size_t words = 0;  ///< of kernels, each where it stands
  std::vector<Caught> mutants;
  /// One a line: mutants that are neither found nor listed, or both; words that no mutant changes; and, if all mutants
  /// of all kernels ran, entries of the list that explain none.
  std::vector<std::string> complaints;
};

/// Throws std::runtime_error if it cannot read the sources or the list.
Bag run(const Hunt& hunt);

/// A row for each kernel and their sums; then the survivors, by the reason why they do no harm.
std::string table_of(const Bag& bag);

}  // namespace tutti::mutants

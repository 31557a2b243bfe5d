// The calls by which the model is to find what a mutant does wrong, and one run of them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/model.hpp"
#include "tests/kernel_cases.hpp"

namespace tutti::mutants {

using model::Verdict;
using model::Word;
using model::WordAt;

/// Calls that all ranks make, one after the other.
struct Setting {
  std::vector<cases::Case> calls;
  int ranks = 3;
  int blocks = 1;
  int slots = cases::kLeastSlots;
  bool tags_repeat = false;  ///< of packets, before the second call
  int stranger = -1;         ///< the rank that makes a smaller call than the others, which is to be noticed; -1: none
};
std::string text_of(const Setting& setting);

/// Calls of the kernel that fill every slot again at least twice: one right after the other, and with calls of other
/// kernels in between; and a call in which one rank is a stranger.
std::vector<Setting> settings_of(Kernel kernel);

/// What a run found first; nothing if all was well.
struct Found {
  std::string how;   ///< the name of a Defect, "failed", "wrong result" or "mismatch not noticed"
  std::string text;  ///< of all that it found, one a line

  explicit operator bool() const { return !how.empty(); }
};

using Hook = std::function<Verdict(const WordAt&)>;

/// Runs the calls of the setting in the order that `seed` says.
Found run_once(const Setting& setting, std::uint64_t seed, const Hook& hook);

/// A word of a kernel's source.
struct Site {
  std::string kernel;
  std::string file;
  int line = 0;
  Word word = Word::wait;

  auto operator<=>(const Site&) const = default;
};

/// How a rank runs a word.
struct Ways {
  std::uint64_t calls = 0;                      ///< bit c: in call c of the setting
  bool first_lane = false, other_lane = false;  ///< of lane_to and lane_from, where there are several
  Purpose purpose = Purpose::data;              ///< of signal, wait and advance

  void add(const Ways& other);
};
using Seen = std::map<Site, std::map<int, Ways>>;  ///< by rank

/// What the setting's calls run. Throws std::logic_error if the model finds anything wrong.
Seen seen_in(const Setting& setting);

}  // namespace tutti::mutants

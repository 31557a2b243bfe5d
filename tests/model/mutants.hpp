// The checker is itself checked: kernels that a word has been taken from, or changed in, each of which the model must
// find out, or which stands with the reason why it does no harm in mutants_harmless.txt.
#pragma once
#include <string>
#include <vector>

#include "tests/model/mutant_setting.hpp"
#include "tests/model/word_calls.hpp"

namespace tutti::mutants {

/// What is done to a word, wherever its kernel runs it.
enum class Change {
  left_out,
  left_out_in_one_call,
  waits_short,   ///< for one signal too few
  signals_more,  ///< one signal more than it has to tell
  early,         ///< tells others before it did what it vouches for
  silent,        ///< of enter and leave: tells nobody
  deaf,          ///< of enter and leave: waits for nobody
  first_lane,    ///< the first one in place of another
  second_lane,   ///< in place of the first
};

inline constexpr int kEveryRank = -1;
inline constexpr int kRanksInTurn = 5;

/// A kernel in which one or every rank runs a word with a change.
struct Mutant {
  /// A setting whose calls run the word on the rank, and the call in the middle of those that do.
  struct Run {
    const Setting* setting;
    std::size_t call;
  };
  std::string name;  ///< such as "ring_reduce: rank 1 leaves out wait(data(prev), k + 1)"
  std::vector<Site> sites;
  Change change = Change::left_out;
  int rank = kEveryRank;
  std::vector<Run> runs;
};

/// What became of a mutant.
struct Fate {
  int seeds = 0;  ///< runs until it was found, or all there were
  Found found;    ///< nothing: it survived
};

class Mutants {
 public:
  /// Of `kernels`, whose sources are in `folder`; `threads`: 0 is one for each core. Throws as WordCalls and seen_in
  /// do.
  Mutants(const std::vector<Kernel>& kernels, const std::string& folder, unsigned threads = 0);

  const std::vector<Mutant>& all() const { return mutants_; }
  std::size_t sites() const { return sites_; }
  /// The words in the sources, as "kernels/ring.hpp:54 wait(...)", that no mutant changes.
  std::vector<std::string> untouched() const;

 private:
  /// A setting, and how each rank runs the word, or words, in it.
  struct Seen {
    const Setting* setting;
    std::map<int, Ways> ranks;
  };
  void add(const std::vector<Site>& sites, const std::vector<Change>& changes, const std::string& text,
           const std::vector<Seen>& seen);

  WordCalls calls_;
  std::vector<std::vector<Setting>> settings_;  // of each kernel
  std::vector<Mutant> mutants_;
  std::size_t sites_ = 0;
};

/// Runs the mutant until it is found, in up to `seeds` settings and orders.
Fate fate_of(const Mutant& mutant, int seeds);

}  // namespace tutti::mutants

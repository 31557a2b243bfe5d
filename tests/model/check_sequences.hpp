// Sequences of mixed calls, whose state goes from call to call: collectives of all kinds, sizes, roots, kinds of memory
// and block counts, and groups of messages among some of the ranks; on the communicator of all ranks and on parts of
// it, waited for at once or later.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/model/check_trial.hpp"

namespace tutti::model {

struct Mix {
  Geometry geometry;
  std::uint64_t seed = 0;
  std::uint64_t calls = 0;
  std::uint64_t first_use = 0;  ///< of the packets
  int splits = 0;               ///< how often the ranks are cut into parts that have a communicator each
  bool async = false;           ///< some calls are only started, and waited for when their buffers are wanted again
  std::function<Verdict(const WordAt&)> hook;
  bool compare = true;  ///< the results
};

/// A mixture of calls, all drawn from the seed; each rank makes them as fast as the schedule lets it. A rank stops
/// after a wrong result.
class Mixture {
 public:
  explicit Mixture(const Mix& mix);

  /// How often a kernel was called with so many blocks, and in such memory.
  using Drawn = std::map<std::tuple<Kernel, int, cases::Mapped>, int>;
  const Drawn& drawn() const { return drawn_; }
  const Model& model() const { return model_; }

  /// All that is wrong: what the model has found, and the first wrong result; nothing if all is well. Once.
  std::string run();

 private:
  using Buffers = TrialBuffers<Communicator>;
  class Numbers;
  /// A communicator, and buffers of calls on it that may be under way at the same time.
  struct Part {
    Communicator* communicator = nullptr;
    std::vector<std::unique_ptr<Buffers>> collectives;  // taken in turn
    std::vector<std::unique_ptr<Buffers>> messages;     // to each rank, then from each
  };
  /// A call that a rank has started.
  struct Pending {
    Started started;
    int rank = 0;  // in its communicator
    std::vector<std::pair<Buffers*, cases::Case>> uses;
  };
  /// One rank's program.
  struct Mine {
    ModelRank& rank;
    std::deque<Pending> pending;
    std::map<const Part*, std::size_t> collectives;  // started so far
  };

  void add_part(Communicator& communicator);
  void split(Numbers& numbers);
  cases::Case any_case(const Part& part, Numbers& numbers, std::size_t most_bytes) const;
  void collective(Mine& mine, const Part& part, Numbers& numbers);
  void group(Mine& mine, const Part& part, Numbers& numbers);
  void free(Mine& mine, const Buffers* buffers);
  void start(Mine& mine, const Part& part, const std::vector<Op>& ops, Pending pending, bool wait);
  void finish(Mine& mine, std::size_t which);

  Mix mix_;
  Model model_;
  Drawn drawn_;
  std::string wrong_;
  std::deque<Part> parts_;                 // the first: all ranks
  std::vector<std::vector<int>> part_of_;  // [split][rank] its number in parts_, or -1
};

/// A small geometry in which packets and messages have fewer blocks than the rest.
Geometry mixed_geometry(int ranks, int blocks, int slots);

inline constexpr int kLeastSequenceRanks = 2, kMostSequenceRanks = 9;
/// The sequence of a seed, as `tutti check` runs it.
Outcome run_sequence(int ranks, std::uint64_t seed, const std::optional<Plant>& plant = {});

}  // namespace tutti::model

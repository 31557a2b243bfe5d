// Sequences of mixed calls on one communicator, whose state goes from call to call: collectives of all kinds, sizes,
// roots, kinds of memory and block counts, and groups of messages among some of the ranks.
#pragma once
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
  class Numbers;
  /// Room for the data of a collective on all ranks.
  static constexpr std::size_t kBytes = 16 << 10;

  int ranks() const { return mix_.geometry.ranks; }
  cases::Case any_case(Numbers& numbers, std::uint64_t call, std::size_t most_bytes) const;
  void collective(ModelRank& me, Numbers& numbers, std::uint64_t call);
  void group(ModelRank& me, Numbers& numbers, std::uint64_t call);
  void compare(TrialBuffers& buffers, const cases::Case& c, int rank);

  Mix mix_;
  Model model_;
  Drawn drawn_;
  std::string wrong_;
  std::vector<std::unique_ptr<TrialBuffers>> buffers_;  // of collectives, of messages to each rank, and from each
};

/// A small geometry in which packets and messages have fewer blocks than the rest.
Geometry mixed_geometry(int ranks, int blocks, int slots);

/// Uses of packets after which their tags soon repeat.
inline constexpr std::uint64_t kBeforeTagsRepeat = (std::uint64_t{1} << 32) - 3;

inline constexpr int kLeastSequenceRanks = 2, kMostSequenceRanks = 9;
/// The sequence of a seed, as `tutti check` runs it.
Outcome run_sequence(int ranks, std::uint64_t seed, const std::optional<Plant>& plant = {});

}  // namespace tutti::model

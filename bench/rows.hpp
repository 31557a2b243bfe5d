// From the times of a race's rounds to the rows of the table.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/contender.hpp"

namespace tutti::bench {

/// How far apart the cores of ranks 0 and 1 are: sharing a last-level cache or not. Some machines change between the
/// two by themselves.
enum class Placement { near, far, mixed, unknown };
const char* name_of(Placement placement);

/// A contender on one kind of memory.
struct Lane {
  Contender* contender;
  MemoryKind memory;
  Buffers buffers;
  /// Whether this lane is compared with a peer's: both run on the same memory, or the peer has its own.
  bool races(const Lane& peer) const { return peer.memory == memory || peer.contender->elsewhere(); }
};

/// One round: every lane's seconds per call on the slowest rank; lanes that did not take part have 0. What a call takes
/// at least, where that was measured.
struct Round {
  Placement placement;  ///< mixed if it changed during the round, or could not be told
  double ns;
  std::vector<double> seconds;
  std::map<MemoryKind, double> bound = {};
};

struct Ratio {
  double median = 0, low = 0, high = 0;  ///< of peer's time / ours per round; the 95 % interval of the median
};

/// What one contender reached in one case, in one placement of the cores.
struct Row {
  Case c;
  std::string backend, asked_algorithm, algorithm;
  MemoryKind memory = MemoryKind::any;
  double seconds = 0, seconds_min = 0, seconds_max = 0;  ///< per call; median, least and most of the rounds
  double bound = 0;         ///< seconds per call that nobody gets below, median of the rounds; 0: not measured
  std::uint64_t wrong = 0;  ///< elements, all ranks and calls together
  bool checked = true;
  std::map<std::string, Ratio> ratio;  ///< of a native row, by the peer's backend
  std::string best_peer;               ///< the peer that took least, by the median of the rounds
  Placement placement = Placement::unknown;
  double placement_ns = 0;
  int rounds = 0;
  CallCost cost;
};

/// A lane that cannot run the case. Its row has no times.
struct LeftOut {
  Row row;
  std::string why;
};

/// The rounds of one case. Near and far rounds make rows of their own, each from at least the number of rounds asked
/// for; if neither has as many, all rounds together make one row.
class Rows {
 public:
  Rows(const Case& c, const std::vector<Lane>& lanes, int rounds_asked);
  void add(const Round& round);

  /// The native lanes whose ratio to their best peer has a 95 % interval that spans 1 in one of their rows.
  std::vector<std::size_t> close_races() const;
  /// These lanes' rows come from `longer` from now on.
  void replace(const std::vector<std::size_t>& these, const Rows& longer);
  /// The rows of all lanes that took part; rounds that belong to no row are told in `notes`.
  std::vector<Row> build(std::vector<std::string>* notes) const;

 private:
  struct Series {
    int asked;
    std::vector<Round> rounds;
    std::vector<Placement> reported() const;
    std::vector<const Round*> of(Placement placement) const;
  };
  std::string best_peer(std::size_t lane, const std::vector<const Round*>& rounds) const;
  std::map<std::string, Ratio> ratios(std::size_t lane, const std::vector<const Round*>& rounds) const;

  Case case_;
  const std::vector<Lane>& lanes_;
  std::vector<Series> series_;     // the first, and perhaps a longer one
  std::vector<std::size_t> from_;  // which of them a lane's rows come from
};

}  // namespace tutti::bench

// Contenders in turn, batch by batch in one process, so that every drift of the machine meets all of them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/limits.hpp"
#include "bench/meeting_point.hpp"
#include "bench/rows.hpp"
#include "bench/trial.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// The host's way to memory of a communicator on a GPU, which outlives it; to host memory if there is none.
inline HostAccess::Copy copy_through(const Communicator* device) {
  if (!device) return {};
  return [device](void* to, const void* from, std::size_t bytes) { device->copy(to, from, bytes); };
}

struct RaceOptions {
  int rounds = 15;
  double batch_seconds = 0.016;  ///< how long a contender runs in each round
  int calls = 0;                 ///< per batch; 0: as many as fill batch_seconds
  int warm_up = 2;
  bool check = true;
  bool steady = false;              ///< buffers are left alone between calls
  double second_run_seconds = 120;  ///< bound of the longer run of a close race
};

struct RaceResult {
  std::vector<Row> rows;           ///< in the order of the lanes, near before far; the same on every rank
  std::vector<LeftOut> left_out;   ///< in the order of the lanes
  std::vector<std::string> notes;  ///< rounds left out or not run
};

/// Runs every lane on `c` and compares them. Each round gives every lane one batch of calls, in rotating order; what
/// counts in a round is the slowest rank's time. Where the 95 % interval of a ratio spans 1, the lanes concerned run
/// again with five times the rounds, or as many as second_run_seconds allow. Collective.
///
/// A call of a rooted collective is timed from a barrier to the rank that ends last, however small it is. Small calls
/// of the others follow one another on the CPU: no rank can run ahead, for each waits for all, or in send_recv for its
/// peer. If steady, all calls follow one another.
class Race {
 public:
  /// `device`: a communicator on the GPU whose memory the lanes' buffers are, which outlives the race; null on the CPU.
  /// `limits`: to measure bounds in each round, with buffers that are fresh; null: do not.
  Race(Session& session, MeetingPoint& meeting, const RaceOptions& options, const Communicator* device = nullptr,
       Limits* limits = nullptr)
      : session_(session), meeting_(meeting), options_(options), access_(copy_through(device)), limits_(limits) {}
  RaceResult run(const Case& c, const std::vector<Lane>& lanes);

 private:
  struct Sample {
    double seconds;
    std::uint64_t wrong;
  };
  struct Heat {
    std::vector<Round> rounds;
    bool out_of_time = false;
  };

  std::string refusal(const Case& c, const Lane& lane, std::uint64_t* wrong);
  double distance();
  std::map<MemoryKind, double> bounds(const Case& c, const std::vector<Lane>& all, double ns);
  std::uint64_t verify(const Trial& trial, const Lane& lane);
  Sample batch(const Trial& trial, const Lane& lane, long calls);
  Sample worst(Sample mine);
  Heat heat(const Trial& trial, const std::vector<Lane>& all, const std::vector<std::size_t>& entrants, int rounds,
            double limit_seconds);

  Session& session_;
  MeetingPoint& meeting_;
  RaceOptions options_;
  HostAccess access_;
  Limits* limits_;
  std::size_t turn_ = 0;              // calls so far; chooses what the inputs hold
  std::vector<std::uint64_t> wrong_;  // per lane
  std::vector<long> calls_;           // per batch and lane
};

}  // namespace tutti::bench

// One call of a collective with everything that may vary, and memory for it.
#pragma once
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <ostream>
#include <string>

#include "collectives/backend.hpp"
#include "tests/collectives_values.hpp"

namespace tutti::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether the run is to try also what is too much for every day.
inline bool full() {
  const char* const value = std::getenv("TUTTI_FULL");
  return value && std::string(value) == "1";
}

/// What a message by packets carries on a communicator of so many blocks.
inline std::size_t packet_bytes(int blocks) {
  return (std::size_t{8} << 10) / static_cast<unsigned>(blocks) / 128 * 128;
}

/// Which memory the peers reach; mixed: all of every rank but one.
enum class Reached { peer_mapped, any, mixed, inputs, outputs };
inline constexpr int kReached = 5;

struct Case {
  Collective collective = Collective::all_reduce;  ///< send: each of `members` sends to the next one, and receives
  Algorithm algorithm = Algorithm::automatic;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 0;
  bool in_place = false;  ///< where the collective can be, and on the ranks that have an input and an output
  Reached memory = Reached::peer_mapped;
  std::size_t in_offset = 0;  ///< bytes off a line
  std::size_t out_offset = 0;
  bool async = false;
  bool scribbles = false;  ///< the caller overwrites its input as soon as the call has ended
  bool grouped = true;     ///< messages of two members: as a group, or one after the other
  int root = 0;
  std::uint64_t members = ~std::uint64_t{0};  ///< of an exchange of messages, one bit per rank
  std::size_t most_packets = packet_bytes(1);
  unsigned salt = 0;

  /// What the backends make of it; the buffers are not in it.
  Request request() const {
    return {.collective = collective, .count = count, .type = type, .op = op, .peer = root, .algorithm = algorithm};
  }
  bool reduces() const { return request().reduces(); }
  bool spreads() const { return request().spreads_in() || request().spreads_out(); }
  /// Whether it sums at each hop, and so rounds.
  bool reduces_by_hops() const {
    return reduces() && (algorithm == Algorithm::ring || algorithm == Algorithm::tree ||
                         algorithm == Algorithm::recursive_doubling || algorithm == Algorithm::halving_doubling);
  }
  /// Whether the interface says that this is refused: narrow types are not averaged by hops, packets have a size.
  bool refused() const {
    if (algorithm == Algorithm::packets && request().bytes() > most_packets) return true;
    return reduces_by_hops() && op == ReduceOp::avg && type != DataType::f32 && type != DataType::f64;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  constexpr const char* memories[kReached] = {"peer-mapped", "any", "mixed", "inputs mapped", "outputs mapped"};
  out << name_of(c.collective) << ' ' << name_of(c.algorithm) << ' ' << name_of(c.type);
  if (c.reduces()) out << ' ' << name_of(c.op);
  out << " count " << c.count << ", " << memories[static_cast<int>(c.memory)] << (c.in_place ? ", in place" : "")
      << ", offsets " << c.in_offset << '/' << c.out_offset << (c.async ? ", async" : "")
      << (c.scribbles ? ", scribbling" : "");
  if (c.request().is_rooted()) out << ", root " << c.root;
  if (c.collective == Collective::send) out << ", members " << std::hex << (c.members & 0xffff) << std::dec;
  return out << ", salt " << c.salt;
}

/// A collective and one of its algorithms.
struct Kind {
  Collective collective;
  Algorithm algorithm;
};

/// At most a few failures are printed: one defect fails thousands of cases.
inline void report(const std::string& what) {
  static std::atomic<int> reports = 0;
  if (reports.fetch_add(1) < 12) ADD_FAILURE() << what;
}

/// Memory of one rank for one trial at a time: an area for the input and one for the output, each of memory that every
/// peer reaches and of memory that none does.
class Ground {
 public:
  /// Room for an input and an output of up to `bytes` each. Collective.
  Ground(Communicator& comm, std::size_t bytes)
      : room_((bytes + 2 * kMargin + kLine - 1) / kLine * kLine),
        mapped_(comm.allocate<char>(2 * room_)),
        plain_(2 * room_ + kLine),
        images_(2 * room_) {}
  char* area(int side, bool mapped) {
    const std::size_t at = static_cast<std::size_t>(side) * room_;
    if (mapped) return mapped_.data() + at;
    char* const begin = plain_.data() + at;
    return begin + (kLine - reinterpret_cast<std::uintptr_t>(begin) % kLine) % kLine;
  }
  char* image(int side) { return images_.data() + static_cast<std::size_t>(side) * room_; }
  std::size_t room() const { return room_; }

  static constexpr std::size_t kMargin = 512;
  static constexpr std::size_t kLine = 128;

 private:
  std::size_t room_;
  Buffer<char> mapped_;
  std::vector<char> plain_;
  std::vector<char> images_;
};

/// Runs `body` on `ranks` threads, `threads` of each rank (0: as many as there are cores for it); an error that it lets
/// out fails the test.
inline void on_threads(int ranks, const std::function<void(Session&)>& body, double timeout_s = 30, int threads = 0) {
  try {
    run_threads(ranks, body, {.backend = BackendKind::native, .timeout_s = timeout_s, .threads = threads});
  } catch (const std::exception& error) {
    ADD_FAILURE() << ranks << " ranks: " << error.what();
  }
}

inline constexpr int kProcessRanks = 0;

/// The same, or, if `ranks` is kProcessRanks, on this process as its rank under mpirun.
inline void on_job(int ranks, const std::function<void(Session&)>& body, double timeout_s = 30) {
  if (ranks != kProcessRanks) return on_threads(ranks, body, timeout_s);
  Session session({.backend = BackendKind::native, .timeout_s = timeout_s});
  body(session);
}

}  // namespace tutti::test

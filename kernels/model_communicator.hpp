// One communicator in the model: some of the ranks, their arenas, the calls that they have made on it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/connection.hpp"
#include "kernels/kernels.hpp"
#include "kernels/model_memory.hpp"
#include "kernels/model_state.hpp"

namespace tutti {

class ModelBlock;

namespace model {

class Model;

/// What one call of a rank cost, to be compared with Cost.
struct Spent {
  int steps = 0;                         ///< the longest chain of messages of this call that ends at this rank
  std::uint64_t sent = 0, received = 0;  ///< payload that crossed between this rank and others, whoever moved it
};

/// A kernel that one rank launches.
struct Op {
  const char* name = "";
  std::function<void(ModelBlock&, const Call&)> body;
  Call call;
  int blocks = 1;
  std::size_t in_bytes = 0;   ///< of call.in, which the caller fills before the call
  std::size_t out_bytes = 0;  ///< of call.out, all of which the call writes; once it returned, the caller may use both
  bool collective = true;     ///< all ranks run it; else it is one end of a message,
  bool sends = false;         ///< the sender's
  bool chained = false;  ///< `in` is what an earlier call on the communicator leaves, for which the caller does not
                         ///< wait: it touches neither buffer before this call
};

/// An Op that runs `kernel`.
Op run(Kernel kernel, const Call& call, int blocks, std::size_t in_bytes, std::size_t out_bytes);

struct Running;

/// One op of a call. Those of one chain run one after the other: all collectives of a communicator, and all messages
/// to, or from, one peer.
struct Launch {
  Running* running = nullptr;
  std::size_t op = 0;
  int chain = 0;
  std::uint32_t generation = 0;
  std::vector<Strand*> blocks;
  std::size_t ended = 0;
};

/// A call between its start and what its caller does after it.
struct Running {
  Communicator* communicator = nullptr;
  int rank = 0;  ///< in it
  std::size_t number = 0;
  std::vector<Op> ops;
  std::vector<Launch> launches;  ///< [op]
  Clock begin, end;              ///< what its blocks know at first, what its caller then does
  std::size_t ended = 0;
  std::uint64_t done = 0;  ///< a flag that the program waits for
  Waiters waiters;
};

/// Ranks are those of the communicator unless they are called the session's.
class Communicator {
 public:
  /// Of the session's ranks `members`, in this order.
  Communicator(Model& model, int number, const Geometry& geometry, std::vector<int> members);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int number() const { return number_; }  ///< 0: of all ranks
  int size() const { return layout_.geometry.ranks; }
  const Geometry& geometry() const { return layout_.geometry; }
  const Team& team(int rank) const { return teams_[static_cast<std::size_t>(rank)]; }
  int session_rank(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  /// -1 if it is no member.
  int rank_of(int session_rank) const;

  // Memory, as Model's, of members.
  char* allocate(int rank, std::size_t bytes);
  int allocate_segment(std::size_t bytes);
  char* segment(int number, int rank) const;
  Place place_of(const void* at) const;

  /// Sets the region's uses on every rank, as if so many calls had been made.
  void set_uses(Region region, std::uint64_t uses);

  /// What the rank's call `call` (from 0) has cost by now. Where every rank makes the same calls, the numbers agree.
  Spent spent(std::size_t call, int rank) const;

 private:
  friend class Model;
  friend class ModelRank;
  friend class tutti::ModelBlock;

  /// The counts of a rank at the end of a collective call.
  struct Counts {
    int blocks = 0;
    const char* kernel = "";
    std::vector<std::uint64_t> sent{}, received{}, uses{};
  };
  /// What a rank has called.
  struct Calls {
    struct Chain {
      std::deque<Launch*> launches;  // in order; the first runs
      Clock end;                     // of those that have ended
    };
    std::size_t started = 0;
    std::uint32_t collectives = 0;
    std::map<std::tuple<int, bool>, std::uint32_t> messages;  // with that peer; whether sent
    std::map<int, Chain> chains;
    std::deque<std::unique_ptr<Running>> under_way;  // in order, until they are waited for
    std::deque<Counts> ends;                         // of collective calls that some rank has not ended
  };

  Spent& spent_by(std::size_t call, int rank);
  std::uint32_t generation_of(const Op& op, int rank);

  // What must hold of the counts (model_counts.cpp).
  void end_of_call(const Running& running, const Op& op);
  void end_of_run();
  Counts counts_of(int rank, int blocks) const;
  void compare(const std::vector<Counts>& ranks, bool with_messages, const std::string& when);
  std::string named(std::string text) const;

  Model& model_;
  int number_;
  Layout layout_;
  std::vector<int> members_;
  std::vector<Team> teams_;
  std::vector<Calls> calls_;               // [rank]
  std::vector<std::vector<Spent>> spent_;  // [call][rank]
  std::uint64_t compared_ = 0;
};

}  // namespace model
}  // namespace tutti

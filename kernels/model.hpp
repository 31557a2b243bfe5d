// The model: all ranks in one thread, each block a fiber, in an order drawn from a seed. It runs the kernels on real
// memory and checks what no run on real machines can show: that some signal orders every two accesses in conflict, that
// every byte read was written and every message taken, whatever the timing. docs/memory-ordering.md says what that
// rests on.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/model_communicator.hpp"
#include "kernels/model_memory.hpp"
#include "kernels/model_state.hpp"

namespace tutti {

class ModelBlock;

namespace model {

enum class Defect {
  race,          ///< two accesses in conflict that nothing orders
  missing_sync,  ///< two words of one block touch the same memory with no barrier in between
  deadlock,      ///< nobody can go on
  counts,        ///< the ends of a connection disagree, or a flag has two writers or does not grow
  stray,         ///< an access outside its buffer, slot or line, or one that overlaps what it reads
  unwritten,     ///< a read of bytes that nobody wrote: in this call, or before it into the caller's input
  overwritten,   ///< a write to a slot or packet whose bytes nobody has read
};
const char* name_of(Defect defect);

/// What the kernels did wrong.
struct Finding {
  Defect defect;
  std::string text;
};

/// A call to be waited for.
struct Started {
  Communicator* communicator = nullptr;
  std::size_t call = 0;
};

/// One rank's program. Calls are on the communicator of all ranks unless another is named.
class ModelRank {
 public:
  ModelRank(Model& model, int rank) : model_(model), rank_(rank) {}
  int rank() const { return rank_; }

  /// Launches the ops of one group together and returns when all their blocks have ended.
  void call(const std::vector<Op>& ops);
  void call(Communicator& communicator, const std::vector<Op>& ops);
  /// The same, but returns at once. Collectives of one communicator run one after the other, in the order of their
  /// starts, and so do messages to, or from, one peer.
  Started start(const std::vector<Op>& ops);
  Started start(Communicator& communicator, const std::vector<Op>& ops);
  /// Returns when the call has ended; its buffers are then the caller's, and so are those of earlier calls that must
  /// have ended before it.
  void wait(const Started& started);

  /// The program itself reads or writes memory.
  void read(const void* at, std::size_t bytes);
  void write(void* at, std::size_t bytes);

 private:
  Model& model_;
  int rank_;
};

class Model {
 public:
  Model(const Geometry& geometry, std::uint64_t seed);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  int ranks() const { return ranks_; }
  /// Of all ranks.
  Communicator& world() { return *communicators_[0]; }
  const Communicator& world() const { return *communicators_[0]; }
  /// One more, of these ranks; they are renumbered in this order. Before `run`, as all that allocates.
  Communicator& communicator(std::vector<int> members, const Geometry& geometry);

  const Geometry& geometry() const { return world().geometry(); }
  const Team& team(int rank) const { return world().team(rank); }

  /// Memory of `rank` that its peers do not reach.
  char* allocate(int rank, std::size_t bytes) { return memory_.allocate(rank, bytes); }
  /// Memory on every rank that all reach; its number.
  int allocate_segment(std::size_t bytes) { return memory_.allocate_segment(bytes); }
  char* segment(int number, int rank) const { return memory_.segment(number, rank); }
  /// Where the peers find `at`: nowhere if it is in no segment.
  Place place_of(const void* at) const { return memory_.place_of(at); }

  /// Runs `program` on every rank, all at once, until all have ended or none can go on. Once per model.
  void run(const std::function<void(ModelRank&)>& program);

  /// Communicator's, of all ranks.
  void set_uses(Region region, std::uint64_t uses) { world().set_uses(region, uses); }
  Spent spent(std::size_t call, int rank) const { return world().spent(call, rank); }

  /// Asks `hook` what each word is to do.
  void hook(std::function<Verdict(const WordAt&)> hook) { hook_ = std::move(hook); }
  /// Words for which `which` returns true do nothing.
  void omit(std::function<bool(const WordAt&)> which);

  const std::vector<Finding>& findings() const { return findings_; }
  /// Blocks that failed for a reason of the caller's, such as mismatched calls.
  const std::vector<std::string>& failures() const { return failures_; }
  /// All findings and failures, one a line; empty if there are none.
  std::string report() const;

 private:
  friend class ModelRank;
  friend class Communicator;
  friend class tutti::ModelBlock;

  // What blocks and programs do, from inside their fibers.
  void pause();
  bool await(Strand& me, const Wait& wait, Waiters& waiters);
  bool await(Strand& me, const Wait& wait);
  void acquire(Strand& me, const Wait& wait);
  /// `known`: what the signal vouches for.
  void publish(Strand& me, const Clock& known, std::uint64_t* flag, std::uint64_t value, bool tag);
  enum class Access { read, write, spoil };
  bool access(Strand& me, const void* at, std::size_t bytes, Access access);
  void move(const Strand& me, const void* at, std::size_t bytes, bool write);
  /// Payload that a switch reduces on its way from all ranks, this one too, or replicates on its way to them.
  void move_by_switch(const Strand& me, std::size_t bytes, bool write);
  void find(Defect defect, std::string text);
  void find(const Conflict& conflict, const Mark& now);
  void fail(const std::string& text);
  std::uint64_t random(std::uint64_t below);
  static Mark mark_of(const Strand& me, bool write);

  // Calls (model_calls.cpp).
  Started start(Strand& program, Communicator& communicator, const std::vector<Op>& ops);
  void wait(Strand& program, const Started& started);
  void begin(Launch& launch);
  void block_ended(Strand& block);
  void end(Launch& launch);

  // Scheduling (model_schedule.cpp).
  Strand& strand(Communicator* communicator, int rank, int chain, int block);
  void start(Strand& strand, std::function<void()> body, std::size_t stack_bytes);
  Strand* pick();
  void make_ready(Strand& strand);
  void park(Strand& strand);
  void wake(Waiters& waiters);
  bool give_up();
  void deadlock();

  // How reports call things (model_texts.cpp).
  std::string who(const Mark& mark) const;
  std::string text_of(const Strand& strand) const { return who(mark_of(strand, false)); }
  std::string text_of(const Mark& mark) const;
  std::string last_set(const std::uint64_t* flag) const;
  std::string text_of(std::uintptr_t begin, std::uintptr_t end) { return memory_.text_of(begin, end); }

  int ranks_;
  Memory memory_;
  std::vector<std::unique_ptr<Communicator>> communicators_;

  std::deque<Strand> strands_;
  std::map<std::array<int, 4>, Strand*> strand_of_;
  std::vector<Strand*> programs_;  // [rank]
  std::vector<Strand*> ready_;
  std::size_t unfinished_ = 0;
  std::unordered_map<const void*, Published> published_;
  std::unordered_map<const void*, std::uint64_t> wiped_;  // by where a block counts uses: when it wiped its packets
  std::vector<Conflict> conflicts_;
  std::function<Verdict(const WordAt&)> hook_;

  std::uint64_t random_;
  int policy_;
  int late_rank_ = 0;
  Strand* last_ = nullptr;

  std::vector<Finding> findings_;
  std::vector<std::string> failures_;
};

}  // namespace model
}  // namespace tutti

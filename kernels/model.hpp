// The model: all ranks of a communicator in one thread, each block a fiber, in an order drawn from a seed. It runs the
// kernels on real memory and checks what no run on real machines can show: that some signal orders every two accesses
// in conflict, whatever the timing.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/connection.hpp"
#include "kernels/fiber.hpp"
#include "kernels/kernels.hpp"
#include "kernels/model_races.hpp"

namespace tutti {

class ModelBlock;

namespace model {

enum class Defect {
  race,          ///< two accesses in conflict that nothing orders
  missing_sync,  ///< two words of one block touch the same memory with no barrier in between
  deadlock,      ///< nobody can go on
  counts,        ///< the ends of a connection disagree, or a flag has two writers or does not grow
  stray,         ///< an access outside its buffer, slot or line, or one that overlaps what it reads
};
const char* name_of(Defect defect);

/// What the kernels did wrong.
struct Finding {
  Defect defect;
  std::string text;
};

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
  std::size_t in_bytes = 0;  ///< of call.in and call.out, to which the caller does what it likes once the call returned
  std::size_t out_bytes = 0;
  bool collective = true;  ///< all ranks run it
};

/// An Op that runs `kernel`.
Op run(Kernel kernel, const Call& call, int blocks, std::size_t in_bytes, std::size_t out_bytes);

class Model;

/// One rank's program.
class ModelRank {
 public:
  ModelRank(Model& model, int rank) : model_(model), rank_(rank) {}
  int rank() const { return rank_; }
  /// Launches the ops of one group together and returns when all their blocks have ended.
  void call(const std::vector<Op>& ops);

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

  const Geometry& geometry() const { return layout_.geometry; }
  const Team& team(int rank) const { return teams_[static_cast<std::size_t>(rank)]; }

  /// Memory of `rank` that its peers do not reach.
  char* allocate(int rank, std::size_t bytes);
  /// Memory on every rank that all reach; its number. Before `run`.
  int allocate_segment(std::size_t bytes);
  char* segment(int number, int rank) const;
  /// Where the peers find `at`: nowhere if it is in no segment.
  Place place_of(const void* at) const;

  /// Runs `program` on every rank, all at once, until all have ended or none can go on. Once per model.
  void run(const std::function<void(ModelRank&)>& program);

  /// Sets the region's uses on every rank, as if so many calls had been made.
  void set_uses(Region region, std::uint64_t uses);
  /// Asks `hook` what each word is to do.
  void hook(std::function<Verdict(const WordAt&)> hook) { hook_ = std::move(hook); }
  /// Words for which `which` returns true do nothing.
  void omit(std::function<bool(const WordAt&)> which) {
    if (!which) return hook({});
    hook([which = std::move(which)](const WordAt& at) { return Verdict{.nothing = which(at)}; });
  }

  /// What the rank's call `call` (from 0) has cost by now. Where every rank makes the same calls, the numbers agree.
  Spent spent(std::size_t call, int rank) const;

  const std::vector<Finding>& findings() const { return findings_; }
  /// Blocks that failed for a reason of the caller's, such as mismatched calls.
  const std::vector<std::string>& failures() const { return failures_; }
  /// All findings and failures, one a line; empty if there are none.
  std::string report() const;

 private:
  friend class ModelRank;
  friend class tutti::ModelBlock;

  /// What a strand waits for.
  struct Wait {
    const std::uint64_t* flag = nullptr;  // null: for nothing
    std::uint64_t wanted = 0;
    bool tag = false;       // its low 32 bits are to equal `wanted`; else it is to reach `wanted`
    const char* what = "";  // for reports, like the rest
    int peer = -1;          // nobody: a program waits for its blocks
    std::uint64_t base = 0;
  };
  /// What happens in order: block b of a rank's i-th op at a time, or its program (block -1).
  struct Strand {
    int number = 0;
    int rank = 0;
    int block = 0;
    const char* kernel = "";
    std::uint32_t ordinal = 0;
    Word word = Word::caller;  // its latest, and where it stands
    Line line;
    std::size_t call = 0;  // of its rank, from 0
    int steps = 0;         // the longest chain of messages of this call that it has heard the end of
    Clock clock;
    Wait wait;
    bool given_up = false;
    std::uint64_t priority = 0;
    std::unique_ptr<Fiber> fiber;  // null: idle
  };
  /// A flag's or tag's past: which clock came with which count.
  struct Published {
    struct Signal {
      std::uint64_t count;
      int steps;  // of its sender
      Clock clock;
    };
    int writer = -1;
    Mark latest;  // of its writer
    std::deque<Signal> signals;
  };
  /// One allocation.
  struct Piece {
    std::uintptr_t begin = 0, end = 0;
    std::string name;
    int rank = -1;  // whose
    bool arena = false;
    int segment = -1;  // which, if it is of one
  };
  /// A buffer, or a slot, entry or line of packets in an arena.
  struct Unit {
    std::uintptr_t begin = 0, end = 0;
    const char* kind = "";  // empty: the whole piece
    const Piece* piece = nullptr;
    std::size_t index = 0, block = 0;
  };
  /// The counts of a rank at the end of a collective call.
  struct Counts {
    std::vector<std::uint64_t> sent, received, uses;
  };
  struct Free {
    std::size_t pages_bytes;  // of a mapping; 0: from the heap
    void operator()(char* at) const;
  };

  // What blocks and programs do, from inside their fibers.
  void pause(Strand& me);
  bool await(Strand& me, const Wait& wait);
  void acquire(Strand& me, const Wait& wait);
  /// `known`: what the signal vouches for.
  void publish(Strand& me, Clock known, std::uint64_t* flag, std::uint64_t value, bool tag);
  bool access(Strand& me, const void* at, std::size_t bytes, bool write);
  static Mark mark_of(const Strand& me, bool write);
  void move(const Strand& me, const void* at, std::size_t bytes, bool write);
  void find(Defect defect, std::string text);
  void fail(const std::string& text);
  std::uint64_t random(std::uint64_t below);

  // Scheduling.
  Strand& strand(int rank, int op, int block);
  void start(Strand& strand, std::function<void()> body, std::size_t stack_bytes);
  Strand* pick();
  static bool satisfied(const Wait& wait);
  void deadlock();

  // Where things stand (model_places.cpp).
  char* add_piece(std::size_t bytes, std::string name, int rank, bool arena, int segment);
  const Piece* piece_of(std::uintptr_t at) const;
  Unit unit_of(std::uintptr_t at) const;
  std::string text_of(const Strand& strand) const;
  std::string who(const Mark& mark) const;
  std::string text_of(const Mark& mark) const;
  std::string text_of(std::uintptr_t begin, std::uintptr_t end) const;
  std::string text_of(const Wait& wait) const;

  Spent& spent_by(std::size_t call, int rank);

  // What must hold of the counts (model_counts.cpp).
  void end_of_call(int rank, bool collective);
  void end_of_run();
  Counts counts_of(int rank) const;
  void compare(const std::vector<Counts>& ranks, bool with_messages, const std::string& when);

  Layout layout_;
  std::vector<std::unique_ptr<char, Free>> memory_;
  std::map<std::uintptr_t, Piece> pieces_;  // by end
  std::vector<char*> segments_;             // [segment][rank]
  std::vector<Team> teams_;

  std::deque<Strand> strands_;
  std::map<std::array<int, 3>, Strand*> strand_of_;
  std::vector<Strand*> active_;
  std::vector<Strand*> ready_;
  std::vector<std::uint64_t> ended_;  // [rank] blocks, for the program's wait
  std::unordered_map<const void*, Published> published_;
  Races races_;
  std::function<Verdict(const WordAt&)> hook_;

  std::uint64_t random_;
  int policy_;
  int late_rank_ = 0;
  Strand* last_ = nullptr;

  std::vector<std::vector<Spent>> spent_;  // [call][rank]
  std::vector<std::deque<Counts>> calls_;  // [rank] of its collective calls that some rank has not ended
  std::uint64_t compared_ = 0;
  std::vector<Finding> findings_;
  std::vector<std::string> failures_;
};

}  // namespace model
}  // namespace tutti

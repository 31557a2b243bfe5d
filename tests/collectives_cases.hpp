// One call of a collective with everything that may vary, made and checked on one rank.
//
// A trial paints a whole area (mark, input, mark, output, mark), makes the call, and compares the area byte by byte
// with a painting of what must stand there: so results, inputs out of place and everything around are checked at once.
#pragma once
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <optional>
#include <ostream>
#include <sstream>

#include "collectives/tutti.hpp"
#include "tests/collectives_values.hpp"

namespace tutti::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

enum class Reached { peer_mapped, any, mixed };  ///< mixed: one rank's memory is not mapped

struct Case {
  Collective collective = Collective::all_reduce;  ///< send: each of `members` sends to the next one, and receives
  Algorithm algorithm = Algorithm::automatic;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 0;
  bool in_place = false;
  Reached memory = Reached::peer_mapped;
  std::size_t in_offset = 0;  ///< bytes off a line
  std::size_t out_offset = 0;
  bool async = false;
  bool scribbles = false;  ///< the caller overwrites its input as soon as the call has ended
  bool grouped = true;     ///< messages of two members: as a group, or one after the other
  int root = 0;
  std::uint64_t members = ~std::uint64_t{0};  ///< of an exchange of messages, one bit per rank
  unsigned salt = 0;

  bool reduces() const { return collective == Collective::all_reduce || collective == Collective::reduce_scatter; }
  /// Whether the interface says that this is refused: sums of a ring round, so it does not average narrow types.
  bool refused() const {
    return reduces() && algorithm == Algorithm::ring && op == ReduceOp::avg && type != DataType::f32 &&
           type != DataType::f64;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  constexpr const char* memories[] = {"peer-mapped", "any", "mixed"};
  out << name_of(c.collective) << ' ' << name_of(c.algorithm) << ' ' << name_of(c.type);
  if (c.reduces()) out << ' ' << name_of(c.op);
  out << " count " << c.count << ", " << memories[static_cast<int>(c.memory)] << (c.in_place ? ", in place" : "")
      << ", offsets " << c.in_offset << '/' << c.out_offset << (c.async ? ", async" : "")
      << (c.scribbles ? ", scribbling" : "");
  if (c.collective == Collective::broadcast) out << ", root " << c.root;
  if (c.collective == Collective::send) out << ", members " << std::hex << (c.members & 0xff) << std::dec;
  return out << ", salt " << c.salt;
}

/// At most a few failures are printed: one defect fails thousands of cases.
inline void report(const std::string& what) {
  static std::atomic<int> reports = 0;
  if (reports.fetch_add(1) < 12) ADD_FAILURE() << what;
}

/// Memory of one rank for one trial at a time: a mapped area and one that no peer reaches.
class Ground {
 public:
  /// Room for an input and an output of up to `bytes` each. Collective.
  Ground(Communicator& comm, std::size_t bytes)
      : room_(2 * bytes + 4 * kMargin), mapped_(comm.allocate<char>(room_)), plain_(room_ + kLine), image_(room_) {}
  char* area(bool mapped) {
    if (mapped) return mapped_.data();
    char* const begin = plain_.data();
    return begin + (kLine - reinterpret_cast<std::uintptr_t>(begin) % kLine) % kLine;
  }
  char* image() { return image_.data(); }
  std::size_t room() const { return room_; }

  static constexpr std::size_t kMargin = 512;
  static constexpr std::size_t kLine = 128;

 private:
  std::size_t room_;
  Buffer<char> mapped_;
  std::vector<char> plain_;
  std::vector<char> image_;
};

/// One call on this rank: painted at construction, then run() or start() and finish(), then check().
class Trial {
 public:
  Trial(Communicator& comm, Ground& ground, const Case& c)
      : comm_(comm),
        ground_(ground),
        case_(c),
        n_(comm.size()),
        me_(comm.rank()),
        width_(size_of(c.type)),
        in_elements_(c.collective == Collective::reduce_scatter ? c.count * ranks() : c.count),
        out_elements_(c.collective == Collective::all_gather ? c.count * ranks() : c.count),
        values_(c.type, c.reduces() ? c.op : ReduceOp::sum, n_, std::max(in_elements_, out_elements_) + 1, c.salt) {
    lay_out();
    paint_area();
  }

  const Case& what() const { return case_; }
  bool takes_part() const { return case_.collective != Collective::send || (is_member(me_) && next_member() != me_); }

  void run() {
    if (takes_part()) call(false);
    scribble();
  }
  void start() {
    if (takes_part()) call(true);
  }
  /// Waits for what start() began, or polls for it.
  void finish(bool polling = false) {
    for (Handle& handle : handles_) {
      while (polling && !handle.test()) sched_yield();
      handle.wait();
    }
    handles_.clear();
    scribble();
  }

  void check() {
    if (std::memcmp(area_, ground_.image(), used_) == 0) return;
    std::size_t at = 0;
    while (area_[at] == ground_.image()[at]) ++at;
    std::ostringstream text;
    text << "rank " << me_ << " of " << n_ << ", " << case_ << ": ";
    const auto where = [&](const char* name, std::size_t begin, std::size_t elements) {
      if (at < begin || at >= begin + elements * width_) return false;
      const std::size_t index = (at - begin) / width_;
      const std::size_t byte = begin + index * width_;
      text << name << " index " << index << ": expected " << print_element(ground_.image() + byte, case_.type)
           << ", got " << print_element(area_ + byte, case_.type);
      return true;
    };
    if (!where("output", out_at_, out_elements_) && !where("input", in_at_, in_elements_))
      text << "byte " << at << " outside the buffers (input at " << in_at_ << ", output at " << out_at_ << ", "
           << out_elements_ * width_ << " bytes long) was overwritten";
    report(text.str());
  }

 private:
  static constexpr char kMark = 0x5b;
  static constexpr char kScribble = -1;  // NaN in every floating type

  std::size_t ranks() const { return static_cast<std::size_t>(n_); }
  std::size_t own() const { return static_cast<std::size_t>(me_) * case_.count; }
  bool is_member(int rank) const { return case_.members >> rank & 1; }
  int member_from(int rank, int step) const {
    do rank = (rank + step + n_) % n_;
    while (!is_member(rank));
    return rank;
  }
  int next_member() const { return member_from(me_, 1); }
  int prev_member() const { return member_from(me_, -1); }
  bool one_buffer() const { return case_.collective == Collective::broadcast; }
  bool in_place() const { return one_buffer() || (case_.in_place && case_.collective != Collective::send); }

  void lay_out() {
    const bool odd_one = case_.memory == Reached::mixed && me_ == static_cast<int>(case_.salt % ranks());
    area_ = ground_.area(case_.memory != Reached::any && !odd_one);
    const auto line_up = [](std::size_t at) { return (at + Ground::kLine - 1) / Ground::kLine * Ground::kLine; };
    in_at_ = Ground::kMargin / 2 + case_.in_offset;
    std::size_t end = in_at_ + in_elements_ * width_;
    out_at_ = line_up(end) + Ground::kMargin / 2 + case_.out_offset;
    if (in_place()) {
      out_at_ = in_at_;
      if (case_.collective == Collective::reduce_scatter) out_at_ = in_at_ + own() * width_;
      if (case_.collective == Collective::all_gather) in_at_ = out_at_ + own() * width_;
    }
    end = std::max(end, out_at_ + out_elements_ * width_);
    used_ = line_up(end) + Ground::kMargin / 2;
    if (used_ > ground_.room()) throw std::length_error("a trial needs more ground");
  }

  void paint_area() {
    std::memset(area_, kMark, used_);
    const auto& mine = values_.inputs[static_cast<std::size_t>(me_)];
    const bool gives = case_.collective != Collective::broadcast || me_ == case_.root;
    if (gives) paint(area_ + in_at_, mine, 0, in_elements_, width_);
    std::memcpy(ground_.image(), area_, used_);
    if (!takes_part() || case_.collective == Collective::barrier) return;
    char* const out = ground_.image() + out_at_;
    switch (case_.collective) {
      case Collective::all_reduce: return paint(out, values_.reduced, 0, case_.count, width_);
      case Collective::reduce_scatter: return paint(out, values_.reduced, own(), case_.count, width_);
      case Collective::all_gather:
        for (std::size_t r = 0; r < ranks(); ++r)
          paint(out + r * case_.count * width_, values_.inputs[r], 0, case_.count, width_);
        return;
      case Collective::broadcast:
        return paint(out, values_.inputs[static_cast<std::size_t>(case_.root)], 0, case_.count, width_);
      default: return paint(out, values_.inputs[static_cast<std::size_t>(prev_member())], 0, case_.count, width_);
    }
  }

  void scribble() {
    if (!case_.scribbles || in_place()) return;
    std::memset(area_ + in_at_, kScribble, in_elements_ * width_);
    std::memset(ground_.image() + in_at_, kScribble, in_elements_ * width_);
  }

  void call(bool async) {
    const Options options{.algorithm = case_.algorithm};
    // An empty call may name no memory at all.
    const bool none = case_.count == 0 && case_.salt % 2 == 0;
    const void* const in = none ? nullptr : area_ + in_at_;
    void* const out = none ? nullptr : area_ + out_at_;
    const auto keep = [this](Handle handle) { handles_.push_back(std::move(handle)); };
    switch (case_.collective) {
      case Collective::all_reduce:
        if (async) return keep(comm_.all_reduce_async(in, out, case_.count, case_.type, case_.op, options));
        return comm_.all_reduce(in, out, case_.count, case_.type, case_.op, options);
      case Collective::reduce_scatter:
        if (async) return keep(comm_.reduce_scatter_async(in, out, case_.count, case_.type, case_.op, options));
        return comm_.reduce_scatter(in, out, case_.count, case_.type, case_.op, options);
      case Collective::all_gather:
        if (async) return keep(comm_.all_gather_async(in, out, case_.count, case_.type, options));
        return comm_.all_gather(in, out, case_.count, case_.type, options);
      case Collective::broadcast:
        if (async) return keep(comm_.broadcast_async(out, case_.count, case_.type, case_.root, options));
        return comm_.broadcast(out, case_.count, case_.type, case_.root, options);
      case Collective::barrier:
        if (async) return keep(comm_.barrier_async(options));
        return comm_.barrier(options);
      default: return exchange(in, out, async, options);
    }
  }

  void exchange(const void* in, void* out, bool async, const Options& options) {
    const int to = next_member(), from = prev_member();
    const bool pair = to == from;
    if (case_.grouped || !(pair || async)) {
      Group group = comm_.group();
      group.add({Collective::recv, nullptr, out, case_.count, case_.type, from});
      group.add({Collective::send, in, nullptr, case_.count, case_.type, to});
      if (async) return handles_.push_back(group.start(options));
      return group.run(options);
    }
    if (async) {
      handles_.push_back(comm_.isend(in, case_.count, case_.type, to, options));
      handles_.push_back(comm_.irecv(out, case_.count, case_.type, from, options));
      return;
    }
    if (me_ < to) comm_.send(in, case_.count, case_.type, to, options);
    comm_.recv(out, case_.count, case_.type, from, options);
    if (me_ > to) comm_.send(in, case_.count, case_.type, to, options);
  }

  Communicator& comm_;
  Ground& ground_;
  const Case case_;
  const int n_, me_;
  const std::size_t width_, in_elements_, out_elements_;
  const Values values_;
  char* area_ = nullptr;
  std::size_t in_at_ = 0, out_at_ = 0, used_ = 0;
  std::vector<Handle> handles_;
};

/// Makes the call of `c` and checks it; a call that the interface refuses must be refused and change nothing.
inline void try_case(Communicator& comm, Ground& ground, const Case& c) {
  Trial trial(comm, ground, c);
  if (c.refused()) {
    try {
      trial.run();
      std::ostringstream text;
      text << "rank " << comm.rank() << ", " << c << ": not refused";
      report(text.str());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) report(error.what());
    }
    return;
  }
  if (c.async) {
    trial.start();
    trial.finish(c.salt % 2 == 0);
  } else {
    trial.run();
  }
  trial.check();
}

/// Runs `body` on `ranks` threads; an error that it lets out fails the test.
inline void on_threads(int ranks, const std::function<void(Session&)>& body, double timeout_s = 30) {
  try {
    run_threads(ranks, body, {.backend = BackendKind::native, .timeout_s = timeout_s});
  } catch (const std::exception& error) {
    ADD_FAILURE() << ranks << " ranks: " << error.what();
  }
}

}  // namespace tutti::test

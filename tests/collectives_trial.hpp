// Makes a case's call on one rank and checks it.
//
// A trial paints two whole areas (mark, input, mark and mark, output, mark; one area in place), makes the call, and
// compares the areas byte by byte with a painting of what must stand there: so results, inputs out of place and
// everything around are checked at once.
#pragma once
#include <sstream>

#include "tests/collectives_cases.hpp"

namespace tutti::test {

/// One call on this rank: painted at construction, then run() or start() and finish(), then check().
class Trial {
 public:
  Trial(Communicator& comm, Ground& ground, const Case& c)
      : comm_(comm),
        ground_(ground),
        case_(c),
        request_(c.request()),
        n_(comm.size()),
        me_(comm.rank()),
        width_(size_of(c.type)) {
    in_.elements = request_.bytes_in(ranks()) / width_;
    out_.elements = request_.bytes_out(ranks()) / width_;
    values_ = Values(c.type, c.reduces() ? c.op : ReduceOp::sum, n_, std::max(in_.elements, out_.elements) + 1, c.salt);
    lay_out();
    paint_areas();
  }

  const Case& what() const { return case_; }
  bool takes_part() const { return !exchanges() || (is_member(me_) && next_member() != me_); }

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

  void check() const {
    check(in_, "input");
    if (!in_place()) check(out_, "output");
  }

 private:
  static constexpr char kMark = 0x5b;
  static constexpr char kScribble = -1;  // NaN in every floating type

  struct Side {
    char* area = nullptr;
    char* image = nullptr;
    std::size_t at = 0;  ///< where the buffer begins
    std::size_t elements = 0;
    std::size_t used = 0;  ///< bytes of the area
  };

  std::size_t ranks() const { return static_cast<std::size_t>(n_); }
  std::size_t own() const { return static_cast<std::size_t>(me_) * case_.count; }
  bool exchanges() const { return case_.collective == Collective::send; }
  bool one_buffer() const { return case_.collective == Collective::broadcast; }
  bool gives() const { return request_.has_in(me_); }
  bool takes() const { return exchanges() || request_.has_out(me_); }
  bool in_place() const {
    if (exchanges() || case_.collective == Collective::all_to_all) return false;
    return one_buffer() || (case_.in_place && gives() && takes());
  }
  bool is_member(int rank) const { return case_.members >> rank & 1; }
  int member_from(int rank, int step) const {
    do rank = (rank + step + n_) % n_;
    while (!is_member(rank));
    return rank;
  }
  int next_member() const { return member_from(me_, 1); }
  int prev_member() const { return member_from(me_, -1); }

  bool reached(int side) const {
    switch (case_.memory) {
      case Reached::peer_mapped: return true;
      case Reached::any: return false;
      case Reached::mixed: return me_ != static_cast<int>(case_.salt % ranks());
      default: return side == (case_.memory == Reached::inputs ? 0 : 1);
    }
  }

  void lay_out() {
    in_.area = ground_.area(0, reached(0));
    in_.image = ground_.image(0);
    out_.area = ground_.area(1, reached(1));
    out_.image = ground_.image(1);
    in_.at = Ground::kMargin / 2 + case_.in_offset;
    out_.at = Ground::kMargin / 2 + case_.out_offset;
    std::size_t longest = in_.elements;
    if (in_place()) {
      out_.area = in_.area;
      out_.image = in_.image;
      longest = std::max(in_.elements, out_.elements);
      out_.at = in_.at;
      if (request_.spreads_in()) out_.at += own() * width_;
      if (request_.spreads_out()) in_.at += own() * width_;
    }
    in_.used = Ground::kMargin + case_.in_offset + longest * width_;
    out_.used = Ground::kMargin + case_.out_offset + out_.elements * width_;
    if (std::max(in_.used, out_.used) > ground_.room()) throw std::length_error("a trial needs more ground");
  }

  void paint_areas() {
    std::memset(in_.area, kMark, in_.used);
    if (!in_place()) std::memset(out_.area, kMark, out_.used);
    if (gives()) paint(in_.area + in_.at, values_.inputs[static_cast<std::size_t>(me_)], 0, in_.elements, width_);
    std::memcpy(in_.image, in_.area, in_.used);
    if (!in_place()) std::memcpy(out_.image, out_.area, out_.used);
    if (takes_part() && takes() && !case_.refused()) paint_result(out_.image + out_.at);
  }

  void paint_result(char* to) const {
    const auto from = [this](int rank) -> const std::vector<char>& {
      return values_.inputs[static_cast<std::size_t>(rank)];
    };
    const std::size_t count = case_.count;
    switch (case_.collective) {
      case Collective::all_reduce:
      case Collective::reduce: return paint(to, values_.reduced, 0, count, width_);
      case Collective::reduce_scatter: return paint(to, values_.reduced, own(), count, width_);
      case Collective::scatter: return paint(to, from(case_.root), own(), count, width_);
      case Collective::broadcast: return paint(to, from(case_.root), 0, count, width_);
      case Collective::send: return paint(to, from(prev_member()), 0, count, width_);
      default: break;
    }
    const std::size_t first = case_.collective == Collective::all_to_all ? own() : 0;
    for (int r = 0; r < n_; ++r)
      paint(to + static_cast<std::size_t>(r) * count * width_, from(r), first, count, width_);
  }

  void scribble() {
    if (!case_.scribbles || in_place() || !gives()) return;
    std::memset(in_.area + in_.at, kScribble, in_.elements * width_);
    std::memset(in_.image + in_.at, kScribble, in_.elements * width_);
  }

  void check(const Side& side, const char* name) const {
    if (std::memcmp(side.area, side.image, side.used) == 0) return;
    std::size_t at = 0;
    while (side.area[at] == side.image[at]) ++at;
    std::ostringstream text;
    text << "rank " << me_ << " of " << n_ << ", " << case_ << ": ";
    const auto within = [&](const Side& buffer) {
      return at >= buffer.at && at < buffer.at + buffer.elements * width_;
    };
    if (in_place() && within(out_)) name = "output";
    const Side& buffer = in_place() && within(out_) ? out_ : side;
    if (within(buffer)) {
      const std::size_t index = (at - buffer.at) / width_, byte = buffer.at + index * width_;
      text << name << " index " << index << ": expected " << print_element(side.image + byte, case_.type) << ", got "
           << print_element(side.area + byte, case_.type);
    } else {
      text << "byte " << at << " of the " << name << "'s area, outside the buffer (at " << buffer.at << ", "
           << buffer.elements * width_ << " bytes long), was overwritten";
    }
    report(text.str());
  }

  void call(bool async) {
    const Options options{.algorithm = case_.algorithm};
    const std::size_t count = case_.count;
    const DataType type = case_.type;
    // An empty call may name no memory at all, and a rank need not name what it does not have.
    const bool none = count == 0 && case_.salt % 2 == 0;
    const bool no_in = none || (!gives() && case_.salt % 3 != 0), no_out = none || (!takes() && case_.salt % 3 != 0);
    const void* const in = no_in ? nullptr : in_.area + in_.at;
    void* const out = no_out ? nullptr : out_.area + out_.at;
    void* const data = none ? nullptr : in_.area + in_.at;
    const auto keep = [this](Handle handle) { handles_.push_back(std::move(handle)); };
    switch (case_.collective) {
      case Collective::all_reduce:
        if (async) return keep(comm_.all_reduce_async(in, out, count, type, case_.op, options));
        return comm_.all_reduce(in, out, count, type, case_.op, options);
      case Collective::reduce_scatter:
        if (async) return keep(comm_.reduce_scatter_async(in, out, count, type, case_.op, options));
        return comm_.reduce_scatter(in, out, count, type, case_.op, options);
      case Collective::all_gather:
        if (async) return keep(comm_.all_gather_async(in, out, count, type, options));
        return comm_.all_gather(in, out, count, type, options);
      case Collective::broadcast:
        if (async) return keep(comm_.broadcast_async(data, count, type, case_.root, options));
        return comm_.broadcast(data, count, type, case_.root, options);
      case Collective::reduce:
        if (async) return keep(comm_.reduce_async(in, out, count, type, case_.op, case_.root, options));
        return comm_.reduce(in, out, count, type, case_.op, case_.root, options);
      case Collective::gather:
        if (async) return keep(comm_.gather_async(in, out, count, type, case_.root, options));
        return comm_.gather(in, out, count, type, case_.root, options);
      case Collective::scatter:
        if (async) return keep(comm_.scatter_async(in, out, count, type, case_.root, options));
        return comm_.scatter(in, out, count, type, case_.root, options);
      case Collective::all_to_all:
        if (async) return keep(comm_.all_to_all_async(in, out, count, type, options));
        return comm_.all_to_all(in, out, count, type, options);
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
  const Request request_;
  const int n_, me_;
  const std::size_t width_;
  Values values_;
  Side in_, out_;
  std::vector<Handle> handles_;
};

/// Makes the call of `c` and checks it; a call that the interface refuses must be refused and change nothing.
inline void try_case(Communicator& comm, Ground& ground, const Case& c) {
  Trial trial(comm, ground, c);
  try {
    if (c.async) {
      trial.start();
      trial.finish(c.salt % 2 == 0);
    } else {
      trial.run();
    }
  } catch (const Error& error) {
    if (!c.refused() || error.code() != ErrorCode::unsupported) throw;
    return trial.check();
  }
  if (c.refused()) {
    std::ostringstream text;
    text << "rank " << comm.rank() << ", " << c << ": not refused";
    return report(text.str());
  }
  trial.check();
}

}  // namespace tutti::test

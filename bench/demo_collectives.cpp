#include "bench/demo_collectives.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/tensor.hpp"

namespace tutti::bench {
namespace {

std::string list(const std::vector<float>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string list(const Tensor& tensor) { return list(tensor.values()); }

class Show {
 public:
  Show(Session& session, InOrder& out)
      : session_(session), out_(out), comm_(session.communicator()), rank_(session.rank()), root_(1 % session.size()) {
    for (std::size_t i = 0; i < n_; ++i) {
      start_.push_back(static_cast<float>(i) + static_cast<float>(rank_));
      root_start_.push_back(static_cast<float>(i) + static_cast<float>(root_));
      sum_.push_back(static_cast<float>(n_ * i + n_ * (n_ - 1) / 2));
    }
  }

  bool run() {
    introduce();
    broadcast();
    scatter_and_gather();
    reduce();
    all_reduce_and_its_halves();
    return conclude();
  }

 private:
  void introduce() {
    std::vector<float> counted(n_);
    for (std::size_t i = 0; i < n_; ++i) counted[i] = static_cast<float>(i);
    out_.once(fmt::format("The lecture's collectives, {} rank{}; rank r starts with {} + r\n", n_, n_ > 1 ? "s" : "",
                          n_ > 4 ? fmt::format("[0, 1, ..., {}]", n_ - 1) : list(counted)));
  }

  void broadcast() {
    out_.once(fmt::format("\nbroadcast from rank {}: every rank ends with what rank {} had\n", root_, root_));
    Tensor tensor(comm_, start_);
    line("before", list(tensor));
    comm_.broadcast(tensor.data(), n_, root_);
    line("after", list(tensor));
    expect(tensor.values(), root_start_);
  }

  void scatter_and_gather() {
    out_.once(
        fmt::format("\nscatter from rank {}: rank r ends with element r; only rank {} needs an input\n", root_, root_));
    const std::vector<float> nothing;
    Tensor input(comm_, at_root() ? start_ : nothing), part(comm_, anything(1));
    line("before", in_and_out(input, part));
    comm_.scatter(input.data(), part.data(), 1, root_);
    line("after", in_and_out(input, part));
    expect(part.values(), {root_start_[static_cast<std::size_t>(rank_)]});
    if (at_root()) expect(input.values(), start_);

    out_.once(
        fmt::format("\ngather to rank {} of what scatter left: back together, for gather is its inverse\n", root_));
    Tensor whole(comm_, at_root() ? anything(n_) : nothing);
    line("before", in_and_out(part, whole));
    comm_.gather(part.data(), whole.data(), 1, root_);
    line("after", in_and_out(part, whole));
    if (at_root()) expect(whole.values(), root_start_);
  }

  void reduce() {
    out_.once(fmt::format("\nreduce, sum, to rank {}: only rank {} ends with the sum over all ranks\n", root_, root_));
    Tensor input(comm_, start_), result(comm_, at_root() ? anything(n_) : std::vector<float>());
    line("before", in_and_out(input, result));
    comm_.reduce(input.data(), result.data(), n_, ReduceOp::sum, root_);
    line("after", in_and_out(input, result));
    expect(input.values(), start_);
    if (at_root()) expect(result.values(), sum_);
  }

  void all_reduce_and_its_halves() {
    out_.once("\nall_reduce, sum, in place: every rank ends with the sum over all ranks\n");
    Tensor reduced(comm_, start_);
    line("before", list(reduced));
    comm_.all_reduce(reduced.data(), reduced.data(), n_, ReduceOp::sum);
    line("after", list(reduced));
    expect(reduced.values(), sum_);

    out_.once(
        "\nreduce_scatter, sum: rank r ends with element r of the sum\n"
        "The output holds anything before; the input stays as it is.\n");
    Tensor input(comm_, start_), part(comm_, anything(1));
    line("before", in_and_out(input, part));
    comm_.reduce_scatter(input.data(), part.data(), 1, ReduceOp::sum);
    line("after", in_and_out(input, part));
    expect(part.values(), {sum_[static_cast<std::size_t>(rank_)]});
    expect(input.values(), start_);

    out_.once("\nall_gather of what reduce_scatter left: every rank ends with every rank's element\n");
    Tensor gathered(comm_, start_);
    line("before", in_and_out(part, gathered));
    comm_.all_gather(part.data(), gathered.data(), 1);
    line("after", in_and_out(part, gathered));
    halves_equal_ = gathered.values() == reduced.values();
  }

  bool conclude() {
    const bool equal = on_every_rank(halves_equal_), right = on_every_rank(right_);
    out_.once(fmt::format("\nreduce_scatter, then all_gather, {} all_reduce bit for bit on {}.\n",
                          equal ? "equals" : "DIFFERS from", equal ? fmt::format("all {} ranks", n_) : "some rank"));
    if (!right) out_.once("WRONG: a result above differs from the one computed by hand.\n");
    return equal && right;
  }

  bool at_root() const { return rank_ == root_; }

  // What a buffer may hold before it gets a result.
  std::vector<float> anything(std::size_t count) const {
    return std::vector<float>(count, -7.5f * static_cast<float>(rank_ + 1));
  }

  static std::string in_and_out(const Tensor& in, const Tensor& out) {
    std::string text;
    if (in.size() > 0) text += "input " + list(in);
    if (in.size() > 0 && out.size() > 0) text += "  ";
    if (out.size() > 0) text += "output " + list(out);
    return text;
  }

  void line(const char* when, const std::string& what) {
    out_.each(fmt::format("  {:<6}  rank {}: {}", when, rank_, what));
  }

  void expect(const std::vector<float>& values, const std::vector<float>& expected) {
    right_ = right_ && values == expected;
  }

  bool on_every_rank(bool mine) {
    const std::vector<char> all = session_.bootstrap_all_gather(static_cast<char>(mine));
    return std::all_of(all.begin(), all.end(), [](char good) { return good != 0; });
  }

  Session& session_;
  InOrder& out_;
  Communicator comm_;
  int rank_, root_;
  std::size_t n_ = static_cast<std::size_t>(comm_.size());
  std::vector<float> start_, root_start_, sum_;
  bool right_ = true, halves_equal_ = false;
};

}  // namespace

bool show_collectives(Session& session, InOrder& out) { return Show(session, out).run(); }

}  // namespace tutti::bench

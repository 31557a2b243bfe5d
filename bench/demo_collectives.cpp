#include "bench/demo_collectives.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace tutti::bench {
namespace {

std::string list(std::span<const float> values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

bool on_every_rank(Session& session, bool mine) {
  const std::vector<char> all = session.bootstrap_all_gather(static_cast<char>(mine));
  return std::all_of(all.begin(), all.end(), [](char good) { return good != 0; });
}

}  // namespace

bool show_collectives(Session& session, InOrder& out) {
  const int rank = session.rank(), ranks = session.size();
  const auto n = static_cast<std::size_t>(ranks);
  Communicator comm = session.communicator();

  // What a rank starts with, and the sum that follows from it by hand.
  std::vector<float> start(n), sum(n);
  for (std::size_t i = 0; i < n; ++i) {
    start[i] = static_cast<float>(i) + static_cast<float>(rank);
    sum[i] = static_cast<float>(n * i + n * (n - 1) / 2);
  }
  const auto line = [&](const char* when, const std::string& what) {
    out.each(fmt::format("  {:<6}  rank {}: {}", when, rank, what));
  };
  bool right = true;

  out.once(fmt::format(
      "The lecture's collectives, {} rank{}; rank r starts with {} + r\n", ranks, n > 1 ? "s" : "",
      n > 4 ? fmt::format("[0, 1, ..., {}]", n - 1) : [&] {
        std::vector<float> zero_based(n);
        for (std::size_t i = 0; i < n; ++i) zero_based[i] = static_cast<float>(i);
        return list(zero_based);
      }()));

  out.once("\nall_reduce, sum, in place: every rank ends with the sum over all ranks\n");
  auto reduced = comm.allocate<float>(n);
  std::copy(start.begin(), start.end(), reduced.begin());
  line("before", list(reduced.span()));
  comm.all_reduce(reduced.data(), reduced.data(), n, ReduceOp::sum);
  line("after", list(reduced.span()));
  right = right && std::equal(sum.begin(), sum.end(), reduced.begin());

  out.once(
      "\nreduce_scatter, sum: rank r ends with element r of the sum\n"
      "The output holds anything before; the input stays as it is.\n");
  auto input = comm.allocate<float>(n);
  auto part = comm.allocate<float>(1);
  std::copy(start.begin(), start.end(), input.begin());
  part[0] = -7.5f * static_cast<float>(rank + 1);
  line("before", fmt::format("input {}  output {}", list(input.span()), list(part.span())));
  comm.reduce_scatter(input.data(), part.data(), 1, ReduceOp::sum);
  line("after", fmt::format("input {}  output {}", list(input.span()), list(part.span())));
  right =
      right && part[0] == sum[static_cast<std::size_t>(rank)] && std::equal(start.begin(), start.end(), input.begin());

  out.once("\nall_gather of what reduce_scatter left: every rank ends with every rank's element\n");
  auto gathered = comm.allocate<float>(n);
  std::copy(start.begin(), start.end(), gathered.begin());
  line("before", fmt::format("input {}  output {}", list(part.span()), list(gathered.span())));
  comm.all_gather(part.data(), gathered.data(), 1);
  line("after", fmt::format("input {}  output {}", list(part.span()), list(gathered.span())));

  const bool equal = on_every_rank(session, std::memcmp(gathered.data(), reduced.data(), n * sizeof(float)) == 0);
  right = on_every_rank(session, right);
  out.once(fmt::format("\nreduce_scatter, then all_gather, {} all_reduce bit for bit on {}.\n",
                       equal ? "equals" : "DIFFERS from", equal ? fmt::format("all {} ranks", ranks) : "some rank"));
  if (!right) out.once("WRONG: a result above differs from the sum computed by hand.\n");
  return equal && right;
}

}  // namespace tutti::bench

#include "bench/trial.hpp"

#include <cstring>

namespace tutti::bench {
namespace {

constexpr int kJunk = 0xa5;

std::uint64_t changed(const std::byte* junk, std::size_t count, std::size_t size) {
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool same = true;
    for (std::size_t k = 0; k < size; ++k) same = same && junk[i * size + k] == std::byte{kJunk};
    elements += !same;
  }
  return elements;
}

}  // namespace

Trial::Trial(const Case& c, int rank, HostAccess& access)
    : case_(c),
      rank_(rank),
      source_(c.is(Operation::send_recv) ? rank ^ 1 : c.root),
      access_(access),
      pattern_(c.type, c.reduces() ? c.op : ReduceOp::max, c.ranks) {}

void Trial::prepare(const Buffers& b, std::size_t index) const {
  if (!case_.has_in(rank_)) return;
  access_.write(b.in, in_bytes(), [&](std::byte* in) { pattern_.fill_constant(in, case_.in_count(), rank_, index); });
}

std::uint64_t Trial::check(const Buffers& b, std::size_t index) const {
  if (!gets_result()) return 0;
  return access_.read(b.out, out_bytes(), [&](const std::byte* out) -> std::uint64_t {
    if (case_.reduces()) return pattern_.wrong_constant_results(out, case_.count, index);
    if (!case_.spreads_out()) return pattern_.wrong_constants(out, case_.count, source_, index);
    std::uint64_t wrong = 0;
    const std::size_t part = out_bytes() / static_cast<std::size_t>(case_.ranks);
    for (int r = 0; r < case_.ranks; ++r)
      wrong += pattern_.wrong_constants(out + static_cast<std::size_t>(r) * part, case_.count, r, index);
    return wrong;
  });
}

void Trial::prepare_distinct(const Buffers& b) const {
  if (case_.is(Operation::barrier)) return;
  access_.write(b.out, out_bytes(), [&](std::byte* out) { std::memset(out, kJunk, out_bytes()); });
  if (!case_.has_in(rank_)) return;
  access_.write(b.in, in_bytes(), [&](std::byte* in) { pattern_.fill_input(in, case_.in_count(), rank_, 0); });
}

std::uint64_t Trial::check_distinct(const Buffers& b) const {
  if (case_.is(Operation::barrier) || (case_.is(Operation::send_recv) && source_ >= case_.ranks)) return 0;
  std::uint64_t wrong = 0;
  const bool overwritten = gets_result() && (case_.in_place || case_.is(Operation::broadcast));
  if (case_.has_in(rank_) && !overwritten)
    wrong += access_.read(b.in, in_bytes(),
                          [&](const std::byte* in) { return pattern_.wrong_inputs(in, case_.in_count(), rank_, 0); });
  if (!gets_result()) {
    if (b.out == b.in) return wrong;
    return wrong + access_.read(b.out, out_bytes(), [&](const std::byte* out) {
      return changed(out, case_.out_count(), size_of(case_.type));
    });
  }
  return wrong + access_.read(b.out, out_bytes(), [&](const std::byte* out) -> std::uint64_t {
    // Of inputs that have a part for each rank, this rank's begins here.
    const std::size_t first = case_.spreads_in() ? static_cast<std::size_t>(rank_) * case_.count : 0;
    if (case_.reduces()) return pattern_.wrong_results(out, case_.count, first);
    if (!case_.spreads_out()) return pattern_.wrong_inputs(out, case_.count, source_, first);
    std::uint64_t found = 0;
    const std::size_t part = out_bytes() / static_cast<std::size_t>(case_.ranks);
    for (int r = 0; r < case_.ranks; ++r)
      found += pattern_.wrong_inputs(out + static_cast<std::size_t>(r) * part, case_.count, r, first);
    return found;
  });
}

}  // namespace tutti::bench

// Instructions of a whole warp: shfl, vote, match, redux, elect. All lanes of `mask` are at the instruction.
#include <bit>

#include "tests/emulator/machine/machine.hpp"

namespace tutti::emulator {
namespace {

bool in(std::uint32_t mask, const Thread& t) { return mask >> t.lane() & 1; }

}  // namespace

void warp_shuffle(std::span<Thread> warp, std::uint32_t mask, const Instruction& i) {
  std::uint32_t values[32];
  for (const Thread& t : warp) values[t.lane()] = static_cast<std::uint32_t>(t.slots[i.from[0]]);
  for (Thread& t : warp) {
    if (!in(mask, t)) continue;
    const std::uint32_t lane = t.lane(), by = static_cast<std::uint32_t>(t.slots[i.from[1]]) & 31;
    const auto control = static_cast<std::uint32_t>(t.slots[i.from[2]]);
    const std::uint32_t clamp = control & 31, segment = control >> 8 & 31;
    const std::uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    std::uint32_t source = lane;
    bool valid = false;
    switch (static_cast<Shuffle>(i.operation)) {
      case Shuffle::up:  // `clamp` is the first lane here
        source = lane - by;
        valid = static_cast<int>(source) >= static_cast<int>(last);
        break;
      case Shuffle::down:
        source = lane + by;
        valid = source <= last;
        break;
      case Shuffle::butterfly:
        source = lane ^ by;
        valid = source <= last;
        break;
      case Shuffle::index:
        source = first | (by & ~segment);
        valid = source <= last;
        break;
    }
    if (!valid) source = lane;
    // PTX leaves the value of a lane that takes no part unspecified.
    t.slots[i.to[0]] = source < warp.size() && in(mask, warp[source]) ? values[source] : 0xdeadbeef;
    if (i.to_count > 1) t.slots[i.to[1]] = valid;
  }
}

void warp_vote(std::span<Thread> warp, std::uint32_t mask, const Instruction& i) {
  std::uint32_t ballot = 0;
  for (const Thread& t : warp)
    if (in(mask, t) && (t.slots[i.from[0]] & 1) != 0) ballot |= 1u << t.lane();
  std::uint64_t result = ballot;
  switch (static_cast<Vote>(i.operation)) {
    case Vote::all: result = ballot == mask; break;
    case Vote::any: result = ballot != 0; break;
    case Vote::uniform: result = ballot == 0 || ballot == mask; break;
    case Vote::ballot: break;
  }
  for (Thread& t : warp)
    if (in(mask, t)) t.slots[i.to[0]] = result;
}

void warp_match(std::span<Thread> warp, std::uint32_t mask, const Instruction& i) {
  const std::uint64_t bits = bytes_of(i.type) == 8 ? ~std::uint64_t{0} : 0xffffffffu;
  for (Thread& t : warp) {
    if (!in(mask, t)) continue;
    std::uint32_t same = 0;
    for (const Thread& other : warp)
      if (in(mask, other) && ((t.slots[i.from[0]] ^ other.slots[i.from[0]]) & bits) == 0) same |= 1u << other.lane();
    const bool all = same == mask;
    t.slots[i.to[0]] = static_cast<Match>(i.operation) == Match::any || all ? same : 0;
    if (i.to_count > 1) t.slots[i.to[1]] = all;
  }
}

void warp_reduce(std::span<Thread> warp, std::uint32_t mask, const Instruction& i) {
  std::uint64_t sum = 0;
  bool first = true;
  for (const Thread& t : warp) {
    if (!in(mask, t)) continue;
    const std::uint64_t value = extended(t.slots[i.from[0]], i.type);
    sum = first ? value : apply_atomic(static_cast<AtomicOperation>(i.operation), i.type, sum, value, 0);
    first = false;
  }
  for (Thread& t : warp)
    if (in(mask, t)) t.slots[i.to[0]] = sum;
}

void warp_elect(std::span<Thread> warp, std::uint32_t mask, const Instruction& i) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(mask));
  for (Thread& t : warp) {
    if (!in(mask, t)) continue;
    t.slots[i.to[0]] = leader;
    t.slots[i.to[1]] = t.lane() == leader;
  }
}

}  // namespace tutti::emulator

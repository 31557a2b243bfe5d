#include "kernels/timed_caches.hpp"

#include <algorithm>

namespace tutti::timed {
namespace {

constexpr std::uintptr_t kLineBytes = 64;

double over(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

}  // namespace

double& Caches::clock_of(std::vector<double>& clocks, int index) {
  if (clocks.size() <= static_cast<std::size_t>(index)) clocks.resize(static_cast<std::size_t>(index) + 1);
  return clocks[static_cast<std::size_t>(index)];
}

double Caches::clock_at(const std::vector<double>& clocks, int index) const {
  return static_cast<std::size_t>(index) < clocks.size() ? clocks[static_cast<std::size_t>(index)] : 0;
}

/// How much of what was used at `at` a cache of `size` bytes still has: it is no perfect queue, and other data go
/// through it, too.
double Caches::share(double clock, double at, double size) const {
  if (size <= 0) return 0;
  constexpr double kAllUpTo = 0.75, kNoneFrom = 1.25;
  return std::clamp((kNoneFrom - (clock - at) / size) / (kNoneFrom - kAllUpTo), 0.0, 1.0);
}

Caches::Found Caches::find(const Range& range, int core) const {
  double own = 0, peer = 0, last = 0;
  for (const Holder& holder : range.holders) {
    const double in_own = share(clock_at(own_, holder.core), holder.own, machine_.core_cache);
    const double in_last = share(clock_at(last_, last_of(holder.core)), holder.last, machine_.last_cache);
    if (holder.core == core)
      own = in_own;
    else
      peer = std::max(peer, in_own);
    if (last_of(holder.core) == last_of(core))
      last = std::max(last, in_last);
    else
      peer = std::max(peer, in_last);
  }
  Found found;
  found.own = own;
  found.peer = std::min(peer, 1 - found.own);
  found.last = std::clamp(last - found.own - found.peer, 0.0, 1.0);
  found.memory = std::max(0.0, 1 - found.own - found.peer - found.last);
  return found;
}

void Caches::split(std::uintptr_t at) {
  const auto found = ranges_.upper_bound(at);
  if (found == ranges_.end() || found->second.begin >= at) return;
  Range head = found->second;
  found->second.begin = at;
  ranges_.emplace(at, std::move(head));
}

/// Calls f(range, its bytes) for each range of `bytes`, whole lines; what nobody has touched yet is made a range.
template <class F>
void Caches::each_range(Bytes bytes, F f) {
  if (bytes.size == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.at);
  const std::uintptr_t begin = address / kLineBytes * kLineBytes;
  const std::uintptr_t end = (address + bytes.size + kLineBytes - 1) / kLineBytes * kLineBytes;
  split(begin);
  split(end);
  auto next = ranges_.upper_bound(begin);
  for (std::uintptr_t at = begin; at < end;) {
    if (next == ranges_.end() || next->second.begin > at) {
      const std::uintptr_t gap_end = next == ranges_.end() ? end : std::min(end, next->second.begin);
      next = ranges_.emplace_hint(next, gap_end, Range{at, {}});
    }
    f(next->second, static_cast<double>(next->first - at));
    at = next->first;
    ++next;
  }
}

/// `core` has the range from now on; what it lacked comes into its caches.
void Caches::take(Range& range, int core, double bytes, const Found& found) {
  // The clocks when its first bytes came: who walks it again finds each byte as old as the first.
  double& own_clock = clock_of(own_, core);
  double& last_clock = clock_of(last_, last_of(core));
  const double own = own_clock, last = last_clock;
  own_clock += bytes * (1 - found.own);
  last_clock += bytes * (1 - found.own - found.last);
  for (Holder& holder : range.holders)
    if (holder.core == core) {
      holder.own = own;
      holder.last = last;
      return;
    }
  range.holders.push_back({core, own, last});
}

void Caches::load(int core, Bytes bytes, double peer_rate, Work& work, bool& far) {
  each_range(bytes, [&](Range& range, double size) {
    const Found found = find(range, core);
    work.ns += over(size * found.own, machine_.own_load) + over(size * found.peer, peer_rate) +
               over(size * found.last, machine_.last_load) + over(size * found.memory, machine_.memory_load);
    work.memory += size * found.memory;
    far |= found.peer > 0.5;
    take(range, core, size, found);
  });
}

void Caches::store(int core, Bytes bytes, bool streaming, Work& work, bool& far) {
  each_range(bytes, [&](Range& range, double size) {
    if (streaming) {
      work.ns += over(size, machine_.stream_store);
      work.memory += size;
      range.holders.clear();
      return;
    }
    // A peer's copies must go, whatever this core has.
    Range others = range;
    std::erase_if(others.holders, [core](const Holder& holder) { return holder.core == core; });
    const Found mine = find(range, core);
    Found found = find(others, core);
    found.own = std::min(mine.own, 1 - found.peer);
    found.last = std::clamp(mine.last, 0.0, 1 - found.peer - found.own);
    found.memory = std::max(0.0, 1 - found.own - found.peer - found.last);
    work.ns += over(size * found.own, machine_.own_store) + over(size * found.peer, machine_.peer_store) +
               over(size * found.last, machine_.last_store) + over(size * found.memory, machine_.memory_store);
    work.memory += 2 * size * found.memory;  // the line comes first, and goes back some day
    far |= found.peer > 0.5;
    std::erase_if(range.holders, [core](const Holder& holder) { return holder.core != core; });
    take(range, core, size, mine);
  });
}

Caches::Work Caches::move(int core, std::span<const Bytes> from, std::span<const Bytes> to, bool streaming) {
  Work work;
  bool far = false;
  const bool adds = from.size() > 1 && machine_.peer_add > 0;
  const double peer_rate = adds ? machine_.peer_add : machine_.peer_load;
  for (const Bytes& bytes : from) load(core, bytes, peer_rate, work, far);
  for (const Bytes& bytes : to) store(core, bytes, streaming, work, far);
  for (const Bytes& bytes : from) work.bytes += static_cast<double>(bytes.size);
  for (const Bytes& bytes : to) work.bytes += static_cast<double>(bytes.size);
  if (far) work.ns += machine_.load;
  return work;
}

}  // namespace tutti::timed

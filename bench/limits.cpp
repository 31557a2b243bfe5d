#include "bench/limits.hpp"

#include <algorithm>
#include <chrono>

#include "bench/on_core.hpp"

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kMostShared = std::size_t{64} << 20;  // the rate of more is taken to be this one's, or less
constexpr std::size_t kStreamingFrom = 64 << 10;            // below, streaming stores never won

// Small ones often, for the least of them counts; large ones once in each round.
int repetitions(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>((std::size_t{2} << 20) / std::max<std::size_t>(bytes, 1), 1, 20));
}

// Numbers near 1 in every floating-point type: sums of others may be slow.
void write_all(std::byte* at, std::size_t bytes, std::uint64_t turn) {
  const std::uint64_t value = 0x3f803f803f803f80 + turn % 64;
  std::fill_n(reinterpret_cast<std::uint64_t*>(at), bytes / sizeof value, value);
}

// A word of each line is enough to have the line come.
std::uint64_t read_all(const std::byte* at, std::size_t bytes) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes; i += kCacheLine) all |= *reinterpret_cast<const volatile std::uint64_t*>(at + i);
  return all;
}

/// The least that any rank knows, so that all reckon alike.
double clock_cost(Bootstrap& bootstrap) {
  double least = 1;
  for (int i = 0; i < 100; ++i) least = std::min(least, seconds_since(Clock::now()));
  for (const double theirs : bootstrap.all_gather(least)) least = std::min(least, theirs);
  return least;
}

}  // namespace

Limits::Limits(Bootstrap& bootstrap, MeetingPoint& meeting, const std::vector<Memory>& memories, std::size_t bytes)
    : meeting_(meeting),
      memories_(memories),
      rank_(bootstrap.rank()),
      size_(bootstrap.size()),
      cores_(cores_allowed()),
      clock_(clock_cost(bootstrap)),
      segment_(allocate_host_segment(bootstrap, std::min(2 * bytes + kCacheLine, kMostShared))) {}

double Limits::bound(const Case& c, MemoryKind kind, double exchange_ns) {
  const auto memory =
      std::find_if(memories_.begin(), memories_.end(), [&](const Memory& each) { return each.kind == kind; });
  if (memory == memories_.end()) return 0;
  const LeastWork work = least_work(c, cores_);
  Rates rates{.exchange = exchange_ns * 1e-9};
  if (size_ > cores_) rates.hand_over = meeting_.hand_over_ns() * 1e-9;
  if (work.crossing > 0) rates.crossing = crossing(work.crossing);
  if (work.sources > 0) rates.local = local(c, work, *memory);
  return tutti::bench::bound(c, cores_, rates);
}

// One core each, at once: what the next one has just written.
double Limits::crossing(std::size_t bytes) {
  const std::size_t used = std::min((bytes + kCacheLine - 1) / kCacheLine * kCacheLine, kMostShared);
  const int ranks = std::min(size_, cores_);
  const double seconds = meeting_.most_of(ranks, [&] {
    auto* const mine = reinterpret_cast<std::byte*>(segment_->base(rank_));
    const auto* const theirs = reinterpret_cast<const std::byte*>(segment_->base((rank_ + 1) % ranks));
    double least = 1e30;
    for (int i = 0; i < repetitions(used); ++i) {
      write_all(mine, used, ++turn_);
      meeting_.meet();
      const auto begin = Clock::now();
      read_all(theirs, used);
      least = std::min(least, seconds_since(begin));
      meeting_.meet();  // nobody writes what is still read
    }
    return least;
  });
  const double scale = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(used));
  return std::max(0.0, seconds - clock_) * scale;
}

double Limits::local(const Case& c, const LeastWork& work, const Memory& memory) {
  const double cached = local(c, work, memory, host::Stores::cached);
  if (work.part < kStreamingFrom) return cached;
  return std::min(cached, local(c, work, memory, host::Stores::streaming));
}

// All ranks at once, each in its own buffers, of which it has read the output and then written the input.
double Limits::local(const Case& c, const LeastWork& work, const Memory& memory, host::Stores stores) {
  char* const in = reinterpret_cast<char*>(memory.in);
  char* const out = reinterpret_cast<char*>(c.in_place && work.sources > 1 ? memory.in : memory.out);
  std::vector<const char*> sources;
  std::vector<char*> destinations;
  for (int i = 0; i < work.sources; ++i) sources.push_back(in + static_cast<std::size_t>(i) * work.part);
  for (int i = 0; i < work.destinations; ++i) destinations.push_back(out + static_cast<std::size_t>(i) * work.part);
  const std::size_t read = work.part * sources.size(), written = work.part * destinations.size();
  const Reduction reduction{c.type, c.op == ReduceOp::avg ? ReduceOp::sum : c.op, 1};
  const double seconds = meeting_.most_of(size_, [&] {
    double least = 1e30;
    for (int i = 0; i < repetitions(read + written); ++i) {
      read_all(reinterpret_cast<const std::byte*>(out), written);
      write_all(memory.in, read, ++turn_);
      meeting_.meet();
      const auto begin = Clock::now();
      if (work.sources > 1)
        host::loops().reduce(destinations.data(), work.destinations, sources.data(), work.sources,
                             work.part / size_of(c.type), reduction, stores);
      else
        host::loops().copy(destinations.data(), work.destinations, sources[0], work.part, stores);
      if (stores == host::Stores::streaming) host::fence_streams();
      least = std::min(least, seconds_since(begin));
      meeting_.meet();
    }
    return least;
  });
  return std::max(0.0, seconds - clock_);
}

}  // namespace tutti::bench

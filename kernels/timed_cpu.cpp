#include "kernels/timed_cpu.hpp"

namespace tutti::timed {
namespace {

// As block_host.hpp has them: shorter stores are never streamed, and so few bytes stand in the line of their tag.
constexpr double kLeastStreamed = 4096;
constexpr double kPage = 4096;

void fill(std::vector<Bytes>& bytes, std::span<const Part> parts) {
  bytes.clear();
  for (const Part& part : parts)
    if (part.bytes > 0) bytes.push_back({part.at, static_cast<std::size_t>(part.bytes)});
}

}  // namespace

/// As the library decides (backend_native.cpp, block_host.hpp): where slots and peers' buffers are far, or none of the
/// buffers stays in the caches.
bool CpuCosts::streams(const Mover& mover, std::span<const Part> to) const {
  if (to.empty() || to.back().bytes < kLeastStreamed) return false;
  const Part& last = to.back();
  const bool shared = last.slot || last.owner != mover.rank || to.size() == static_cast<std::size_t>(machine_.ranks);
  const double buffers = mover.launch->buffers;
  return shared ? machine_.streams_above > 0 && buffers >= machine_.streams_above
                : machine_.streams_all_above > 0 && buffers > machine_.streams_all_above;
}

double CpuCosts::end_of(int rank, double start, const Caches::Work& work) {
  if (machine_.cores > 0 && machine_.cores < machine_.ranks) start += machine_.page * work.bytes / kPage;
  return std::max(start + work.ns, work.memory > 0 ? wires_.touch(rank, start, work.memory) : start);
}

Moved CpuCosts::move(const Mover& mover, double now, std::span<const Part> from, std::span<const Part> to) {
  fill(from_, from);
  fill(to_, to);
  const bool streaming = streams(mover, to);
  const double end = end_of(mover.rank, now + machine_.word, caches_.move(core_of(mover.rank), from_, to_, streaming));
  return {.end = end, .arrived = streaming ? end + machine_.fence : end};
}

double CpuCosts::signal(const Mover&, double now, double posted) { return std::max(now, posted) + machine_.signal; }

Moved CpuCosts::put_packets(const Mover& mover, double now, double bytes, int, std::span<const Part> from,
                            std::span<const Part> lines, std::span<double> seen) {
  double end = now + machine_.word;
  for (std::size_t peer = 0; peer < seen.size(); ++peer) {
    if (static_cast<int>(peer) == mover.rank) continue;
    fill(from_, from.subspan(peer, 1));
    fill(to_, bytes > kPacketLine ? lines.subspan(peer, 1) : lines.subspan(0, 0));
    end = end_of(mover.rank, end, caches_.move(core_of(mover.rank), from_, to_, false)) + machine_.each_flag;
    seen[peer] = end + machine_.flag;
  }
  return {.end = end, .arrived = end + machine_.flag};
}

double CpuCosts::get_packets(const Mover& mover, double now, double bytes, int, std::span<const Part> lines,
                             std::span<const Part> to, std::span<const double> seen, bool) {
  double end = now + machine_.word;
  for (std::size_t peer = 0; peer < seen.size(); ++peer) {
    if (static_cast<int>(peer) == mover.rank) continue;
    end = std::max(end, seen[peer]) + machine_.each_flag;
  }
  fill(from_, lines);
  if (bytes <= kPacketLine) from_.clear();
  fill(to_, to);
  return end_of(mover.rank, end + machine_.wait, caches_.move(core_of(mover.rank), from_, to_, false));
}

double CpuCosts::use(int rank, double now, const Part& part, bool writes) {
  fill(writes ? to_ : from_, {&part, 1});
  (writes ? from_ : to_).clear();
  return end_of(rank, now + machine_.word, caches_.move(core_of(rank), from_, to_, false));
}

}  // namespace tutti::timed

// What the checker is told before and during a run, other than accesses.
#include <fmt/format.h>

#include <algorithm>

#include "tests/emulator/check/memory_parts.hpp"

namespace tutti::emulator {

CheckedMemory::CheckedMemory(Settings settings) : parts_(std::make_unique<Parts>(settings)) {}
CheckedMemory::~CheckedMemory() = default;

void CheckedMemory::add(const Allocation& allocation) {
  if (allocation.rank < 0 || allocation.rank >= 64)
    throw std::runtime_error(fmt::format("{}: the checker knows ranks 0 to 63", allocation.name));
  parts_->map.add(allocation, ++parts_->generation);
}

void CheckedMemory::add_variables(const Image& image, int rank, int device) {
  const std::vector<Variable>& variables = image.module->variables();
  for (std::size_t k = 0; k < variables.size(); ++k) {
    if (variables[k].bytes == 0) continue;
    const auto* const begin = reinterpret_cast<const void*>(image.variables.at(k));
    add({.name = fmt::format("variable {} of rank {}", variables[k].name, rank),
         .rank = rank,
         .device = device,
         .begin = begin,
         .bytes = variables[k].bytes,
         .read_only = variables[k].space == Space::constant});
    initialise(begin, variables[k].bytes);
  }
}

void CheckedMemory::free(const void* begin) { parts_->map.free(reinterpret_cast<std::uint64_t>(begin)); }

void CheckedMemory::initialise(const void* begin, std::size_t bytes) {
  if (bytes == 0) return;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  Region* const region = parts_->map.find(address);
  if (!region || !region->contains(address, bytes))
    throw std::runtime_error(
        fmt::format("initialises {} bytes of {}, which are not all there", bytes, parts_->map.describe(address)));
  region->shadow.initialise(address - region->base, bytes);
}

void CheckedMemory::name(const NamedRange& range) { parts_->map.name(range); }
void CheckedMemory::add(const MulticastWindow& window) { parts_->map.add(window); }

void CheckedMemory::clear() {
  parts_->map.clear();
  parts_->code.clear();
}

void CheckedMemory::begin_run(std::uint64_t seed, std::span<StreamShape> shapes) {
  Parts& p = *parts_;
  p.random.seed(seed);
  constexpr double kFactors[] = {0, 0.5, 1, 2.5};
  p.staleness = p.settings.staleness * kFactors[p.random() % 4];
  p.code.clear();
  p.counts = {};
  p.step = 0;
  p.histories.begin_run();
  p.unwritten.clear();
  p.unfinished.clear();
  p.woken.clear();
  p.past_barrier.clear();
  p.streams.clear();
  for (auto& block : p.blocks)
    if (block.shared) p.spare_shadows.push_back(std::move(block.shared->shadow));
  p.blocks.clear();
  p.map.forget_accesses(++p.generation);
  std::uint32_t ids = 0, blocks = 0;
  for (StreamShape& shape : shapes) {
    shape.first_id = ids;
    Parts::StreamState& stream = p.streams.emplace_back();
    stream.shape = shape;
    stream.first_block = blocks;
    ids = stream.host() + 1;
    blocks += shape.blocks + 1;  // one for the host
  }
  if (ids >= 1u << 24) throw std::runtime_error("more threads than the checker has numbers for");
  p.threads.begin_run(ids);
  p.blocks.resize(blocks);
  for (std::size_t s = 0; s < p.streams.size(); ++s) {
    const Parts::StreamState& stream = p.streams[s];
    for (std::uint32_t b = 0; b <= stream.shape.blocks; ++b) {
      Parts::BlockState& block = p.blocks[stream.first_block + b];
      block.stream = static_cast<int>(s);
      block.index = b;
    }
    for (ThreadId id = stream.shape.first_id; id <= stream.host(); ++id) {
      Placement& placement = p.threads.placement(id);
      placement.device = stream.shape.device;
      placement.block =
          stream.first_block +
          (id == stream.host() ? stream.shape.blocks : (id - stream.shape.first_id) / stream.shape.threads);
      p.threads[id].time = 1;
    }
  }
  p.races.begin_run(p.threads.placements());
}

void CheckedMemory::begin_launch(int stream, const Launch&) {
  Parts::StreamState& s = parts_->streams.at(static_cast<std::size_t>(stream));
  s.launch_known = s.known;
  parts_->threads.clocks().learn(s.launch_known, s.host(), parts_->threads[s.host()].time++);
  s.ended = s.launch_known;
}

void CheckedMemory::begin_block(int stream, Block& block) {
  Parts& p = *parts_;
  Parts::StreamState& s = p.streams.at(static_cast<std::size_t>(stream));
  const std::uint64_t index = block.linear();
  Parts::BlockState& state = p.blocks.at(s.first_block + index);
  state.block = &block;
  for (const Thread& thread : block.threads()) {
    ThreadState& t = p.threads[thread.id];
    t.known = s.launch_known;
    t.fences = {};
    t.pending.clear();
    t.poll = {};
    t.last_address = 0;
    Placement& placement = p.threads.placement(thread.id);
    placement.first = t.time;
    placement.live = true;
  }
  if (block.shared().empty()) return;
  Region& shared = state.shared.emplace();
  shared.allocation.name = fmt::format("shared memory of block {} of rank {}", index, s.shape.rank);
  shared.allocation.rank = s.shape.rank;
  shared.begin = shared.base = reinterpret_cast<std::uint64_t>(block.shared().data());
  shared.end = shared.begin + block.shared().size();
  const std::size_t granules = (block.shared().size() + 7) / 8;
  const auto spare = std::find_if(p.spare_shadows.begin(), p.spare_shadows.end(),
                                  [granules](const Shadow& shadow) { return shadow.size() >= granules; });
  if (spare == p.spare_shadows.end()) {
    shared.shadow = Shadow(granules);
  } else {
    shared.shadow = std::move(*spare);
    p.spare_shadows.erase(spare);
  }
  shared.shadow.forget(++p.generation);
}

void CheckedMemory::end_thread(Thread& thread) { parts_->finish(thread); }

void CheckedMemory::end_block(int stream, Block& block) {
  Parts& p = *parts_;
  Parts::StreamState& s = p.streams.at(static_cast<std::size_t>(stream));
  Parts::BlockState& state = p.blocks.at(s.first_block + block.linear());
  VectorClock last;
  for (const Thread& thread : block.threads()) {
    p.threads.release_into(thread.id, s.ended, last);
    p.threads.placement(thread.id).live = false;
  }
  if (state.shared) p.spare_shadows.push_back(std::move(state.shared->shadow));
  state.shared.reset();
  state.block = nullptr;
  state.arrivals = {};
}

void CheckedMemory::end_launch(int stream) {
  Parts::StreamState& s = parts_->streams.at(static_cast<std::size_t>(stream));
  s.known = s.ended;
  s.ended = {};
}

void CheckedMemory::tell_pending() const { parts_->tell_unwritten(); }

void CheckedMemory::host_access(int stream, const void* begin, std::size_t bytes, bool write) {
  Parts& p = *parts_;
  const Parts::StreamState& s = p.streams.at(static_cast<std::size_t>(stream));
  const ThreadId host = s.host();
  const Access access{host, p.threads[host].time, 0, p.step, write ? kWrite : std::uint8_t{0}, &s.known, &s.known};
  auto address = reinterpret_cast<std::uint64_t>(begin);
  Region* const region = p.map.find(address);
  if (!region || !region->contains(address, bytes))
    p.fail(Defect::out_of_bounds, access, fmt::format("{} bytes at {}", bytes, p.map.describe(address)));
  for (const std::uint64_t end = address + bytes; address < end;) {
    const std::uint64_t first = address & 7, last = std::min<std::uint64_t>(8, first + (end - address));
    const auto mask = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << first);
    Granule& granule = p.touch(access, *region, address, mask);
    if (write && granule.location != 0) p.histories.drop(granule, mask, p.woken);
    address += last - first;
  }
}

bool CheckedMemory::polls(std::uint32_t thread) const { return parts_->threads[thread].poll.closed; }
void CheckedMemory::let_poll(std::uint32_t thread) { parts_->threads[thread].poll = {}; }
std::vector<std::uint32_t>& CheckedMemory::woken() { return parts_->woken; }
std::vector<Block*>& CheckedMemory::released() { return parts_->past_barrier; }
const CheckedMemory::Counts& CheckedMemory::counts() const { return parts_->counts; }

void CheckedMemory::fence(Thread& thread, const Instruction& instruction) {
  parts_->finish(thread);
  parts_->threads.fence(thread.id, instruction.order, scope_bits(instruction.scope));
}

void CheckedMemory::proxy_fence(Thread&, const Instruction&) {}  // orders proxies, which are not told apart

void CheckedMemory::barrier_arrive(Thread& thread, int index) {
  parts_->finish(thread);
  auto& arrivals = parts_->blocks[parts_->threads.placement(thread.id).block].arrivals[static_cast<std::size_t>(index)];
  parts_->threads.release_into(thread.id, arrivals.sum, arrivals.last);
  parts_->threads[thread.id].poll = {};
}

void CheckedMemory::barrier_complete(Block& block, int index) {
  Parts& p = *parts_;
  auto& arrivals = p.blocks[p.threads.placement(block.threads()[0].id).block].arrivals[static_cast<std::size_t>(index)];
  for (const Thread& thread : block.threads())
    if (thread.state == Thread::State::at_barrier && thread.barrier == index) p.threads[thread.id].known = arrivals.sum;
  arrivals = {};
  p.past_barrier.push_back(&block);
}

void CheckedMemory::warp_barrier(std::span<Thread> warp, std::uint32_t mask) {
  Threads& threads = parts_->threads;
  VectorClock sum, last;
  for (Thread& thread : warp)
    if ((mask >> thread.lane() & 1) != 0) parts_->finish(thread);
  for (const Thread& thread : warp)
    if ((mask >> thread.lane() & 1) != 0) threads.release_into(thread.id, sum, last);
  for (const Thread& thread : warp)
    if ((mask >> thread.lane() & 1) != 0) {
      threads[thread.id].known = sum;
      threads[thread.id].poll = {};
    }
}

}  // namespace tutti::emulator

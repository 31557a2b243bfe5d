#include "tests/emulator/check/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "tests/emulator/check/memory_parts.hpp"
#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator {
namespace {

/// A scalar of at most 64 bits: what is accessed whole.
std::size_t piece_bytes(const Instruction& i) { return static_cast<std::size_t>(std::min(8, bytes_of(i.type))); }
std::size_t pieces(const Instruction& i) { return i.type == Type::b128 ? i.vector * 2u : i.vector; }
std::size_t total_bytes(const Instruction& i) { return static_cast<std::size_t>(bytes_of(i.type)) * i.vector; }

void read_all(std::uint64_t address, const Instruction& i, std::uint64_t* values) {
  const auto* const from = reinterpret_cast<const std::byte*>(address);
  const std::size_t width = piece_bytes(i), count = pieces(i);
  std::fill_n(values, count, 0u);
  if (width == 4)  // the width of most accesses: a copy that the compiler knows the size of
    for (std::size_t k = 0; k < count; ++k) std::memcpy(values + k, from + k * 4, 4);
  else
    for (std::size_t k = 0; k < count; ++k) std::memcpy(values + k, from + k * width, width);
}

void write_all(std::uint64_t address, const Instruction& i, const std::uint64_t* values) {
  auto* const to = reinterpret_cast<std::byte*>(address);
  const std::size_t width = piece_bytes(i), count = pieces(i);
  if (width == 4)
    for (std::size_t k = 0; k < count; ++k) std::memcpy(to + k * 4, values + k, 4);
  else
    for (std::size_t k = 0; k < count; ++k) std::memcpy(to + k * width, values + k, width);
}

std::uint8_t access_bits(const Instruction& i) {
  std::uint8_t bits = i.non_coherent ? kNonCoherent : std::uint8_t{0};
  if (i.strong()) bits |= kStrong | scope_bits(i.scope);
  return bits;
}

using Order16 = std::array<std::uint8_t, 16>;
/// The numbers below `count` in any order.
Order16 any_order(std::size_t count, std::mt19937_64& random) {
  Order16 order{};
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  if (count > 1)
    for (std::size_t k = count; k-- > 1;) std::swap(order[k], order[random() % (k + 1)]);
  return order;
}

}  // namespace

CheckedMemory::Parts::Step CheckedMemory::Parts::begin(Thread& thread, const Instruction& instruction,
                                                       std::uint8_t bits) {
  if (!unfinished.empty()) finish(thread);
  ThreadState& state = threads[thread.id];
  const auto& stream = streams[static_cast<std::size_t>(blocks[threads.placement(thread.id).block].stream)];
  const Access access{thread.id, state.time, code.of(thread), step, bits, &state.known, &stream.launch_known};
  return {thread, instruction, access, state, stream.shape.rank};
}

Region* CheckedMemory::Parts::region(const Step& now, std::uint64_t address, std::size_t bytes) {
  if (now.instruction.space == Space::local) return nullptr;
  if (now.instruction.space == Space::shared) return &*blocks[threads.placement(now.access.thread).block].shared;
  Region* const found = map.find(address);
  const bool writes = (now.access.bits & kWrite) != 0;
  if (found && found->contains(address, bytes) && !found->freed && !(writes && found->allocation.read_only)) {
    const bool own = found->allocation.rank == now.rank;
    if (own || ((found->allocation.mapped >> now.rank & 1) != 0 && (now.access.bits & kNonCoherent) == 0)) return found;
  }
  if (!found) {
    Block& block = *now.thread.block;
    const auto inside = [&](std::span<const std::byte> space) {
      const auto begin = reinterpret_cast<std::uint64_t>(space.data());
      return address >= begin && address - begin + bytes <= space.size();
    };
    if (inside(block.shared())) return &*blocks[threads.placement(now.access.thread).block].shared;
    if (inside(block.local(now.thread))) return nullptr;
    if (!writes && inside(block.launch().parameters)) return nullptr;
  }
  fail_region(now, address, bytes);
}

void CheckedMemory::Parts::weak(const Step& now, Region& at, std::uint64_t address, std::size_t bytes) {
  const bool writes = (now.access.bits & kWrite) != 0;
  for (const std::uint64_t end = address + bytes; address < end;) {
    const std::uint64_t first = address & 7, last = std::min<std::uint64_t>(8, first + (end - address));
    const auto mask = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << first);
    Granule& granule = touch(now.access, at, address, mask);
    if (writes && granule.location != 0) histories.drop(granule, mask, woken);
    address += last - first;
  }
  if (writes) now.state.poll = {};
}

void CheckedMemory::Parts::load(const Step& now, std::uint64_t address, std::uint64_t* values) {
  const Instruction& i = now.instruction;
  Region* const at = region(now, address, total_bytes(i));
  if (!at || !i.strong()) {
    if (at) weak(now, *at, address, total_bytes(i));
    return read_all(address, i, values);
  }
  const std::size_t count = pieces(i), width = piece_bytes(i);
  const Order16 order = any_order(count, random);
  std::uint32_t writer = 0;
  bool torn = false;
  for (std::size_t k = 0; k < count; ++k) {
    values[order[k]] = strong_load(now, *at, address + order[k] * width, static_cast<std::uint8_t>(width));
    torn |= k != 0 && writer != now.state.last_writer;
    writer = now.state.last_writer;
  }
  if (torn) ++counts.torn_loads;
}

void CheckedMemory::Parts::store(const Step& now, std::uint64_t address, const std::uint64_t* values) {
  const Instruction& i = now.instruction;
  Region* const at = region(now, address, total_bytes(i));
  if (!at || !i.strong()) {
    if (at) weak(now, *at, address, total_bytes(i));
    return write_all(address, i, values);
  }
  const std::size_t count = pieces(i), width = piece_bytes(i);
  const Order16 order = any_order(count, random);
  UnfinishedStore all{&i, at, now.access.instruction, ++step, now.access.bits, {}};
  for (std::size_t k = count; k-- > 0;) all.pieces.push_back({address + order[k] * width, values[order[k]]});
  store_pieces(now, all, count == 1 ? 1 : 1 + random() % count);
  if (!all.pieces.empty()) unfinished[now.access.thread] = std::move(all);
}

void CheckedMemory::Parts::store_pieces(const Step& now, UnfinishedStore& store, std::size_t count) {
  for (; count != 0; --count) {
    const UnfinishedStore::Piece piece = store.pieces.back();
    store.pieces.pop_back();
    Step step_of_piece{now.thread, *store.instruction, now.access, now.state, now.rank};
    step_of_piece.access.time = now.state.time;
    step_of_piece.access.instruction = store.number;
    step_of_piece.access.step = store.step;
    step_of_piece.access.bits = store.bits;
    const VectorClock handed_on =
        releases(store.instruction->order) ? threads.release(now.access.thread) : VectorClock{};
    strong_store(step_of_piece, *store.region, piece.address,
                 static_cast<std::uint8_t>(piece_bytes(*store.instruction)), piece.value, handed_on);
  }
}

/// What a thread does next comes after all of its vector store.
void CheckedMemory::Parts::finish(Thread& thread) {
  const auto found = unfinished.find(thread.id);
  if (found == unfinished.end()) return;
  UnfinishedStore rest = std::move(found->second);
  unfinished.erase(found);
  store_pieces(begin(thread, *rest.instruction, rest.bits), rest, rest.pieces.size());
}

void CheckedMemory::load(Thread& thread, const Instruction& i, std::uint64_t address, std::uint64_t* values) {
  parts_->load(parts_->begin(thread, i, access_bits(i)), address, values);
}

void CheckedMemory::store(Thread& thread, const Instruction& i, std::uint64_t address, const std::uint64_t* values) {
  parts_->store(parts_->begin(thread, i, access_bits(i) | kWrite), address, values);
}

std::uint64_t CheckedMemory::atomic(Thread& thread, const Instruction& i, std::uint64_t address, std::uint64_t operand,
                                    std::uint64_t next) {
  if (i.type == Type::b128 || i.vector != 1) throw Fault(thread, "an atomic of more than 64 bits");
  const auto now = parts_->begin(thread, i, access_bits(i) | kWrite);
  Region* const at = parts_->region(now, address, total_bytes(i));
  if (at && i.strong()) return parts_->exchange(now, *at, address, operand, next);
  if (at) parts_->weak(now, *at, address, total_bytes(i));
  std::uint64_t old;
  read_all(address, i, &old);
  const std::uint64_t value =
      apply_atomic(static_cast<AtomicOperation>(i.operation), i.type, extended(old, i.type), operand, next);
  write_all(address, i, &value);
  return old;
}

// A replica is accessed as if by a plain instruction of the same order and scope: see the top of memory.hpp.

void CheckedMemory::multimem_load(Thread& thread, const Instruction& i, std::uint64_t address, std::uint64_t* values) {
  const MulticastWindow* const window = parts_->map.window(address);
  const auto now = parts_->begin(thread, i, access_bits(i));
  if (!window || address - window->begin + total_bytes(i) > window->bytes)
    parts_->fail(Defect::out_of_bounds, now.access, "an address outside every multicast window");
  for (std::size_t r = 0; r < window->replicas.size(); ++r) {
    std::uint64_t read[16];
    parts_->load(now, window->replicas[r] + (address - window->begin), read);
    for (std::size_t k = 0; k < pieces(i); ++k)
      values[k] = r == 0 ? read[k]
                         : apply_atomic(static_cast<AtomicOperation>(i.operation), i.type, extended(values[k], i.type),
                                        extended(read[k], i.type), 0);
  }
}

void CheckedMemory::multimem_store(Thread& thread, const Instruction& i, std::uint64_t address,
                                   const std::uint64_t* values) {
  const MulticastWindow* const window = parts_->map.window(address);
  const auto now = parts_->begin(thread, i, access_bits(i) | kWrite);
  if (!window || address - window->begin + total_bytes(i) > window->bytes)
    parts_->fail(Defect::out_of_bounds, now.access, "an address outside every multicast window");
  // Each begins anew: what a vector store has left for later at one replica comes before the next.
  for (const std::uint64_t replica : window->replicas)
    parts_->store(parts_->begin(thread, i, access_bits(i) | kWrite), replica + (address - window->begin), values);
}

void CheckedMemory::multimem_reduce(Thread& thread, const Instruction& i, std::uint64_t address,
                                    const std::uint64_t* values) {
  const MulticastWindow* const window = parts_->map.window(address);
  const auto now = parts_->begin(thread, i, access_bits(i) | kWrite);
  if (!window || address - window->begin + total_bytes(i) > window->bytes)
    parts_->fail(Defect::out_of_bounds, now.access, "an address outside every multicast window");
  if (!i.strong()) parts_->fail(Defect::data_race, now.access, "a weak multimem.red");
  for (const std::uint64_t replica : window->replicas)
    for (std::size_t k = 0; k < pieces(i); ++k) {
      const std::uint64_t at = replica + (address - window->begin) + k * piece_bytes(i);
      parts_->exchange(now, *parts_->region(now, at, piece_bytes(i)), at, values[k], 0);
    }
}

}  // namespace tutti::emulator

#include "kernels/timed_places.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>

namespace tutti::timed {
namespace {

constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kPage = 4096;
// Of each rank. Without data no memory is behind them, and they lie where no memory can be.
constexpr int kAddressBits = 40;
constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 60;
constexpr int kRealBits = 33;

char* reserve(std::size_t bytes, int protection) {
  void* const at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(at);
}

}  // namespace

Places::Places(const Geometry& geometry, Backing backing) : layout_(layout_of(geometry)), backing_(backing) {
  const auto ranks = static_cast<std::size_t>(geometry.ranks);
  arena_bits_ = std::bit_width(layout_.bytes + kStaggers * kStagger);
  arenas_bytes_ = ranks << arena_bits_;
  buffer_bits_ = backing == Backing::real ? kRealBits : kAddressBits;
  buffers_bytes_ = ranks << buffer_bits_;
  if (buffers_bytes_ >= kNowhere) throw std::bad_alloc();
  arenas_ = reserve(arenas_bytes_, PROT_READ | PROT_WRITE);
  // Hundreds of ranks touch a few pages each: none of them need be large.
  madvise(arenas_, arenas_bytes_, MADV_NOHUGEPAGE);
  try {
    buffers_ = backing == Backing::real ? reserve(buffers_bytes_, PROT_NONE) : reinterpret_cast<char*>(kNowhere);
  } catch (...) {
    munmap(arenas_, arenas_bytes_);
    throw;
  }
  taken_.assign(ranks, 0);
  segment_of_.reserve(ranks * kMostSegments);  // teams point to it
  for (int r = 0; r < geometry.ranks; ++r) {
    const auto arenas = reinterpret_cast<char**>(arena(r) + layout_.arenas);
    const auto members = reinterpret_cast<int*>(arena(r) + layout_.members);
    for (int peer = 0; peer < geometry.ranks; ++peer) {
      arenas[peer] = arena(peer);
      members[peer] = peer;
    }
    teams_.push_back({.arena = arena(r),
                      .rank = r,
                      .segments = segment_of_.data(),
                      .segment_ranks = geometry.ranks,
                      .layout = layout_});
  }
}

Places::~Places() {
  munmap(arenas_, arenas_bytes_);
  if (backing_ == Backing::real) munmap(buffers_, buffers_bytes_);
}

char* Places::take(int rank, std::size_t offset, std::size_t bytes) {
  char* const at = buffers_ + (static_cast<std::size_t>(rank) << buffer_bits_) + offset;
  if (backing_ == Backing::real && mprotect(at, ceil_div(bytes, kPage) * kPage, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  return at;
}

/// Room for `bytes` from `at` on, and the page after it, which nobody touches.
static std::size_t after(std::size_t at, std::size_t bytes, std::size_t end) {
  if (bytes > end || at + (ceil_div(bytes, kPage) + 1) * kPage > end) throw std::bad_alloc();
  return at + (ceil_div(bytes, kPage) + 1) * kPage;
}

char* Places::allocate(int rank, std::size_t bytes) {
  const std::size_t offset = taken_[static_cast<std::size_t>(rank)];
  taken_[static_cast<std::size_t>(rank)] =
      after(offset, std::max<std::size_t>(bytes, 1), std::size_t{1} << (buffer_bits_ - 1));
  return take(rank, offset, std::max<std::size_t>(bytes, 1));
}

int Places::allocate_segment(std::size_t bytes) {
  if (segments_.size() == kMostSegments) throw std::length_error("a world in virtual time has at most 64 segments");
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::size_t offset =
      segments_.empty() ? std::size_t{1} << (buffer_bits_ - 1)
                        : after(segments_.back().offset, segments_.back().bytes, std::size_t{1} << buffer_bits_);
  after(offset, size, std::size_t{1} << buffer_bits_);
  for (int r = 0; r < layout_.geometry.ranks; ++r) segment_of_.push_back(take(r, offset, size));
  segments_.push_back({offset, size});
  return static_cast<int>(segments_.size()) - 1;
}

char* Places::segment(int number, int rank) const {
  return segment_of_[static_cast<std::size_t>(number) * teams_.size() + static_cast<std::size_t>(rank)];
}

Place Places::place_of(const void* at) const {
  const std::uintptr_t offset = address(at) - address(buffers_);
  if (offset >= buffers_bytes_) return {};
  const std::size_t within = offset & ((std::size_t{1} << buffer_bits_) - 1);
  for (std::size_t s = 0; s < segments_.size(); ++s)
    if (within >= segments_[s].offset && within < segments_[s].offset + segments_[s].bytes)
      return place(static_cast<int>(s), within - segments_[s].offset);
  return {};
}

At Places::at(const void* where, std::span<const Launch> calls) const {
  if (in_arena(where)) return in_arena_at(where);
  At at{.rank = owner(where)};
  // The buffer whose begin is next below.
  std::uintptr_t begin = 0;
  const auto look = [&](const void* buffer, At::Kind kind) {
    const std::uintptr_t its = address(buffer);
    if (its == 0 || its > address(where) || its < begin || owner(buffer) != at.rank) return;
    begin = its;
    at.kind = kind;
  };
  for (const Launch& launch : calls) {
    look(launch.call.in, At::Kind::in);
    look(launch.call.out, At::Kind::out);
  }
  at.offset = begin ? address(where) - begin : 0;
  return at;
}

At Places::in_arena_at(const void* where) const {
  const Geometry& g = layout_.geometry;
  const auto slots = static_cast<std::size_t>(g.slots), ranks = static_cast<std::size_t>(g.ranks);
  At at{.rank = owner(where)};
  const std::size_t offset = address(where) - address(arena(at.rank));
  if (offset >= layout_.p2p) {
    const std::size_t i = (offset - layout_.p2p) / layout_.p2p_stride();
    const std::size_t within = (offset - layout_.p2p) % layout_.p2p_stride();
    at.kind = At::Kind::message;
    at.slot = static_cast<int>(i % static_cast<std::size_t>(g.p2p_slots));
    at.sender = static_cast<int>(i / static_cast<std::size_t>(g.p2p_slots) % ranks);
    at.offset = within < sizeof(Header) ? 0 : within - sizeof(Header);
  } else if (offset >= layout_.slots) {
    at.kind = At::Kind::inbox;
    const std::size_t within = offset - layout_.slots;
    at.slot = static_cast<int>(within / g.slot_bytes % slots);
    at.offset = within % g.slot_bytes;
  } else if (offset >= layout_.packets) {
    const std::size_t i = (offset - layout_.packets) / layout_.packet_stride();
    at.kind = At::Kind::packets;
    at.sender = static_cast<int>(i % ranks);
    at.slot = static_cast<int>(i / ranks % 2);
  }
  return at;
}

}  // namespace tutti::timed

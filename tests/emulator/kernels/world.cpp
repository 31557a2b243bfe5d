#include "tests/emulator/kernels/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti::emulator {
namespace {

constexpr std::size_t kMostSegments = 8;
constexpr std::size_t kAlignment = 4096;
constexpr std::uint64_t kForEver = std::uint64_t{1} << 62;

const char* text_of(WaitFailure failure) {
  switch (failure) {
    case WaitFailure::none: return "none";
    case WaitFailure::timeout: return "time-out";
    case WaitFailure::peer_failed: return "a peer has failed";
    case WaitFailure::failed_here: return "another block has failed";
    case WaitFailure::mismatch: return "mismatched calls";
    case WaitFailure::unmapped: return "a segment that is not mapped";
  }
  return "?";
}

std::size_t report_bytes(const Geometry& g) {
  return sizeof(FailureRecord) * (1 + static_cast<std::size_t>(g.ranks) * static_cast<std::size_t>(g.blocks));
}

}  // namespace

World::World(CheckedMemory& memory, const Geometry& geometry) : memory_(memory), layout_(layout_of(geometry)) {
  const auto ranks = static_cast<std::size_t>(geometry.ranks);
  const std::size_t records_bytes = report_bytes(geometry);
  for (int r = 0; r < geometry.ranks; ++r) {
    Team team;
    team.rank = r;
    team.layout = layout_;
    team.segment_ranks = geometry.ranks;
    team.arena = take(fmt::format("arena of rank {}", r), r, layout_.bytes, true);
    char* const table =
        take(fmt::format("table of segments of rank {}", r), r, kMostSegments * ranks * sizeof(char*), false);
    team.segments = reinterpret_cast<char* const*>(table);
    tables_.push_back(table);
    memory_.initialise(table, kMostSegments * ranks * sizeof(char*));
    teams_.push_back(team);
    name_parts(r);
    // What kernels may read before anybody wrote it: not what lies in slots.
    memory_.initialise(team.arena, layout_.slots);
    char* const reports = take(fmt::format("reports of rank {}", r), r, records_bytes, false);
    failed_.push_back(reinterpret_cast<std::uint64_t*>(reports));
    records_.push_back(reinterpret_cast<FailureRecord*>(reports) + 1);
    memory_.initialise(reports, records_bytes);
  }
}

Reports World::reports(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return {failed_[r], records_[r], kForEver};
}

char* World::take(const std::string& name, int rank, std::size_t bytes, bool all_map, bool read_only) {
  auto& storage = storage_.emplace_back(bytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  char* const begin = reinterpret_cast<char*>(storage.data() + (kAlignment - address % kAlignment) % kAlignment);
  memory_.add({.name = name,
               .rank = rank,
               .device = rank,
               .begin = begin,
               .bytes = bytes,
               .mapped = all_map ? ~std::uint64_t{0} : 0,
               .read_only = read_only});
  return begin;
}

/// Says what the parts of an arena are for.
void World::name_parts(int rank) {
  const Geometry& g = layout_.geometry;
  char* const arena = teams_[static_cast<std::size_t>(rank)].arena;
  constexpr const char* purposes[kPurposes] = {"data", "credit", "enter", "leave", "p2p_data", "p2p_credit"};
  using Part = NamedRange::Kind;
  const auto part = [&](Part kind, std::size_t at, std::size_t bytes, std::string name) {
    if (bytes != 0) memory_.name({.kind = kind, .begin = arena + at, .bytes = bytes, .name = std::move(name)});
  };
  const auto flag_bytes = sizeof(Flag);
  for (int p = 0; p < kPurposes; ++p)
    for (int b = 0; b < g.blocks; ++b)
      for (int from = 0; from < g.ranks; ++from)
        part(Part::flag, layout_.flags + flag_bytes * static_cast<std::size_t>((p * g.blocks + b) * g.ranks + from),
             flag_bytes, fmt::format("flag {} of rank {}, block {}, set by rank {}", purposes[p], rank, b, from));
  for (int half = 0; half < 2; ++half)
    for (int b = 0; b < g.blocks; ++b)
      for (int from = 0; from < g.ranks; ++from)
        part(Part::slot,
             layout_.entries + sizeof(Entry) * static_cast<std::size_t>((half * g.blocks + b) * g.ranks + from),
             sizeof(Entry), fmt::format("entry {} of rank {}, block {}, written by rank {}", half, rank, b, from));
  for (int b = 0; b < g.packet_blocks; ++b)
    for (int half = 0; half < 2; ++half)
      for (int from = 0; from < g.ranks; ++from)
        part(Part::packet,
             layout_.packets + layout_.packet_stride() * static_cast<std::size_t>((b * 2 + half) * g.ranks + from),
             layout_.packet_stride(),
             fmt::format("packets of rank {}, block {}, half {}, put by rank {}", rank, b, half, from));
  for (int b = 0; b < g.blocks; ++b)
    for (int slot = 0; slot < g.slots; ++slot) {
      const std::size_t at = g.slot_bytes * static_cast<std::size_t>(b * g.slots + slot);
      part(Part::slot, layout_.slots + at, g.slot_bytes, fmt::format("slot {} of rank {}, block {}", slot, rank, b));
    }
  for (int b = 0; b < g.message_blocks; ++b)
    for (int from = 0; from < g.ranks; ++from)
      for (int slot = 0; slot < g.p2p_slots; ++slot)
        part(Part::slot,
             layout_.p2p + layout_.p2p_stride() * static_cast<std::size_t>((b * g.ranks + from) * g.p2p_slots + slot),
             layout_.p2p_stride(),
             fmt::format("message slot {} of rank {}, block {}, filled by rank {}", slot, rank, b, from));
}

char* World::allocate(int rank, std::size_t bytes) {
  char* const begin = take(fmt::format("private memory {} of rank {}", storage_.size(), rank), rank, bytes, false);
  memory_.initialise(begin, bytes);
  return begin;
}

int World::allocate_segment(std::size_t bytes) {
  if (segments_.size() == kMostSegments) throw std::runtime_error("World: no room for another segment");
  Segment segment{bytes, {}};
  const int number = static_cast<int>(segments_.size());
  for (int r = 0; r < geometry().ranks; ++r) {
    segment.bases.push_back(take(fmt::format("segment {} of rank {}", number, r), r, bytes, true));
    memory_.initialise(segment.bases.back(), bytes);
  }
  // Addresses of nothing else.
  auto& reserved = storage_.emplace_back(bytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(reserved.data());
  MulticastWindow window{ceil_div(address, kAlignment) * kAlignment, bytes, {}};
  for (const char* base : segment.bases) window.replicas.push_back(reinterpret_cast<std::uint64_t>(base));
  memory_.add(window);
  windows_.push_back(std::move(window));
  segments_.push_back(std::move(segment));
  return number;
}

char* World::segment(int number, int rank) const {
  return segments_[static_cast<std::size_t>(number)].bases[static_cast<std::size_t>(rank)];
}

tutti::Place World::place_of(const void* at) const {
  const auto* const byte = static_cast<const char*>(at);
  for (std::size_t s = 0; s < segments_.size(); ++s)
    for (const char* base : segments_[s].bases)
      if (byte >= base && byte < base + segments_[s].bytes)
        return tutti::place(static_cast<int>(s), static_cast<std::size_t>(byte - base));
  return {};
}

char* World::multicast_of(const void* at) const {
  const tutti::Place place = place_of(at);
  if (!place.mapped()) return nullptr;
  return reinterpret_cast<char*>(windows_[static_cast<std::size_t>(place.segment())].begin + place.offset());
}

const Image* World::image(int rank, const Module& module) {
  for (const Loaded& loaded : images_)
    if (loaded.rank == rank && loaded.image.module == &module) return &loaded.image;
  Loaded& loaded = images_.emplace_back(Loaded{rank, {&module, {}}});
  for (const Variable& variable : module.variables()) {
    auto& storage = storage_.emplace_back(variable.bytes + std::size_t{variable.alignment});
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    std::byte* const begin = storage.data() + (variable.alignment - address % variable.alignment) % variable.alignment;
    std::memcpy(begin, variable.initial.data(), std::min<std::size_t>(variable.initial.size(), variable.bytes));
    loaded.image.variables.push_back(reinterpret_cast<std::uint64_t>(begin));
  }
  memory_.add_variables(loaded.image, rank, rank);
  return &loaded.image;
}

void World::reset(std::uint64_t packet_uses) {
  const auto ranks = static_cast<std::size_t>(geometry().ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    char* const arena = teams_[r].arena;
    std::memset(arena, 0, layout_.slots);
    std::memset(arena + layout_.slots, 0xa5, layout_.bytes - layout_.slots);
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      const auto column = static_cast<int>(peer);
      std::memcpy(arena + layout_.arenas + peer * sizeof(char*), &teams_[peer].arena, sizeof(char*));
      std::memcpy(arena + layout_.members + peer * sizeof(int), &column, sizeof column);
      for (std::size_t s = 0; s < segments_.size(); ++s)
        std::memcpy(tables_[r] + (s * ranks + peer) * sizeof(char*), &segments_[s].bases[peer], sizeof(char*));
    }
    static_assert(static_cast<int>(tutti::Region::packets) == 0);
    for (int b = 0; b < geometry().blocks; ++b)
      std::memcpy(arena + layout_.uses + static_cast<std::size_t>(b) * sizeof packet_uses, &packet_uses,
                  sizeof packet_uses);
    std::memset(failed_[r], 0, report_bytes(geometry()));
  }
}

std::string World::failure(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  if (*failed_[r] == 0) return "";
  for (int b = 0; b < geometry().blocks; ++b)
    for (int peer = 0; peer < geometry().ranks; ++peer) {
      const FailureRecord& record = records_[r][b * geometry().ranks + peer];
      if (record.kind == 0) continue;
      return fmt::format("rank {} block {} gave up waiting for rank {}: {}, purpose {}, wanted {}, saw {}", rank, b,
                         peer, text_of(static_cast<WaitFailure>(record.kind)), record.purpose, record.wanted,
                         record.seen);
    }
  return fmt::format("rank {} reported a failure without a record", rank);
}

}  // namespace tutti::emulator

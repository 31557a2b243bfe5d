#include "kernels/model_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace tutti::model {
namespace {

std::size_t sized(int n) { return static_cast<std::size_t>(n); }

std::string of_block(std::size_t block) { return std::string(" of block ").append(std::to_string(block)); }
/// Slots that each call cuts as it likes are one unit.
std::size_t slots_apart(const Geometry& g) { return g.cut ? 1 : sized(g.slots); }
std::string slot_text(const Layout& l, std::size_t i) {
  if (l.geometry.cut) return std::string("the slots").append(of_block(i));
  const std::size_t slots = slots_apart(l.geometry);
  return std::string("slot ").append(std::to_string(i % slots)).append(of_block(i / slots));
}

std::array<UnitKind, 5> kinds_of(const Layout& l) {
  const Geometry& g = l.geometry;
  const std::size_t ranks = sized(g.ranks), slots = sized(g.blocks) * slots_apart(g);
  return {{{l.entries, sizeof(Entry), 2 * sized(g.blocks) * ranks,
            [](const Layout& layout, std::size_t i) {
              const std::size_t n = sized(layout.geometry.ranks);
              return std::string("entry of rank ")
                  .append(std::to_string(i % n))
                  .append(of_block(i / n % sized(layout.geometry.blocks)));
            }},
           {l.packets, l.packet_stride(), 2 * sized(g.packet_blocks) * ranks,
            [](const Layout& layout, std::size_t i) {
              const std::size_t n = sized(layout.geometry.ranks);
              return std::string("packets of rank ")
                  .append(std::to_string(i % n))
                  .append(", half ")
                  .append(std::to_string(i / n % 2))
                  .append(of_block(i / n / 2));
            }},
           {l.slots, g.slot_bytes * sized(g.slots) / slots_apart(g), slots, slot_text},
           {l.invitations, sizeof(Header), sized(g.message_blocks) * ranks,
            [](const Layout& layout, std::size_t i) {
              const std::size_t n = sized(layout.geometry.ranks);
              return std::string("invitation of rank ").append(std::to_string(i % n)).append(of_block(i / n));
            }},
           {l.p2p, l.p2p_stride(), sized(g.message_blocks) * ranks * sized(g.p2p_slots),
            [](const Layout& layout, std::size_t i) {
              const std::size_t n = sized(layout.geometry.ranks), each = sized(layout.geometry.p2p_slots);
              return std::string("message slot ")
                  .append(std::to_string(i % each))
                  .append(" of rank ")
                  .append(std::to_string(i / each % n))
                  .append(of_block(i / each / n));
            }}}};
}

/// Small arenas that wait for their next model: mapping one costs more than a small run.
class Arenas {
 public:
  ~Arenas() {
    for (auto& [bytes, arenas] : free_)
      for (char* arena : arenas) munmap(arena, bytes);
  }
  /// All zero.
  char* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<char*>& arenas = free_[bytes];
      if (!arenas.empty()) {
        char* const arena = arenas.back();
        arenas.pop_back();
        return static_cast<char*>(std::memset(arena, 0, bytes));
      }
    }
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<char*>(pages);
  }
  void give(char* arena, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<char*>& arenas = free_[bytes];
    if (bytes > kSmall || arenas.size() >= kKept)
      munmap(arena, bytes);
    else
      arenas.push_back(arena);
  }

 private:
  static constexpr std::size_t kSmall = std::size_t{128} << 10;  // of larger ones most pages are never touched
  static constexpr std::size_t kKept = 16;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<char*>> free_;
};

Arenas& arenas() {
  static Arenas all;
  return all;
}

}  // namespace

void Memory::Free::operator()(char* at) const {
  if (arena_bytes > 0)
    arenas().give(at, arena_bytes);
  else
    std::free(at);
}

Piece& Memory::add(std::unique_ptr<char, Free> bytes, std::size_t size, std::string name, int rank) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.get());
  bytes_.push_back(std::move(bytes));
  auto piece = std::make_unique<Piece>();
  piece->begin = begin;
  piece->end = begin + size;
  piece->name = std::move(name);
  piece->rank = rank;
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                      [](std::uintptr_t at, const auto& p) { return at < p->begin; });
  return **pieces_.insert(after, std::move(piece));
}

char* Memory::allocate_arena(int rank, const Layout& layout, const std::string& name) {
  char* const at = arenas().take(layout.bytes);
  Piece& piece = add({at, Free{layout.bytes}}, layout.bytes, name, rank);
  piece.layout = &layout;
  std::size_t units = 0;
  piece.kinds = kinds_of(layout);
  for (const UnitKind& k : piece.kinds) units += k.units;
  piece.units.resize(units);
  return at;
}

/// A buffer ends where the sanitizer notices.
char* Memory::allocate(int rank, std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  std::unique_ptr<char, Free> memory(static_cast<char*>(std::calloc(size, 1)), Free{0});
  if (!memory) throw std::bad_alloc();
  char* const at = memory.get();
  add(std::move(memory), size, std::string("memory of rank ").append(std::to_string(rank)), rank).units.resize(1);
  return at;
}

int Memory::allocate_segment(std::size_t bytes) {
  const int number = static_cast<int>(segments_.size() / ranks_);
  if (segments_.size() + ranks_ > segments_.capacity()) throw std::bad_alloc();
  for (int r = 0; r < static_cast<int>(ranks_); ++r) {
    segments_.push_back(allocate(r, bytes));
    Piece& piece = *unit_of(reinterpret_cast<std::uintptr_t>(segments_.back())).piece;
    piece.segment = number;
    piece.name = std::string("segment ").append(std::to_string(number)).append(" of rank ").append(std::to_string(r));
  }
  return number;
}

const Piece* Memory::piece_of(const void* at) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                      [](std::uintptr_t a, const auto& p) { return a < p->begin; });
  if (after == pieces_.begin()) return nullptr;
  const Piece* const piece = std::prev(after)->get();
  return address < piece->end ? piece : nullptr;
}

Place Memory::place_of(const void* at) const {
  const Piece* const piece = piece_of(at);
  return piece && piece->segment >= 0 ? place(piece->segment, reinterpret_cast<std::uintptr_t>(at) - piece->begin)
                                      : Place{};
}

Unit Memory::unit_of(std::uintptr_t at) {
  auto* const piece = const_cast<Piece*>(piece_of(reinterpret_cast<const void*>(at)));
  if (!piece) return {.begin = at, .end = at};
  if (!piece->layout) return {.begin = piece->begin, .end = piece->end, .piece = piece, .history = &piece->units[0]};
  const std::size_t offset = at - piece->begin;
  std::size_t before = 0;
  for (const UnitKind& k : piece->kinds) {
    if (offset >= k.at && offset < k.at + k.stride * k.units) {
      const std::size_t i = (offset - k.at) / k.stride;
      const std::uintptr_t begin = piece->begin + k.at + i * k.stride;
      return {begin, begin + k.stride, piece, &piece->units[before + i], &k, i};
    }
    before += k.units;
  }
  return {.begin = at, .end = at, .piece = piece};
}

std::string Memory::text_of(std::uintptr_t begin, std::uintptr_t end) {
  const Unit unit = unit_of(begin);
  std::string text = "[";
  text.append(std::to_string(begin - unit.begin)).append(", ").append(std::to_string(end - unit.begin)).append(") of ");
  if (!unit.piece) return text.append("no memory of the model");
  if (unit.kind) text.append(unit.kind->text(*unit.piece->layout, unit.index)).append(" in the ");
  if (!unit.history) text.append("no slot in the ");
  return text.append(unit.piece->name);
}

}  // namespace tutti::model

// Where the model's memory is, and how reports call it.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "kernels/model.hpp"

namespace tutti::model {

char* Model::add_piece(std::size_t bytes, std::string name, int rank, bool arena, int segment) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  // Arenas are aligned, and mostly never touched; a buffer ends where the sanitizer notices.
  if (arena) {
    void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    memory_.emplace_back(static_cast<char*>(pages), Free{size});
  } else {
    memory_.emplace_back(static_cast<char*>(std::calloc(size, 1)), Free{0});
    if (!memory_.back()) throw std::bad_alloc();
  }
  char* const at = memory_.back().get();
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  pieces_[begin + size] = {begin, begin + size, std::move(name), rank, arena, segment};
  return at;
}

void Model::Free::operator()(char* at) const {
  if (pages_bytes > 0)
    munmap(at, pages_bytes);
  else
    std::free(at);
}

char* Model::allocate(int rank, std::size_t bytes) {
  return add_piece(bytes, "memory of rank " + std::to_string(rank), rank, false, -1);
}

int Model::allocate_segment(std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(geometry().ranks);
  const int number = static_cast<int>(segments_.size() / ranks);
  if (segments_.size() + ranks > segments_.capacity()) throw std::bad_alloc();
  for (int r = 0; r < geometry().ranks; ++r)
    segments_.push_back(
        add_piece(bytes, "segment " + std::to_string(number) + " of rank " + std::to_string(r), r, false, number));
  return number;
}

char* Model::segment(int number, int rank) const {
  return segments_[static_cast<std::size_t>(number) * static_cast<std::size_t>(geometry().ranks) +
                   static_cast<std::size_t>(rank)];
}

const Model::Piece* Model::piece_of(std::uintptr_t at) const {
  const auto found = pieces_.upper_bound(at);
  return found != pieces_.end() && found->second.begin <= at ? &found->second : nullptr;
}

Place Model::place_of(const void* at) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const Piece* const piece = piece_of(address);
  return piece && piece->segment >= 0 ? place(piece->segment, address - piece->begin) : Place{};
}

/// The buffer, slot, entry or packets that `at` falls into.
Model::Unit Model::unit_of(std::uintptr_t at) const {
  const Piece* const piece = piece_of(at);
  if (!piece) return {at, at};
  if (!piece->arena) return {piece->begin, piece->end, "", piece};
  const Geometry& g = geometry();
  const auto ranks = static_cast<std::size_t>(g.ranks), blocks = static_cast<std::size_t>(g.blocks);
  const auto slots = static_cast<std::size_t>(g.slots), p2p_slots = static_cast<std::size_t>(g.p2p_slots);
  const auto packet_blocks = static_cast<std::size_t>(g.packet_blocks);
  const auto message_blocks = static_cast<std::size_t>(g.message_blocks);
  struct Kind {
    const char* name;
    std::size_t at, stride, units;
    std::size_t per_block;
  };
  const Kind kinds[] = {
      {"entry", layout_.entries, sizeof(Entry), 2 * blocks * ranks, ranks},
      {"packets", layout_.packets, layout_.packet_stride(), 2 * packet_blocks * ranks, 2 * ranks},
      {"inbox slot", layout_.inbox, g.slot_bytes, blocks * slots, slots},
      {"outbox slot", layout_.outbox, g.slot_bytes, blocks * slots, slots},
      {"message slot", layout_.p2p, layout_.p2p_stride(), message_blocks * ranks * p2p_slots, ranks * p2p_slots},
  };
  const std::size_t offset = at - piece->begin;
  for (const Kind& k : kinds) {
    if (k.stride == 0 || offset < k.at || offset >= k.at + k.stride * k.units) continue;
    const std::size_t i = (offset - k.at) / k.stride;
    const std::uintptr_t begin = piece->begin + k.at + i * k.stride;
    return {begin, begin + k.stride, k.name, piece, i % k.per_block, i / k.per_block % blocks};
  }
  return {at, at, "no slot", piece};  // flags and counts are no business of copies
}

std::string Model::text_of(const Strand& s) const { return who(mark_of(s, false)); }

/// Who did it, in which word of which call.
std::string Model::who(const Mark& mark) const {
  const Strand& s = strands_[static_cast<std::size_t>(mark.strand)];
  std::string text = s.block < 0 ? "the caller on rank " : "rank ";
  text += std::to_string(s.rank);
  if (s.block < 0) return text.append(", around its ").append(mark.kernel);
  text.append(" block ").append(std::to_string(s.block)).append(" in ").append(mark.kernel);
  text.append(", call ").append(std::to_string(mark.call)).append(", step ").append(std::to_string(mark.step));
  text.append(", word ").append(std::to_string(mark.ordinal)).append(" (").append(name_of(mark.word));
  return text.append(" at ").append(mark.line.text()).append(")");
}

std::string Model::text_of(const Mark& mark) const { return who(mark).append(mark.write ? ", writes" : ", reads"); }

std::string Model::text_of(std::uintptr_t begin, std::uintptr_t end) const {
  const Unit unit = unit_of(begin);
  const std::string where =
      std::string("[") + std::to_string(begin - unit.begin) + ", " + std::to_string(end - unit.begin) + ") of ";
  if (!unit.piece) return where + "no memory of the model";
  if (!*unit.kind) return where + unit.piece->name;
  return where + unit.kind + " " + std::to_string(unit.index) + " of block " + std::to_string(unit.block) + " in the " +
         unit.piece->name;
}

std::string Model::text_of(const Wait& wait) const {
  if (!wait.flag) return "its turn";
  const auto relative = [&](std::uint64_t count) { return std::to_string(static_cast<Count>(count - wait.base)); };
  std::string text = wait.what;
  if (wait.peer >= 0) text += " from rank " + std::to_string(wait.peer);
  return text + ", wants " + relative(wait.wanted) + ", sees " +
         relative(wait.tag ? static_cast<std::uint32_t>(*wait.flag) : *wait.flag);
}

}  // namespace tutti::model

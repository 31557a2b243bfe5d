// The model's memory: buffers, segments and arenas, what has happened to each byte, and how reports call them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/connection.hpp"
#include "kernels/model_races.hpp"

namespace tutti::model {

/// Entries, slots of one kind, or messages by packets: where those of an arena stand, and how reports call one.
struct UnitKind {
  std::size_t at = 0, stride = 0, units = 0;
  std::string (*text)(const Layout& layout, std::size_t index) = nullptr;
};

/// One allocation.
struct Piece {
  std::uintptr_t begin = 0, end = 0;
  std::string name;
  int rank = -1;                    ///< of the session: whose
  int segment = -1;                 ///< which, if it is of one
  const Layout* layout = nullptr;   ///< of an arena
  std::array<UnitKind, 5> kinds{};  ///< the same
  std::vector<History> units;       ///< one, or one of each entry, slot and message by packets in an arena
};

/// A buffer, or a slot, entry or message by packets in an arena.
struct Unit {
  std::uintptr_t begin = 0, end = 0;
  Piece* piece = nullptr;          ///< null: no memory of the model
  History* history = nullptr;      ///< null: of the arena, but no business of copies
  const UnitKind* kind = nullptr;  ///< of an arena's
  std::size_t index = 0;

  Contents contents() const { return kind ? Contents::passing : Contents::buffer; }
};

class Memory {
 public:
  explicit Memory(int ranks) : ranks_(static_cast<std::size_t>(ranks)) { segments_.reserve(ranks_ * kMostSegments); }

  char* allocate(int rank, std::size_t bytes);
  char* allocate_arena(int rank, const Layout& layout, const std::string& name);
  int allocate_segment(std::size_t bytes);
  char* segment(int number, int rank) const {
    return segments_[static_cast<std::size_t>(number) * ranks_ + static_cast<std::size_t>(rank)];
  }
  /// [segment][rank]; stays where it is.
  char* const* segments() const { return segments_.data(); }

  const Piece* piece_of(const void* at) const;
  Unit unit_of(std::uintptr_t at);
  /// Nowhere if it is in no segment.
  Place place_of(const void* at) const;
  /// "[0, 64) of slot 1 of block 0 in the arena of rank 2"
  std::string text_of(std::uintptr_t begin, std::uintptr_t end);

 private:
  static constexpr std::size_t kMostSegments = 256;
  struct Free {
    std::size_t arena_bytes;  // 0: from the heap
    void operator()(char* at) const;
  };
  Piece& add(std::unique_ptr<char, Free> bytes, std::size_t size, std::string name, int rank);

  std::size_t ranks_;
  std::vector<std::unique_ptr<char, Free>> bytes_;
  std::vector<std::unique_ptr<Piece>> pieces_;  // by begin
  std::vector<char*> segments_;
};

}  // namespace tutti::model

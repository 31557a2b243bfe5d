// How a call's elements are cut: chunks (one per rank), bands (one per block), slices (what moves at once).
#pragma once
#include "kernels/connection.hpp"

namespace tutti {

/// Elements per line, so that cuts of aligned buffers fall on lines.
TUTTI_HD std::size_t line_of(const Call& call) { return kLine / call.element(); }

/// This block's band of a chunk of `elements`.
TUTTI_HD Range band_of(const Connections& block, const Call& call, std::size_t elements) {
  return part(elements, static_cast<std::size_t>(block.count()), static_cast<std::size_t>(block.index()),
              line_of(call));
}

/// Rounds in which every block moves its band of `elements`, `slice` of them at a time: those of the largest band, so
/// the same for all blocks.
TUTTI_HD Count slice_rounds(const Connections& block, const Call& call, std::size_t elements, std::size_t slice) {
  const std::size_t largest = part(elements, static_cast<std::size_t>(block.count()), 0, line_of(call)).size();
  return static_cast<Count>(ceil_div(largest, slice));
}

/// Bytes of a slot that holds this block's band of `elements`.
TUTTI_HD std::size_t slot_for(const Connections& block, const Call& call, std::size_t elements) {
  const std::size_t band = part(elements, static_cast<std::size_t>(block.count()), 0, line_of(call)).size();
  return ceil_div(band * call.element(), kLine) * kLine;
}

/// The same for a chunk of `elements` of each rank.
TUTTI_HD std::size_t slot_for_all(const Connections& block, const Call& call, std::size_t elements) {
  return slot_for(block, call, elements) * static_cast<std::size_t>(block.size());
}

/// One chunk per rank, or so many chunks, this block's band of each, cut into slices that fit `slot_bytes`.
/// `rounds` is the same for every chunk, rank and block: it follows from the largest band.
class Chunks {
 public:
  /// `spread`: the call's count is shared out over the chunks (all-reduce); else every rank's chunk has call.count.
  TUTTI_HD Chunks(const Connections& block, const Call& call, bool spread, std::size_t slot_bytes)
      : Chunks(block, call, spread, slot_bytes, block.size()) {}
  TUTTI_HD Chunks(const Connections& block, const Call& call, bool spread, std::size_t slot_bytes, int chunks)
      : spread_(spread),
        count_(call.count),
        ranks_(static_cast<std::size_t>(chunks)),
        line_(line_of(call)),
        blocks_(static_cast<std::size_t>(block.count())),
        index_(static_cast<std::size_t>(block.index())),
        slice_(slot_bytes / call.element()) {
    const std::size_t largest = spread ? part(count_, ranks_, 0, line_).size() : count_;
    rounds_ = slice_rounds(block, call, largest, slice_);
  }
  TUTTI_HD Count rounds() const { return rounds_; }
  /// The elements of rank's chunk that this block moves in `round`, as a range of the whole buffer of all chunks.
  TUTTI_HD Range slice(int rank, Count round) const {
    const Range chunk = chunk_of(rank);
    const Range band = part(chunk.size(), blocks_, index_, line_);
    const Range cut = piece(band.size(), slice_, static_cast<std::size_t>(round));
    return {chunk.begin + band.begin + cut.begin, chunk.begin + band.begin + cut.end};
  }
  /// This block's whole band of rank's chunk.
  TUTTI_HD Range band(int rank) const {
    const Range chunk = chunk_of(rank);
    const Range band = part(chunk.size(), blocks_, index_, line_);
    return {chunk.begin + band.begin, chunk.begin + band.end};
  }
  TUTTI_HD Range chunk_of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return spread_ ? part(count_, ranks_, r, line_) : Range{r * count_, (r + 1) * count_};
  }

 private:
  bool spread_;
  std::size_t count_, ranks_, line_, blocks_, index_, slice_;
  Count rounds_;
};

}  // namespace tutti

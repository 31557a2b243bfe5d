// A tensor in memory that every peer reaches, which may be a GPU's, with values that the host gives and reads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/tutti.hpp"

namespace tutti::bench {

class Tensor {
 public:
  /// Collective: every rank makes its tensor, of any size. `comm` outlives it.
  Tensor(Communicator& comm, std::size_t size) : comm_(&comm), memory_(comm.allocate<float>(size)) {}
  Tensor(Communicator& comm, const std::vector<float>& values) : Tensor(comm, values.size()) { set(values); }

  float* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  /// Gives its first values, or reads all.
  void set(const std::vector<float>& values) { comm_->copy(data(), values.data(), values.size() * sizeof(float)); }
  std::vector<float> values() const {
    std::vector<float> result(size());
    comm_->copy(result.data(), data(), size() * sizeof(float));
    return result;
  }

  /// The first `count` values become `value`; whether they are. Piece by piece: tensors may fill the memory.
  void fill(std::size_t count, float value) {
    const std::vector<float> piece(std::min(count, kPiece), value);
    for (std::size_t first = 0; first < count; first += kPiece)
      comm_->copy(data() + first, piece.data(), std::min(kPiece, count - first) * sizeof(float));
  }
  bool holds(std::size_t count, float value) const {
    std::vector<float> piece(std::min(count, kPiece));
    bool same = true;
    for (std::size_t first = 0; first < count; first += kPiece) {
      piece.resize(std::min(kPiece, count - first));
      comm_->copy(piece.data(), data() + first, piece.size() * sizeof(float));
      same = same && std::all_of(piece.begin(), piece.end(), [value](float x) { return x == value; });
    }
    return same;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;
  Communicator* comm_;
  Buffer<float> memory_;
};

}  // namespace tutti::bench

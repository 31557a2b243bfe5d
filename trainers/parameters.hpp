// The parameters that live on one rank: which parts of which layers, and where they sit in one flat array.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trainers/device.hpp"
#include "trainers/spec.hpp"

namespace tutti::trainers {

/// A contiguous range of 0 .. total-1.
struct Range {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};

/// Part `index` of `total` things cut into `parts` contiguous parts whose sizes differ by at most one.
Range part_of(int total, int index, int parts);

/// Some output features of one layer, all its inputs. W is [outputs][inputs]: a slice of outputs is a contiguous slice
/// of the whole tensor (it is the transpose of the lecture's W, so this is the lecture's column cut).
struct Piece {
  int layer = 0;
  int inputs = 0;
  Range outputs;  ///< within the layer's `width` outputs
  int width = 0;
  Activation activation = Activation::none;
  bool bias = true;
  bool is_cut() const { return outputs.size() != width; }
  std::size_t weights() const { return static_cast<std::size_t>(outputs.size()) * static_cast<std::size_t>(inputs); }
  std::size_t parameters() const { return weights() + (bias ? static_cast<std::size_t>(outputs.size()) : 0); }
};

/// The pieces of one rank under a layout: serial and data hold all, tensor a slice of each layer whose width divides
/// and the whole of the others, pipeline a contiguous range of layers.
std::vector<Piece> pieces_of(const MlpSpec& spec, Parallel layout, int rank, int ranks);
std::size_t parameters_of(const std::vector<Piece>& pieces);

/// Values and gradients of one rank's pieces, each as one flat array in piece order, weights before bias.
template <class T>
class Parameters {
 public:
  /// Initialises the values, in the device's memory: each is a function of (seed, layer, output, input) alone. Biases
  /// are 0. `gradients` holds at least parameters_of(pieces) elements; what is beyond is the caller's.
  Parameters(Device& device, const MlpSpec& spec, std::vector<Piece> pieces, std::uint64_t seed, Memory<T> gradients);

  int pieces() const { return static_cast<int>(pieces_.size()); }
  const Piece& piece(int i) const { return pieces_[static_cast<std::size_t>(i)]; }
  std::size_t count() const { return values_.size(); }
  T* values() { return values_.data(); }
  T* gradients() { return gradients_.data(); }
  T* weights(int i) { return values() + at(i); }
  T* weight_gradients(int i) { return gradients() + at(i); }
  /// Null if the piece has no bias.
  T* bias(int i) { return piece(i).bias ? weights(i) + piece(i).weights() : nullptr; }
  T* bias_gradients(int i) { return piece(i).bias ? weight_gradients(i) + piece(i).weights() : nullptr; }

 private:
  std::size_t at(int i) const { return offsets_[static_cast<std::size_t>(i)]; }

  std::vector<Piece> pieces_;
  std::vector<std::size_t> offsets_;
  Memory<T> values_;
  Memory<T> gradients_;
};

}  // namespace tutti::trainers

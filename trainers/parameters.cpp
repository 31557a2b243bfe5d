#include "trainers/parameters.hpp"

#include <cmath>

#include "trainers/random.hpp"

namespace tutti::trainers {

Range part_of(int total, int index, int parts) {
  const auto cut = [&](int i) { return static_cast<int>(static_cast<std::int64_t>(total) * i / parts); };
  return {cut(index), cut(index + 1)};
}

std::vector<Piece> pieces_of(const MlpSpec& spec, Parallel layout, int rank, int ranks) {
  const Range layers = layout == Parallel::pipeline ? part_of(spec.layers(), rank, ranks) : Range{0, spec.layers()};
  std::vector<Piece> pieces;
  for (int l = layers.begin; l < layers.end; ++l) {
    const int width = spec.widths[static_cast<std::size_t>(l) + 1];
    const bool cut = layout == Parallel::tensor && width % ranks == 0;
    pieces.push_back({.layer = l,
                      .inputs = spec.widths[static_cast<std::size_t>(l)],
                      .outputs = cut ? part_of(width, rank, ranks) : Range{0, width},
                      .width = width,
                      .activation = spec.activation_after(l),
                      .bias = spec.bias});
  }
  return pieces;
}

std::size_t parameters_of(const std::vector<Piece>& pieces) {
  std::size_t count = 0;
  for (const Piece& piece : pieces) count += piece.parameters();
  return count;
}

template <class T>
Parameters<T>::Parameters(Device& device, const MlpSpec& spec, std::vector<Piece> pieces, std::uint64_t seed,
                          Memory<T> gradients)
    : pieces_(std::move(pieces)), values_(device, parameters_of(pieces_)), gradients_(std::move(gradients)) {
  std::size_t offset = 0;
  std::vector<T> weights;
  for (const Piece& piece : pieces_) {
    offsets_.push_back(offset);
    const double deviation =
        spec.initialisation == Initialisation::he ? std::sqrt(2.0 / piece.inputs) : 1 / std::sqrt(1.0 * piece.width);
    weights.clear();
    weights.reserve(piece.weights());
    for (int row = piece.outputs.begin; row < piece.outputs.end; ++row)
      for (int column = 0; column < piece.inputs; ++column)
        weights.push_back(
            static_cast<T>(deviation * normal_at(seed, Purpose::weights, static_cast<std::uint32_t>(piece.layer),
                                                 static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column))));
    device.upload(values_.data() + offset, weights.data(), weights.size() * sizeof(T));
    offset += piece.parameters();
  }
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace tutti::trainers

// A small classification problem for the tests of the trainers.
#pragma once
#include <numeric>

#include "trainers/random.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

/// Normal inputs with arbitrary class labels.
template <class T>
class SmallData final : public DataSet<T> {
 public:
  SmallData(std::uint32_t samples, int features, int classes) : inputs_(9, samples, features), classes_(classes) {}
  std::uint32_t samples() const override { return inputs_.samples(); }
  int features() const override { return inputs_.features(); }
  void read(std::span<const std::uint32_t> samples, T* rows) const override { inputs_.read(samples, rows); }
  void read_labels(std::span<const std::uint32_t> samples, std::int32_t* labels) const override {
    for (const std::uint32_t s : samples)
      *labels++ = static_cast<std::int32_t>((s * 7 + s / 3) % static_cast<std::uint32_t>(classes_));
  }

 private:
  NormalData<T> inputs_;
  int classes_;
};

/// The batches of training in turn: rows of a shuffled order, the last batch of an epoch smaller if it must be.
class Batches {
 public:
  Batches(std::uint64_t seed, std::uint32_t samples, int batch)
      : seed_(seed), batch_(static_cast<std::size_t>(batch)), order_(samples) {}
  std::span<const std::uint32_t> next() {
    if (at_ == 0) epoch_order(seed_, ++epoch_, order_);
    const std::size_t rows = std::min(batch_, order_.size() - at_);
    const auto samples = std::span<const std::uint32_t>(order_).subspan(at_, rows);
    at_ = (at_ + rows) % order_.size();
    return samples;
  }

 private:
  std::uint64_t seed_;
  std::size_t batch_;
  std::vector<std::uint32_t> order_;
  std::size_t at_ = 0;
  int epoch_ = 0;
};

}  // namespace tutti::trainers

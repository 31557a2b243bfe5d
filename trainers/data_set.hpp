// Samples to train on, the same on every rank.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::trainers {

std::uint64_t next_data_set_id();

/// Samples of `features` numbers each, with or without class labels.
template <class T>
class DataSet {
 public:
  DataSet() : id_(next_data_set_id()) {}
  virtual ~DataSet() = default;
  /// Of this set's samples, which never change: no other set of the process has it, but copies of this one.
  std::uint64_t id() const { return id_; }
  virtual std::uint32_t samples() const = 0;
  virtual int features() const = 0;
  /// rows[i][features] = the numbers of samples[i].
  virtual void read(std::span<const std::uint32_t> samples, T* rows) const = 0;
  /// labels[i] = the class of samples[i]; a set without labels leaves `labels` alone.
  virtual void read_labels(std::span<const std::uint32_t> samples, std::int32_t* labels) const = 0;

 private:
  std::uint64_t id_;
};

/// Standard normal numbers, a function of (seed, sample, feature); no labels.
template <class T>
class NormalData final : public DataSet<T> {
 public:
  NormalData(std::uint64_t seed, std::uint32_t samples, int features);
  std::uint32_t samples() const override { return samples_; }
  int features() const override { return features_; }
  void read(std::span<const std::uint32_t> samples, T* rows) const override;
  void read_labels(std::span<const std::uint32_t>, std::int32_t*) const override {}

 private:
  std::uint32_t samples_;
  int features_;
  std::vector<T> values_;
};

/// Images of bytes with class labels, as files hold them.
struct Images {
  int features = 0;  ///< bytes per image
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
};

/// Mean and standard deviation of all pixels on the scale 0 .. 1.
struct PixelStatistics {
  double mean = 0;
  double deviation = 1;
};
PixelStatistics statistics_of(const Images& images);

/// Images, each pixel standardised as (pixel / 255 - mean) / deviation.
template <class T>
class ImageData final : public DataSet<T> {
 public:
  ImageData(Images images, const PixelStatistics& statistics);
  std::uint32_t samples() const override { return static_cast<std::uint32_t>(images_.labels.size()); }
  int features() const override { return images_.features; }
  void read(std::span<const std::uint32_t> samples, T* rows) const override;
  void read_labels(std::span<const std::uint32_t> samples, std::int32_t* labels) const override;

 private:
  Images images_;
  T scale_;
  T shift_;
};

}  // namespace tutti::trainers

#include "trainers/data_set.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "trainers/maths_host.hpp"
#include "trainers/random.hpp"

namespace tutti::trainers {

std::uint64_t next_data_set_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

template <class T>
NormalData<T>::NormalData(std::uint64_t seed, std::uint32_t samples, int features)
    : samples_(samples), features_(features) {
  values_.reserve(static_cast<std::size_t>(samples) * static_cast<std::size_t>(features));
  for (std::uint32_t s = 0; s < samples; ++s)
    for (int f = 0; f < features; ++f)
      values_.push_back(static_cast<T>(normal_at(seed, Purpose::samples, 0, s, static_cast<std::uint32_t>(f))));
}

template <class T>
void NormalData<T>::read(std::span<const std::uint32_t> samples, T* rows) const {
  for (const std::uint32_t s : samples)
    rows = std::copy_n(values_.data() + static_cast<std::size_t>(s) * static_cast<std::size_t>(features_), features_,
                       rows);
}

PixelStatistics statistics_of(const Images& images) {
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;
  for (const std::uint8_t p : images.pixels) {
    sum += p;
    squares += static_cast<std::uint64_t>(p) * p;
  }
  if (images.pixels.empty()) return {};
  const double count = static_cast<double>(images.pixels.size());
  const double mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(squares) / count - mean * mean;
  return {mean / 255, variance > 0 ? std::sqrt(variance) / 255 : 1};
}

template <class T>
ImageData<T>::ImageData(Images images, const PixelStatistics& statistics)
    : images_(std::move(images)),
      scale_(static_cast<T>(1 / (255 * statistics.deviation))),
      shift_(static_cast<T>(-statistics.mean / statistics.deviation)) {}

template <class T>
void ImageData<T>::read(std::span<const std::uint32_t> samples, T* rows) const {
  const auto features = static_cast<std::size_t>(images_.features);
  for (const std::uint32_t s : samples) {
    maths::standardise(images_.pixels.data() + s * features, features, scale_, shift_, rows);
    rows += features;
  }
}

template <class T>
void ImageData<T>::read_labels(std::span<const std::uint32_t> samples, std::int32_t* labels) const {
  for (const std::uint32_t s : samples) *labels++ = images_.labels[s];
}

template class NormalData<float>;
template class NormalData<double>;
template class ImageData<float>;
template class ImageData<double>;

}  // namespace tutti::trainers

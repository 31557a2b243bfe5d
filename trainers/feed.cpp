#include "trainers/feed.hpp"

#include <algorithm>
#include <numeric>

namespace tutti::trainers {

template <class T>
Feed<T>::Feed(Maths<T>& maths, int most)
    : maths_(maths), samples_(maths.device(), maths.device().on_gpu() ? static_cast<std::size_t>(most) : 0) {}

template <class T>
typename Feed<T>::Resident& Feed<T>::resident(const DataSet<T>& data) {
  for (Resident& each : residents_)
    if (each.id == data.id()) return each;
  return residents_.emplace_back(Resident{data.id(), {}, {}});
}

template <class T>
template <class Number, class Read>
Memory<Number> Feed<T>::upload(const DataSet<T>& data, std::size_t width, Read&& read) {
  constexpr std::size_t kAtOnce = 4096;  // samples, so that the host needs no second copy of the whole set
  Memory<Number> there(maths_.device(), data.samples() * width);
  std::vector<std::uint32_t> samples(data.samples());
  std::iota(samples.begin(), samples.end(), 0u);
  std::vector<Number> some(std::min<std::size_t>(kAtOnce, samples.size()) * width);
  for (std::size_t at = 0; at < samples.size(); at += kAtOnce) {
    const auto part = std::span<const std::uint32_t>(samples).subspan(at, std::min(kAtOnce, samples.size() - at));
    read(part, some.data());
    maths_.device().upload(there.data() + at * width, some.data(), part.size() * width * sizeof(Number));
  }
  return there;
}

template <class T>
void Feed<T>::upload_samples(std::span<const std::uint32_t> samples) {
  maths_.device().upload(samples_.data(), samples.data(), samples.size_bytes());
}

template <class T>
void Feed<T>::read(const DataSet<T>& data, std::span<const std::uint32_t> samples, T* rows) {
  if (!maths_.device().on_gpu()) return data.read(samples, rows);
  Resident& there = resident(data);
  if (!there.rows.data())
    there.rows = upload<T>(data, static_cast<std::size_t>(data.features()),
                           [&](std::span<const std::uint32_t> some, T* to) { data.read(some, to); });
  upload_samples(samples);
  maths_.gather(there.rows.data(), data.features(), samples_.data(), static_cast<int>(samples.size()), rows);
}

template <class T>
void Feed<T>::read_labels(const DataSet<T>& data, std::span<const std::uint32_t> samples, std::int32_t* labels) {
  if (!maths_.device().on_gpu()) return data.read_labels(samples, labels);
  Resident& there = resident(data);
  if (!there.labels.data())
    there.labels = upload<std::int32_t>(
        data, 1, [&](std::span<const std::uint32_t> some, std::int32_t* to) { data.read_labels(some, to); });
  upload_samples(samples);
  maths_.gather_labels(there.labels.data(), samples_.data(), static_cast<int>(samples.size()), labels);
}

template class Feed<float>;
template class Feed<double>;

}  // namespace tutti::trainers

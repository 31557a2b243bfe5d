// Brings a batch's samples to where a trainer computes.
#pragma once
#include <vector>

#include "trainers/data_set.hpp"
#include "trainers/maths.hpp"

namespace tutti::trainers {

/// On the CPU a data set is read as it is. On a GPU each data set is uploaded whole when it is first read from, and
/// stays, so that a step uploads only the numbers of its samples.
template <class T>
class Feed {
 public:
  /// `most` samples are read at once. `maths` must outlive the feed.
  Feed(Maths<T>& maths, int most);

  /// rows[i][features] = the numbers of samples[i], in the device's memory.
  void read(const DataSet<T>& data, std::span<const std::uint32_t> samples, T* rows);
  /// labels[i] = the class of samples[i], in the device's memory; a set without labels gives anything.
  void read_labels(const DataSet<T>& data, std::span<const std::uint32_t> samples, std::int32_t* labels);

 private:
  /// What is on the GPU of one data set: what was asked for so far.
  struct Resident {
    std::uint64_t id;
    Memory<T> rows;
    Memory<std::int32_t> labels;
  };

  Resident& resident(const DataSet<T>& data);
  /// Uploads all of `data`, `read(samples, to)` giving `width` numbers of each sample.
  template <class Number, class Read>
  Memory<Number> upload(const DataSet<T>& data, std::size_t width, Read&& read);
  void upload_samples(std::span<const std::uint32_t> samples);

  Maths<T>& maths_;
  Memory<std::uint32_t> samples_;
  std::vector<Resident> residents_;
};

}  // namespace tutti::trainers

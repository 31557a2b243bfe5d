// The threads that can run, by stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::emulator {

class ReadyThreads {
 public:
  void reset(std::size_t streams, std::uint32_t threads) {
    lists_.resize(streams);
    for (auto& list : lists_) list.clear();
    at_.assign(threads, kNowhere);
    stream_.assign(threads, 0);
    total_ = 0;
  }
  void add(std::uint32_t thread, std::size_t stream) {
    at_[thread] = static_cast<std::uint32_t>(lists_[stream].size());
    stream_[thread] = static_cast<std::uint32_t>(stream);
    lists_[stream].push_back(thread);
    ++total_;
  }
  void remove(std::uint32_t thread) {
    auto& list = lists_[stream_[thread]];
    const std::uint32_t last = list.back();
    list[at_[thread]] = last;
    at_[last] = at_[thread];
    list.pop_back();
    at_[thread] = kNowhere;
    --total_;
  }
  bool contains(std::uint32_t thread) const { return at_[thread] != kNowhere; }
  std::size_t streams() const { return lists_.size(); }
  std::size_t total() const { return total_; }
  /// In no order.
  const std::vector<std::uint32_t>& of(std::size_t stream) const { return lists_[stream]; }
  std::size_t stream(std::uint32_t thread) const { return stream_[thread]; }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::vector<std::uint32_t>> lists_;
  std::vector<std::uint32_t> at_, stream_;  // of each thread: its place in its list
  std::size_t total_ = 0;
};

}  // namespace tutti::emulator

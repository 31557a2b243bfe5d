// Independent pieces of work on as many threads as there are cores.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti::tests {

/// f(i) for each i < count, in any order, on so many threads; 0: one for each core. Throws what one of them threw.
template <class F>
void on_all_cores(std::size_t count, F f, unsigned threads = 0) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) try {
        f(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        thrown = std::current_exception();
        next = count;
      }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work);
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tutti::tests

// Threads that run the blocks of a call beside the thread that drives it, where a rank has more cores than one.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tutti {

/// One thread at a time calls it. The threads are made when first wanted, and sleep a little after the last.
class Crew {
 public:
  /// `threads`: how many run blocks at once, the caller's included.
  explicit Crew(int threads) : threads_(threads) {}
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Whether so many blocks can run at once. Makes the threads that are lacking; from when the system gives no more on
  /// there are only those that it gave.
  bool has_threads_for(int blocks);
  /// Runs work(0) .. work(blocks - 1) at once and returns when all have ended: work(0) on the caller. After
  /// has_threads_for(blocks).
  void run(int blocks, const std::function<void(int)>& work);

 private:
  void serve(int block);

  int threads_;
  std::vector<std::thread> hands_;
  // Written by run() before it releases call_, which hands acquire.
  const std::function<void(int)>* work_ = nullptr;
  int blocks_ = 0;
  std::atomic<std::uint32_t> call_ = 0;  ///< of run(), to which hands answer; kStop: no more
  std::atomic<int> busy_ = 0;            ///< hands that have not ended the call
  static constexpr std::uint32_t kStop = ~std::uint32_t{0};
};

}  // namespace tutti

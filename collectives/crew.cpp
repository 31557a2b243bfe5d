#include "collectives/crew.hpp"

#include <system_error>

#include "kernels/block_host.hpp"

namespace tutti {
namespace {

// A call that wants a crew takes tens of microseconds or more, and often comes soon after another.
constexpr int kSpins = 2000;

}  // namespace

Crew::~Crew() {
  call_.store(kStop, std::memory_order_release);
  call_.notify_all();
  for (std::thread& hand : hands_) hand.join();
}

bool Crew::has_threads_for(int blocks) {
  if (blocks > threads_) return false;
  try {
    for (int b = static_cast<int>(hands_.size()) + 1; b < threads_; ++b) hands_.emplace_back([this, b] { serve(b); });
  } catch (const std::system_error&) {
    threads_ = static_cast<int>(hands_.size()) + 1;
  }
  return blocks <= threads_;
}

void Crew::run(int blocks, const std::function<void(int)>& work) {
  work_ = &work;
  blocks_ = blocks;
  busy_.store(static_cast<int>(hands_.size()), std::memory_order_relaxed);
  const std::uint32_t call = call_.load(std::memory_order_relaxed) + 1;
  call_.store(call == kStop ? 1 : call, std::memory_order_release);
  call_.notify_all();
  work(0);
  for (int polls = 0; busy_.load(std::memory_order_acquire) != 0;)  // pairs with the hands' release: their blocks' work
    ++polls < kSpins ? host::relax() : std::this_thread::yield();
}

void Crew::serve(int block) {
  for (std::uint32_t seen = 0;;) {
    for (int polls = 0; polls < kSpins && call_.load(std::memory_order_relaxed) == seen; ++polls) host::relax();
    call_.wait(seen, std::memory_order_acquire);
    seen = call_.load(std::memory_order_acquire);
    if (seen == kStop) return;
    if (block < blocks_) (*work_)(block);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace tutti

#include "bench/peers/orders.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

namespace tutti::bench::peers {
namespace {

// Between processes, so not the private kind.
long futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timespec timeout{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  futex(word, FUTEX_WAIT, value, &timeout);
}

void wake_all(const std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

void end_with(Board& board, const char* why) {
  // 1 while `fault` is being written.
  std::uint32_t nobody = 0;
  if (!board.ended.compare_exchange_strong(nobody, 1)) return;
  std::snprintf(board.fault, sizeof board.fault, "%s", why);
  board.ended.store(2, std::memory_order_release);
  wake_all(board.answers);
}

}  // namespace tutti::bench::peers

// One process of a peer: does what the bench orders, with the library that it is linked with, on memory of its own.
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "bench/peers/library.hpp"
#include "bench/peers/orders.hpp"
#include "bench/trial.hpp"

namespace tutti::bench::peers {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Board& open_board(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* const at = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
  close(file);
  return *static_cast<Board*>(at);
}

class Peer {
 public:
  Peer(Board& board, Library& library)
      : board_(board),
        library_(library),
        me_(board.ranks[library.rank()]),
        in_(board.in_bytes),
        out_(board.out_bytes),
        free_polls_(library.size() > cores() ? 2 : 20000) {}

  /// Until it is told to end.
  void serve() {
    std::uint32_t done = 0;
    answer();
    while (true) {
      while (board_.orders.load(std::memory_order_acquire) == done) {
        sleep_while(board_.orders, done, 1);
        // Nobody else would tell this process that there is nothing more to do.
        if (kill(board_.bench, 0) != 0 && errno == ESRCH) _exit(1);
      }
      ++done;
      const Order order = board_.order;
      if (order.kind == Order::Kind::end) return;
      me_.seconds = 0;
      me_.wrong = 0;
      if (order.kind == Order::Kind::verify)
        verify(order.c);
      else
        batch(order);
      answer();
    }
  }

 private:
  static int cores() {
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
  }

  void answer() {
    board_.answers.fetch_add(1, std::memory_order_release);
    wake_all(board_.answers);
  }

  void meet() {
    ++meetings_;
    me_.meetings.store(meetings_, std::memory_order_release);
    for (int i = 1; i < library_.size(); ++i) {
      const auto& theirs = board_.ranks[(library_.rank() + i) % library_.size()].meetings;
      for (int polls = 0; theirs.load(std::memory_order_acquire) < meetings_;)
        if (++polls >= free_polls_) sched_yield();
    }
  }

  void verify(const Case& c) {
    const std::string refusal = library_.refusal(c);
    std::snprintf(me_.refusal, sizeof me_.refusal, "%s", refusal.c_str());
    if (!refusal.empty()) return;
    const Trial trial(c, library_.rank(), access_);
    const Buffers buffers = place_buffers(c, library_.rank(), in_.data(), out_.data());
    trial.prepare_distinct(buffers);
    meet();
    library_.run(c, buffers);
    me_.wrong = trial.check_distinct(buffers);
  }

  void batch(const Order& order) {
    const Case& c = order.c;
    const Trial trial(c, library_.rank(), access_);
    const Buffers buffers = place_buffers(c, library_.rank(), in_.data(), out_.data());
    std::uint64_t wrong = 0;
    double seconds = 0;
    meet();
    const auto begin = Clock::now();
    for (long i = 0; i < order.batch.calls; ++i) {
      const std::size_t index = (order.batch.turn + static_cast<std::size_t>(i) + 1) % Pattern::kPeriod;
      if (!order.batch.steady) trial.prepare(buffers, index);
      if (order.batch.steady || order.batch.together) {
        library_.run(c, buffers);
      } else {
        meet();
        const auto call = Clock::now();
        library_.run(c, buffers);
        seconds += seconds_since(call);
      }
      if (!order.batch.steady) wrong += trial.check(buffers, index);
    }
    if (order.batch.steady || order.batch.together) seconds = seconds_since(begin);
    me_.seconds = seconds / static_cast<double>(order.batch.calls);
    me_.wrong = wrong;
  }

  Board& board_;
  Library& library_;
  Board::Rank& me_;
  OwnMemory in_, out_;
  HostAccess access_;
  int free_polls_;
  std::uint64_t meetings_ = 0;
};

int run(int count, char** arguments) {
  if (count != 5) {
    fmt::print(stderr, "{}: started by tutti bench --peers, not by hand\n", arguments[0]);
    return 2;
  }
  Board* board = nullptr;
  try {
    board = &open_board(arguments[1]);
    const auto library = open_library(std::atoi(arguments[2]), std::atoi(arguments[3]), arguments[4]);
    if (library->rank() == 0) std::snprintf(board->version, sizeof board->version, "%s", library->version().c_str());
    Peer(*board, *library).serve();
    return 0;
  } catch (const std::exception& error) {
    if (board)
      end_with(*board, error.what());
    else
      fmt::print(stderr, "{}: {}\n", arguments[0], error.what());
    _exit(1);
  }
}

}  // namespace
}  // namespace tutti::bench::peers

int main(int count, char** arguments) { return tutti::bench::peers::run(count, arguments); }

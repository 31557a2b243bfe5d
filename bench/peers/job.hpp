// A peer as the bench sees it: processes of another program, which sleep until they get an order.
#pragma once
#include <string>
#include <vector>

#include "bench/peers/orders.hpp"
#include "bench/peers/setting.hpp"
#include "collectives/bootstrap.hpp"

namespace tutti::bench::peers {

/// Every member is collective over the bench's ranks, and throws on all of them alike.
class Job {
 public:
  /// Starts as many ranks as the bench has; returns when all of them are ready. Throws ArgumentError with what to do if
  /// the program or its launcher is not there.
  Job(Bootstrap& bootstrap, const Setting& setting, std::size_t in_bytes, std::size_t out_bytes);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const std::string& name() const { return name_; }
  std::string version() const { return board_->version; }

  struct Result {
    double seconds = 0;       ///< of a call, on the slowest rank
    std::uint64_t wrong = 0;  ///< elements, of all ranks
    std::string refusal;      ///< why the peer cannot run the case
  };
  /// Has the order done by all ranks of the peer; meanwhile the bench's ranks sleep. `order`: of rank 0.
  Result run(const Order& order);

 private:
  void give(const Order& order);
  void end();
  void wait_for_answers();
  void start(const Setting& setting);
  void look_after_processes();

  Bootstrap& bootstrap_;
  std::string name_;
  Board* board_ = nullptr;
  int file_ = -1, said_ = -1;   // of rank 0: the board, and what the processes print
  std::string folder_ = "-";    // of rank 0, in which ranks without a launcher meet
  std::vector<int> processes_;  // of rank 0
  std::uint32_t awaited_ = 0;   // answers
};

}  // namespace tutti::bench::peers

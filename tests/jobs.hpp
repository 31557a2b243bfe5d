// Runs a test's body on every rank of a job: threads of this program, or the processes that a launcher started.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/bootstrap.hpp"
#include "collectives/tutti.hpp"

namespace tutti::test {

inline constexpr int kProcesses = 0;

inline void run_rank(const std::function<void(Bootstrap&)>& body, Bootstrap& bootstrap) {
  try {
    body(bootstrap);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << bootstrap.rank() << " of " << bootstrap.size() << " threw: " << error.what();
  }
}

/// Runs `body` on threads that share a unique id.
inline void run_job_by_id(int ranks, const std::function<void(Bootstrap&)>& body, double timeout_s = 30) {
  const UniqueId id = unique_id();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto bootstrap = sockets_bootstrap(id, rank, ranks, timeout_s);
        run_rank(body, *bootstrap);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << " of " << ranks << " found no job: " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Runs `body` on `ranks` threads, on -ranks threads that share a unique id if ranks is negative, or in this process as
/// its rank of the launched job if ranks is kProcesses.
inline void run_job(int ranks, const std::function<void(Bootstrap&)>& body, double timeout_s = 30) {
  if (ranks == kProcesses) {
    const auto bootstrap = process_bootstrap(timeout_s);
    run_rank(body, *bootstrap);
    return;
  }
  if (ranks < 0) return run_job_by_id(-ranks, body, timeout_s);
  std::vector<std::thread> threads;
  for (auto& bootstrap : thread_bootstraps(ranks, timeout_s)) {
    threads.emplace_back([&body, mine = std::move(bootstrap)]() mutable {
      run_rank(body, *mine);
      mine.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Tests whose parameter is what run_job takes. Their instances are named Threads/..., Sockets/... and Processes/...,
/// so that a filter picks the one that fits how the program was started.
class Job : public testing::TestWithParam<int> {};

inline std::string name_of_job(const testing::TestParamInfo<int>& info) {
  return info.param == kProcesses ? "processes" : std::to_string(std::abs(info.param));
}

}  // namespace tutti::test

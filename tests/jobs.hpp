// Runs a test's body on every rank of a job: threads of this program, or the processes that mpirun started.
#pragma once
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/bootstrap.hpp"

namespace tutti::test {

inline constexpr int kProcesses = 0;

inline void run_rank(const std::function<void(Bootstrap&)>& body, Bootstrap& bootstrap) {
  try {
    body(bootstrap);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << bootstrap.rank() << " of " << bootstrap.size() << " threw: " << error.what();
  }
}

/// Runs `body` on `ranks` threads, or in this process as its rank of the MPI job if ranks is kProcesses.
inline void run_job(int ranks, const std::function<void(Bootstrap&)>& body, double timeout_s = 30) {
  if (ranks == kProcesses) {
    const auto bootstrap = mpi_bootstrap(timeout_s);
    run_rank(body, *bootstrap);
    return;
  }
  std::vector<std::thread> threads;
  for (auto& bootstrap : thread_bootstraps(ranks, timeout_s)) {
    threads.emplace_back([&body, mine = std::move(bootstrap)]() mutable {
      run_rank(body, *mine);
      mine.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Tests whose parameter is what run_job takes. Their instances are named Threads/... and Processes/..., so that a
/// filter picks the one that fits how the program was started.
class Job : public testing::TestWithParam<int> {};

inline std::string name_of_job(const testing::TestParamInfo<int>& info) {
  return info.param == kProcesses ? "mpi" : std::to_string(info.param);
}

}  // namespace tutti::test

#include "tests/nccl_programs/job.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

namespace nccl_programs {

Pipes::Pipes(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    ends_.insert(ends_.end(), {ends[0], ends[1]});
  }
}

Pipes::~Pipes() {
  for (const int end : ends_) ::close(end);
}

void Pipes::tell(int rank, std::span<const std::byte> bytes) const {
  const auto end = static_cast<std::size_t>(2 * rank + 1);
  if (::write(ends_[end], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("a pipe took less than it was given");
}

void Pipes::hear(int rank, std::span<std::byte> bytes) const {
  const auto end = static_cast<std::size_t>(2 * rank);
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = ::read(ends_[end], bytes.data() + got, bytes.size() - got);
    if (more <= 0) throw std::runtime_error("a pipe ended early");
    got += static_cast<std::size_t>(more);
  }
}

void run_job(int ranks, double seconds, const std::function<void(int rank, const Pipes& pipes)>& body) {
  const Pipes pipes(ranks);
  std::fflush(nullptr);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("cannot fork");
    if (process > 0) {
      processes.push_back(process);
      continue;
    }
    int status = 0;
    try {
      body(rank, pipes);
    } catch (const std::exception& exception) {
      std::fprintf(stderr, "rank %d: %s\n", rank, exception.what());
      status = 1;
    }
    std::fflush(nullptr);
    ::_exit(status);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = processes[static_cast<std::size_t>(rank)];
    int status = 0;
    while (::waitpid(process, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "rank " << rank << " is still running after " << seconds << " s";
        ::kill(process, SIGKILL);
        ::waitpid(process, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << rank << ", status " << status;
  }
}

}  // namespace nccl_programs

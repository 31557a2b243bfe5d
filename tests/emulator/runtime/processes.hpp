// Tests whose parts are processes of their own, connected by a socket. Who forks must not have used CUDA before.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::emulated::test {

/// One end of what connects two parts.
class Wire {
 public:
  explicit Wire(int file) : file_(file) {}
  template <class T>
  void send(const T& value) const {
    if (write(file_, &value, sizeof value) != static_cast<ssize_t>(sizeof value))
      throw std::runtime_error("the other part is gone");
  }
  template <class T>
  T receive() const {
    T value;
    if (recv(file_, &value, sizeof value, MSG_WAITALL) != static_cast<ssize_t>(sizeof value))
      throw std::runtime_error("the other part is gone");
    return value;
  }
  /// Both have come here.
  void meet() const {
    send('m');
    receive<char>();
  }

 private:
  int file_;
};

inline void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

using Part = std::function<void(const Wire&)>;

/// Forks a process that runs the part and ends with 0, or with 1 and a line if it throws.
inline pid_t start(const Part& part, int mine, int others) {
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process != 0) return process;
  close(others);
  int result = 0;
  try {
    part(Wire(mine));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "process %d: %s\n", static_cast<int>(getpid()), error.what());
    result = 1;
  }
  std::fflush(nullptr);
  _exit(result);
}

/// Runs both at once and expects each to end well.
inline void run_together(const Part& first, const Part& second) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const std::vector<pid_t> processes{start(first, ends[0], ends[1]), start(second, ends[1], ends[0])};
  close(ends[0]);
  close(ends[1]);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    int status = -1;
    ASSERT_EQ(waitpid(processes[i], &status, 0), processes[i]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "part " << i << " ended with status " << status;
  }
}

inline void run_alone(const std::function<void()>& part) {
  run_together([&](const Wire&) { part(); }, [](const Wire&) {});
}

}  // namespace tutti::emulated::test

// Ranks that are processes: forks of the test, started without any launcher.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace nccl_programs {

/// What the ranks of a job tell each other without the library under test.
class Pipes {
 public:
  explicit Pipes(int ranks);
  ~Pipes();
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;
  /// Bytes for `rank`; a process that reads them waits for them. Few enough that nobody waits to tell.
  void tell(int rank, std::span<const std::byte> bytes) const;
  void hear(int rank, std::span<std::byte> bytes) const;
  /// The same content from rank 0 for all.
  template <class T>
  T from_first(int rank, int ranks, T content) const {
    if (rank != 0) {
      hear(rank, std::as_writable_bytes(std::span(&content, 1)));
      return content;
    }
    for (int other = 1; other < ranks; ++other) tell(other, std::as_bytes(std::span(&content, 1)));
    return content;
  }

 private:
  std::vector<int> ends_;  ///< [rank] to read, then to write
};

/// Runs `body(rank, pipes)` in `ranks` processes and expects that each returns within `seconds`; what it throws fails
/// the test. The calling process must not have touched CUDA, as its forks could not use it then.
void run_job(int ranks, double seconds, const std::function<void(int rank, const Pipes& pipes)>& body);

}  // namespace nccl_programs

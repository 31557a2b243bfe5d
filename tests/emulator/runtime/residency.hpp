#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace tutti::emulated {

/// What one multiprocessor has, by architecture.
struct MultiprocessorLimits {
  int blocks, threads, registers, shared, shared_per_block, shared_reserved_per_block;
};
MultiprocessorLimits multiprocessor_limits(int major, int minor);

/// What one block needs while it runs.
struct BlockNeeds {
  int threads = 0;
  int registers_per_thread = 0;
  std::size_t shared = 0;  ///< static and dynamic
};

/// How many such blocks one multiprocessor can hold at once.
int blocks_per_multiprocessor(const BlockNeeds& needs);

/// Which blocks of this process are on which multiprocessor of one device.
class Residency {
 public:
  explicit Residency(int multiprocessors);

  /// Puts a block on the emptiest multiprocessor with room; its index, or -1 if there is none.
  int admit(const BlockNeeds& needs);
  /// The same for all blocks of a cooperative launch, or none of them.
  std::vector<int> admit_all(const BlockNeeds& needs, int count);
  void leave(int multiprocessor, const BlockNeeds& needs);

 private:
  struct Load {
    int blocks = 0, threads = 0, registers = 0;
    std::size_t shared = 0;
  };
  int admit_locked(const BlockNeeds& needs);
  bool fits(const Load& load, const BlockNeeds& needs) const;
  void add(Load& load, const BlockNeeds& needs, int sign) const;

  std::mutex mutex_;
  std::vector<Load> loads_;
};

}  // namespace tutti::emulated

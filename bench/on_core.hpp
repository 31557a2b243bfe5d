// Which cores this process may use, and a thread kept on one of them.
#pragma once
#include <sched.h>

#include <algorithm>

namespace tutti::bench {

inline int cores_allowed() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
}

/// Restricts this thread to the index-th core that it may use, until destroyed.
class OnCore {
 public:
  explicit OnCore(int index) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && index-- == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
        return;
      }
  }
  ~OnCore() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

}  // namespace tutti::bench

#include "bench/startup/footprint.hpp"

#include <time.h>

#include <cstdio>
#include <cstring>

namespace tutti::bench::startup {
namespace {

/// The kB that the lines of `file` with this name give. Without streams: what this program links is measured too.
long long kilobytes_of(const char* file, const char* name) {
  std::FILE* const opened = std::fopen(file, "r");
  if (!opened) return 0;
  long long sum = 0, kilobytes = 0;
  char line[200], found[32];
  while (std::fgets(line, sizeof line, opened))
    if (std::sscanf(line, "%31s %lld kB", found, &kilobytes) == 2 && std::strcmp(found, name) == 0) sum += kilobytes;
  std::fclose(opened);
  return sum;
}

}  // namespace

void report(int rank, long long began, long long reduced) {
  constexpr const char* kMine = "/proc/self/smaps_rollup";
  const long long alone = kilobytes_of(kMine, "Private_Clean:") + kilobytes_of(kMine, "Private_Dirty:");
  std::printf("startup %d %lld %lld %lld %lld %lld %lld\n", rank, began, reduced, alone, kilobytes_of(kMine, "Pss:"),
              kilobytes_of(kMine, "Locked:"), kilobytes_of("/proc/meminfo", "Shmem:"));
  std::fflush(stdout);
}

long long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace tutti::bench::startup

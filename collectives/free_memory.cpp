#include "collectives/free_memory.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace tutti {
namespace {

/// The number after `key` in a file of "key number" lines; without a key, the number that the file holds.
std::optional<std::size_t> number_in(const std::string& path, const std::string& key = {}) {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && file >> word && word != key) {
  }
  std::size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // absent, or "max"
}

/// What a group and those above it still allow. Pages of files that the kernel can drop do not count as used.
std::size_t left_in_groups(const std::string& mount, std::string group, const char* limit, const char* used,
                           const char* droppable) {
  std::size_t left = SIZE_MAX;
  for (;;) {
    const std::string folder = mount + group + "/";
    const auto most = number_in(folder + limit);
    const auto now = number_in(folder + used);
    if (most && now) {
      const std::size_t busy = *now - std::min(*now, number_in(folder + "memory.stat", droppable).value_or(0));
      left = std::min(left, *most - std::min(*most, busy));
    }
    if (group.empty()) return left;
    group.erase(group.rfind('/'));
  }
}

std::size_t left_in_control_groups() {
  std::size_t left = SIZE_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // hierarchy:controllers:/path
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') continue;
    if (group == "/") group.clear();
    if (controllers.empty()) {
      left = std::min(left, left_in_groups("/sys/fs/cgroup", group, "memory.max", "memory.current", "inactive_file"));
    } else if (controllers == "memory") {
      left = std::min(left, left_in_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                                           "memory.usage_in_bytes", "total_inactive_file"));
    }
  }
  return left;
}

}  // namespace

std::size_t free_memory() {
  const auto available = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(available ? *available * 1024 : SIZE_MAX, left_in_control_groups());
}

std::size_t free_shared_memory_files() {
  struct statvfs files {};
  return ::statvfs("/dev/shm", &files) == 0 ? files.f_bavail * files.f_frsize : 0;
}

}  // namespace tutti

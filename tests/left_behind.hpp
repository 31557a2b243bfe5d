// What this process holds, to be compared before and after.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tutti::test {

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

/// Mappings of segments that are files: memfd_create's or shm_open's.
inline std::size_t segment_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t found = 0;
  for (std::string line; std::getline(maps, line);) {
    found += line.find("/memfd:tutti") != std::string::npos || line.find("/dev/shm/tutti-") != std::string::npos;
  }
  return found;
}

/// All mappings of this process.
inline std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t found = 0;
  for (std::string line; std::getline(maps, line);) ++found;
  return found;
}

/// Memory of this process that is in use, in bytes.
inline std::size_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  status >> pages >> resident;
  return resident * 4096;
}

/// Address space of this process in bytes.
inline std::size_t mapped_bytes() {
  std::ifstream status("/proc/self/statm");
  std::size_t pages = 0;
  status >> pages;
  return pages * 4096;
}

}  // namespace tutti::test

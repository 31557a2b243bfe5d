#include "bench/writable.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace tutti::bench {

bool writable(const std::string& name) {
  struct stat found {};
  if (stat(name.c_str(), &found) == 0)
    return (S_ISREG(found.st_mode) || S_ISCHR(found.st_mode)) && access(name.c_str(), W_OK) == 0;
  if (errno != ENOENT) return false;
  std::error_code fault;
  std::filesystem::path path = name;
  while (std::filesystem::is_symlink(std::filesystem::symlink_status(path, fault))) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, fault);
    if (fault) return false;
    path = path.parent_path() / target;
  }
  if (!path.has_filename()) return false;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return std::filesystem::is_directory(folder, fault) && access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace tutti::bench

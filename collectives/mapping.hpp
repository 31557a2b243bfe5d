// Memory mapped into this process, aligned for huge pages.
#pragma once
#include <cstddef>

namespace tutti {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// A 2 MiB-aligned mapping that unmaps itself. Empty (null base) if it could not be made; errno then says why.
class Mapping {
 public:
  Mapping() = default;
  /// `bytes` of the file `fd`, shared with whoever maps it too, or of private zeroed memory if fd is -1.
  Mapping(std::size_t bytes, int fd);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  char* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  /// Gives every page its memory now, so that the lack of it is a false result here rather than a signal later. True
  /// also on kernels that cannot say (before 5.14) and for a file's mapping, whose pages the file reserves itself.
  bool populate();

 private:
  char* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tutti

#include "collectives/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace tutti {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

Mapping::Mapping(std::size_t bytes, int fd) {
  if (bytes == 0) return;
  if (bytes > SIZE_MAX - 2 * kHugePage) {
    errno = ENOMEM;
    return;
  }
  const std::size_t length = whole_pages(bytes);
  const std::size_t room = length + kHugePage;
  void* reserved = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;
  char* const start = static_cast<char*>(reserved);
  const std::size_t head = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  const int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* mapped = ::mmap(start + head, length, PROT_READ | PROT_WRITE, kind | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    const int reason = errno;
    ::munmap(start, room);
    errno = reason;
    return;
  }
  if (head > 0) ::munmap(start, head);
  ::munmap(start + head + length, room - head - length);
  ::madvise(mapped, length, MADV_HUGEPAGE);
  base_ = static_cast<char*>(mapped);
  bytes_ = bytes;
}

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, whole_pages(bytes_));
}

bool Mapping::populate() {
  if (base_ == nullptr) return true;
  while (::madvise(base_, whole_pages(bytes_), MADV_POPULATE_WRITE) != 0) {
    if (errno == EINVAL) return true;
    if (errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

}  // namespace tutti

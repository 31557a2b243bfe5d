#include "tests/emulator/runtime/address_space.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/// Free addresses, as begin -> end.
struct Free {
  std::mutex mutex;
  std::map<std::uintptr_t, std::uintptr_t> ranges;
  /// Where the next search begins: addresses come back late, so that a pointer into freed memory is noticed.
  std::uintptr_t next = 0;
};

Free& free_addresses() {
  static Free* const all = new Free;
  return *all;
}

/// Takes [address, address + bytes) out of a free range.
void take(Free& all, std::map<std::uintptr_t, std::uintptr_t>::iterator range, std::uintptr_t address,
          std::size_t bytes) {
  const auto [begin, end] = *range;
  all.ranges.erase(range);
  if (begin < address) all.ranges[begin] = address;
  if (address + bytes < end) all.ranges[address + bytes] = end;
  all.next = address + bytes;
}

/// Descriptors that programs see are left to them: select() knows no more than 1024, and scripts know 3.
int out_of_the_way(int file) {
  constexpr int kFirst = 600;
  int moved = fcntl(file, F_DUPFD_CLOEXEC, kFirst);
  if (moved < 0) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
      limit.rlim_cur = limit.rlim_max;
      if (setrlimit(RLIMIT_NOFILE, &limit) == 0) moved = fcntl(file, F_DUPFD_CLOEXEC, kFirst);
    }
  }
  if (moved < 0) return file;
  close(file);
  return moved;
}

}  // namespace

AddressSpace& AddressSpace::instance() {
  static AddressSpace* const only = new AddressSpace;
  return *only;
}

AddressSpace::AddressSpace() {
  // Aligned by hand, as mmap promises a page only.
  const std::size_t bytes = 2 * kBytes + kGranularity;
  void* place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    say("the system gives no addresses for device memory; is there a limit (ulimit -v)?");
    throw Failure(cudaErrorInitializationError);
  }
  base_ = round_up(reinterpret_cast<std::uintptr_t>(place), kGranularity);
  Free& all = free_addresses();
  all.ranges[base_] = base_ + kBytes;
  all.next = base_;
}

std::uintptr_t AddressSpace::reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t fixed) {
  if (bytes == 0 || bytes > kBytes) throw Failure(cudaErrorMemoryAllocation);
  bytes = round_up(bytes, kGranularity);
  Free& all = free_addresses();
  std::lock_guard lock(all.mutex);
  const auto try_at = [&](std::map<std::uintptr_t, std::uintptr_t>::iterator range, std::uintptr_t from) {
    const std::uintptr_t address = round_up(std::max(range->first, from), alignment);
    if (address > range->second || range->second - address < bytes) return std::uintptr_t{0};
    take(all, range, address, bytes);
    return address;
  };
  if (fixed != 0 && fixed % alignment == 0 && contains(fixed)) {
    auto range = all.ranges.upper_bound(fixed);
    if (range != all.ranges.begin() && fixed < (--range)->second)
      if (range->second - fixed >= bytes) return try_at(range, fixed);
  }
  for (const std::uintptr_t from : {all.next, base_})
    for (auto range = all.ranges.begin(); range != all.ranges.end(); ++range)
      if (range->second > from)
        if (const std::uintptr_t address = try_at(range, from)) return address;
  throw Failure(cudaErrorMemoryAllocation);
}

void AddressSpace::release(std::uintptr_t address, std::size_t bytes) {
  bytes = round_up(bytes, kGranularity);
  Free& all = free_addresses();
  std::lock_guard lock(all.mutex);
  std::uintptr_t begin = address, end = address + bytes;
  auto after = all.ranges.lower_bound(address);
  if (after != all.ranges.end() && after->first == end) {
    end = after->second;
    after = all.ranges.erase(after);
  }
  if (after != all.ranges.begin()) {
    const auto before = std::prev(after);
    if (before->second == begin) {
      begin = before->first;
      all.ranges.erase(before);
    }
  }
  all.ranges[begin] = end;
}

void AddressSpace::map(std::uintptr_t address, std::size_t bytes, int file, std::size_t offset, bool is_private) {
  const int sharing = is_private ? MAP_PRIVATE : MAP_SHARED;
  if (mmap(host_view(address), round_up(bytes, kPage), PROT_READ | PROT_WRITE, sharing | MAP_FIXED, file,
           static_cast<off_t>(offset)) == MAP_FAILED)
    throw Failure(cudaErrorMemoryAllocation);
}

void AddressSpace::show(std::uintptr_t address, std::size_t bytes, int file) {
  if (mmap(reinterpret_cast<void*>(address), round_up(bytes, kPage), PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) ==
      MAP_FAILED)
    throw Failure(cudaErrorMemoryAllocation);
}

void AddressSpace::unmap(std::uintptr_t address, std::size_t bytes) {
  for (void* place : {static_cast<void*>(host_view(address)), reinterpret_cast<void*>(address)})
    if (mmap(place, round_up(bytes, kPage), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
      give_up("device memory cannot be unmapped");
}

MemoryFile::MemoryFile(std::size_t bytes) {
  const int file = memfd_create("emulated-gpu", MFD_CLOEXEC);
  if (file < 0) throw Failure(cudaErrorMemoryAllocation);
  file_ = out_of_the_way(file);
  if (ftruncate(file_, static_cast<off_t>(round_up(bytes, kPage))) != 0) {
    close(std::exchange(file_, -1));
    throw Failure(cudaErrorMemoryAllocation);
  }
}

MemoryFile MemoryFile::adopt(int file) {
  MemoryFile adopted;
  adopted.file_ = out_of_the_way(file);
  return adopted;
}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

MemoryFile::~MemoryFile() {
  if (file_ >= 0) close(file_);
}

}  // namespace tutti::emulated

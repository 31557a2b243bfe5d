#include "bench/buffers.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "collectives/error.hpp"

namespace tutti::bench {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Buffers place_buffers(const Case& c, int rank, std::byte* in, std::byte* out) {
  const std::size_t own_part = static_cast<std::size_t>(rank) * c.count * size_of(c.type);
  // Where a rank has no input, or gets no result, its place in the other buffer is nobody's.
  const bool in_place = c.in_place && (!c.rooted() || rank == c.root || !c.spreads());
  switch (c.operation) {
    case Operation::barrier: return {};
    case Operation::broadcast: return {in, in};
    case Operation::scatter:
    case Operation::reduce_scatter: return in_place ? Buffers{in, in + own_part} : Buffers{in, out};
    case Operation::gather:
    case Operation::all_gather: return in_place ? Buffers{out + own_part, out} : Buffers{in, out};
    default: return in_place ? Buffers{out, out} : Buffers{in, out};
  }
}

OwnMemory::OwnMemory(std::size_t bytes) : mapped_(bytes + kHugePage) {
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw Error(ErrorCode::system, fmt::format("bench: {} bytes of memory: {}", bytes, std::strerror(errno)));
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = reinterpret_cast<std::byte*>((address + kHugePage - 1) & ~(kHugePage - 1));
  if (bytes >= kHugePage) madvise(data_, bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
  std::memset(data_, 0, bytes);
}

OwnMemory::OwnMemory(OwnMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), mapped_(other.mapped_), data_(other.data_) {}

OwnMemory::~OwnMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

}  // namespace tutti::bench

#include "bench/lineup.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tutti::bench {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Buffers place_buffers(const Case& c, int rank, std::byte* in, std::byte* out) {
  const std::size_t own_part = static_cast<std::size_t>(rank) * c.count * size_of(c.type);
  switch (c.operation) {
    case Operation::barrier: return {};
    case Operation::broadcast: return {in, in};
    case Operation::reduce_scatter: return c.in_place ? Buffers{in, in + own_part} : Buffers{in, out};
    case Operation::all_gather: return c.in_place ? Buffers{out + own_part, out} : Buffers{in, out};
    default: return c.in_place ? Buffers{out, out} : Buffers{in, out};
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

Lineup::Lineup(Session& session, const std::vector<BackendKind>& backends, const std::vector<Algorithm>& algorithms,
               const std::vector<MemoryKind>& memories, const BufferBytes& bytes)
    : rank_(session.rank()), bootstrap_(mpi_bootstrap()), meeting_(*bootstrap_) {
  communicators_.push_back(std::make_unique<Communicator>(session.communicator()));
  Communicator& native = *communicators_.front();
  for (BackendKind backend : backends) {
    if (backend == BackendKind::native) {
      for (Algorithm algorithm : algorithms) contenders_.push_back(tutti_contender(native, algorithm));
    } else {
      SessionOptions options;
      options.backend = backend;
      mpi_session_.emplace(options);
      communicators_.push_back(std::make_unique<Communicator>(mpi_session_->communicator()));
      contenders_.push_back(tutti_contender(*communicators_.back(), Algorithm::automatic));
    }
  }
  // A call of few bytes still gets pages of its own.
  const std::size_t in = std::max<std::size_t>(bytes.in, 4096), out = std::max<std::size_t>(bytes.out, 4096);
  for (MemoryKind kind : memories) {
    Memory memory{kind, {}, {}, nullptr, nullptr};
    if (kind == MemoryKind::peer_mapped) {
      memory.shared.push_back(native.allocate<std::uint8_t>(in));
      memory.shared.push_back(native.allocate<std::uint8_t>(out));
      memory.in = reinterpret_cast<std::byte*>(memory.shared[0].data());
      memory.out = reinterpret_cast<std::byte*>(memory.shared[1].data());
    } else {
      memory.own.emplace_back(in);
      memory.own.emplace_back(out);
      memory.in = memory.own[0].data();
      memory.out = memory.own[1].data();
    }
    memories_.push_back(std::move(memory));
  }
}

std::size_t Lineup::arena_bytes() const { return communicators_.front()->arena_bytes(); }

std::vector<Lane> Lineup::lanes(const Case& c) const {
  std::vector<Lane> lanes;
  for (const Memory& memory : memories_) {
    for (const auto& contender : contenders_)
      lanes.push_back({contender.get(), memory.kind, place_buffers(c, rank_, memory.in, memory.out)});
    if (c.operation == Operation::barrier) break;  // a barrier has no buffers
  }
  return lanes;
}

}  // namespace tutti::bench

#include "bench/lineup.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/device_memory.hpp"
#include "bench/gpu_name.hpp"

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

std::string misfit(const std::vector<BackendKind>& backends, bool on_gpu) {
  for (BackendKind backend : backends) {
    if (backend == BackendKind::nccl && !on_gpu)
      return "--backend nccl: NCCL works on GPUs, native runs on the CPU here: use native, mpi";
    if (backend == BackendKind::mpi && on_gpu)
      return "--backend mpi: MPI works on the CPU's memory, native runs on GPUs here: use native, nccl, or "
             "TUTTI_DEVICE=cpu";
  }
  return "";
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

Lineup::Lineup(Session& session, const BenchArguments& arguments, const BufferBytes& bytes)
    : rank_(session.rank()), on_gpu_(session.on_gpu()), bootstrap_(process_bootstrap()), meeting_(*bootstrap_) {
  communicators_.push_back(std::make_unique<Communicator>(session.communicator()));
  const bool named = !arguments.backends.empty();
  std::vector<BackendKind> backends = arguments.backends;
  if (!named) {
    backends = {BackendKind::native};
    // NVIDIA's NCCL does not run on emulated GPUs, and there are no times to compare.
    if (on_gpu_ && is_emulated(gpu_name()))
      notes_.push_back("without nccl: the GPUs are emulated, so there are no times to compare; --backend nccl runs it");
    else
      backends.push_back(on_gpu_ ? BackendKind::nccl : BackendKind::mpi);
  }
  for (BackendKind backend : backends) {
    if (backend == BackendKind::native) {
      for (Algorithm algorithm : arguments.algorithms)
        contenders_.push_back(tutti_contender(*communicators_.front(), algorithm));
      continue;
    }
    try {
      add_backend(backend);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      if (named) throw ArgumentError(fmt::format("--backend {}: {}", name_of(backend), error.what()));
      notes_.push_back(fmt::format("without {}: {}", name_of(backend), error.what()));
    }
  }
  // A call of few bytes still gets pages of its own.
  for (MemoryKind kind : arguments.memories)
    memories_.push_back(memory_of(kind, std::max<std::size_t>(bytes.in, 4096), std::max<std::size_t>(bytes.out, 4096)));
}

void Lineup::add_backend(BackendKind backend) {
  SessionOptions options;
  options.backend = backend;
  auto session = std::make_unique<Session>(options);
  auto communicator = std::make_unique<Communicator>(session->communicator());
  others_.push_back(std::move(session));
  communicators_.push_back(std::move(communicator));
  contenders_.push_back(tutti_contender(*communicators_.back(), Algorithm::automatic));
}

Lineup::Memory Lineup::memory_of(MemoryKind kind, std::size_t in, std::size_t out) {
  Memory memory{kind, nullptr, nullptr};
  for (auto [bytes, place] : {std::pair{in, &memory.in}, std::pair{out, &memory.out}}) {
    if (kind == MemoryKind::peer_mapped) {
      shared_.push_back(communicators_.front()->allocate<std::uint8_t>(bytes));
      *place = reinterpret_cast<std::byte*>(shared_.back().data());
    } else if (on_gpu_) {
      device_.push_back(device_memory(bytes));
      *place = device_.back().get();
    } else {
      own_.emplace_back(bytes);
      *place = own_.back().data();
    }
  }
  return memory;
}

std::size_t Lineup::arena_bytes() const { return communicators_.front()->arena_bytes(); }

std::string Lineup::peer() const {
  for (const auto& contender : contenders_)
    if (contender->backend() != "native") return contender->backend();
  return "";
}

std::vector<Lane> Lineup::lanes(const Case& c) const {
  std::vector<Lane> lanes;
  for (const Memory& memory : memories_) {
    for (const auto& contender : contenders_)
      if (contender->plays(c.operation))
        lanes.push_back({contender.get(), memory.kind, place_buffers(c, rank_, memory.in, memory.out)});
    if (c.operation == Operation::barrier) break;  // a barrier has no buffers
  }
  return lanes;
}

}  // namespace tutti::bench

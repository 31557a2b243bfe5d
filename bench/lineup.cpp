#include "bench/lineup.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "bench/device_memory.hpp"
#include "bench/gpu_name.hpp"
#include "bench/peers/contender.hpp"

namespace tutti::bench {
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

Lineup::Lineup(Session& session, const BenchArguments& arguments, const BufferBytes& bytes)
    : rank_(session.rank()),
      on_gpu_(session.on_gpu()),
      graph_(arguments.graph),
      bootstrap_(process_bootstrap()),
      meeting_(*bootstrap_) {
  if (graph_ > 0 && !on_gpu_) throw ArgumentError("--graph: CUDA graphs run on GPUs, native runs on the CPU here");
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
        contenders_.push_back(contender_of(*communicators_.front(), algorithm));
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
  const std::size_t in = std::max<std::size_t>(bytes.in, 4096), out = std::max<std::size_t>(bytes.out, 4096);
  for (MemoryKind kind : arguments.memories) memories_.push_back(memory_of(kind, in, out));
  if (arguments.bounds && !on_gpu_)
    limits_ = std::make_unique<Limits>(*bootstrap_, meeting_, memories_, std::max(in, out));
  for (const peers::Setting& peer : arguments.peers) add_peer(peer, in, out);
}

void Lineup::add_peer(const peers::Setting& peer, std::size_t in, std::size_t out) {
  if (on_gpu_)
    throw ArgumentError("--peers: they work on the CPU's memory, native runs on GPUs here: TUTTI_DEVICE=cpu");
  try {
    contenders_.push_back(peers::peer_contender(*bootstrap_, peer, in, out));
    notes_.push_back(fmt::format("{}: {}, in processes of its own", peer.name, contenders_.back()->version()));
  } catch (const Error& error) {
    if (peer.named) throw ArgumentError(fmt::format("--peers: {}", error.what()));
    notes_.push_back(fmt::format("without {}", error.what()));
  }
}

void Lineup::add_backend(BackendKind backend) {
  SessionOptions options;
  options.backend = backend;
  auto session = std::make_unique<Session>(options);
  auto communicator = std::make_unique<Communicator>(session->communicator());
  others_.push_back(std::move(session));
  communicators_.push_back(std::move(communicator));
  contenders_.push_back(contender_of(*communicators_.back(), Algorithm::automatic));
}

std::unique_ptr<Contender> Lineup::contender_of(Communicator& communicator, Algorithm algorithm) const {
  return graph_ > 0 ? graph_contender(communicator, algorithm, graph_) : tutti_contender(communicator, algorithm);
}

Memory Lineup::memory_of(MemoryKind kind, std::size_t in, std::size_t out) {
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

bool Lineup::has_several_peers() const {
  return std::count_if(contenders_.begin(), contenders_.end(),
                       [](const auto& contender) { return contender->backend() != "native"; }) > 1;
}

std::vector<Lane> Lineup::lanes(const Case& c) const {
  std::vector<Lane> lanes;
  for (const Memory& memory : memories_) {
    for (const auto& contender : contenders_)
      if (contender->plays(c.operation) && !contender->elsewhere())
        lanes.push_back({contender.get(), memory.kind, place_buffers(c, rank_, memory.in, memory.out)});
    if (c.operation == Operation::barrier) break;  // a barrier has no buffers
  }
  for (const auto& contender : contenders_)
    if (contender->elsewhere()) lanes.push_back({contender.get(), MemoryKind::any, {}});
  return lanes;
}

}  // namespace tutti::bench

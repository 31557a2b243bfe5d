#include "collectives/team_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/geometry_gpu.hpp"
#include "collectives/probe_cuda.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti {

using detail::check_cuda;

CudaTeam::CudaTeam(const detail::CommunicatorState& communicator, const CommunicatorOptions& options)
    : device_(communicator.session->device),
      chains_(device_, 1 + 2 * static_cast<std::size_t>(communicator.bootstrap->size())) {
  const int ranks = communicator.bootstrap->size();
  if (ranks > kMaxRanks)
    throw Error(ErrorCode::unsupported,
                fmt::format("communicator: {} ranks; native serves at most {}", ranks, kMaxRanks));
  team_.layout.geometry.ranks = ranks;
  blocks_ = device_->reserve_blocks(*communicator.bootstrap);
  try {
    create(communicator, options);
  } catch (...) {
    let_go();
    throw;
  }
}

CudaTeam::~CudaTeam() {
  try {
    const detail::OnDevice current(device_->device());
    const detail::BesideCaptures beside;
    chains_.wait();         // kernels write to the arena and to the reports
  } catch (const Error&) {  // the device is beyond help, so no kernel runs
  }
  let_go();
}

void CudaTeam::let_go() {
  if (reports_.failed) device_->retired().keep({reports_.failed, [](void* memory) { cudaFreeHost(memory); }});
  device_->give_back(blocks_, ranks());
}

void CudaTeam::create(const detail::CommunicatorState& communicator, const CommunicatorOptions& options) {
  Bootstrap& bootstrap = *communicator.bootstrap;
  Geometry geometry = gpu_geometry(ranks());
  if (ranks() > 1) {
    geometry.blocks = blocks_.collective;
    geometry.packet_blocks = std::min(geometry.packet_blocks, blocks_.collective);
    geometry.message_blocks = blocks_.message;
  }
  team_.layout = layout_of(geometry);
  team_.rank = bootstrap.rank();
  team_.segments = device_->segments();
  team_.segment_ranks = communicator.session->segments.ranks();
  arena_ = allocate_device_segment({bootstrap, communicator.members}, device_, team_.layout.bytes);
  team_.arena = arena_->base(team_.rank);
  detail::together(bootstrap, [&] {
    make_reports();
    prepare_arena(communicator.members, options.first_packet_use);
  });
  if (ranks() == 1) return;
  static_assert(2 * kMaxRanks * sizeof(std::uint64_t) <= kMaxRanks * sizeof(FailureRecord));
  prove_memory(bootstrap, team_, device_->quiet(), reinterpret_cast<std::uint64_t*>(reports_.records));
}

void CudaTeam::make_reports() {
  const auto blocks = static_cast<std::size_t>(team_.layout.geometry.blocks);
  // For the probe, which comes first, a record of each of the most ranks at least.
  const std::size_t records = std::max(blocks * static_cast<std::size_t>(ranks()), std::size_t{kMaxRanks});
  const std::size_t bytes = sizeof(FailureRecord) * (1 + records);
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  std::memset(memory, 0, bytes);
  reports_.failed = static_cast<std::uint64_t*>(memory);
  reports_.records = static_cast<FailureRecord*>(memory) + 1;
  reports_.timeout_ns = static_cast<std::uint64_t>(device_->timeout().count());
}

/// Fills what only this rank reads: peers may not write there, so it does not matter how far they are.
void CudaTeam::prepare_arena(const std::vector<int>& members, std::uint64_t first_packet_use) {
  std::vector<char*> arenas;
  for (int r = 0; r < ranks(); ++r) arenas.push_back(arena_->base(r));
  static_assert(static_cast<int>(Region::packets) == 0);
  const std::vector<std::uint64_t> uses(static_cast<std::size_t>(team_.layout.geometry.blocks), first_packet_use);
  const auto put = [&](std::size_t at, const auto& values) {
    check_cuda(cudaMemcpyAsync(team_.arena + at, values.data(), values.size() * sizeof values[0],
                               cudaMemcpyHostToDevice, device_->quiet()),
               "cudaMemcpyAsync");
  };
  put(team_.layout.arenas, arenas);
  put(team_.layout.members, members);
  put(team_.layout.uses, uses);
  check_cuda(cudaStreamSynchronize(device_->quiet()), "cudaStreamSynchronize");
}

}  // namespace tutti

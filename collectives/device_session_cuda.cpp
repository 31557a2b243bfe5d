// Which GPU each rank of a session takes, and whether they reach each other.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collectives/device_cuda.hpp"
#include "collectives/gpu_placement.hpp"
#include "collectives/native_device.hpp"
#include "collectives/process_identity.hpp"

namespace tutti {
namespace {

constexpr int kMostDevices = 16;

/// What a rank sees.
struct Visible {
  int count;
  int error;
  int wanted;  ///< the number of the one it asks for, or -1
  GpuId devices[kMostDevices];
};

Visible look(int wanted) {
  Visible visible{};
  visible.wanted = wanted;
  int count = 0;  // stays untouched without a driver
  visible.error = cudaGetDeviceCount(&count);
  if (visible.error != cudaSuccess) {
    cudaGetLastError();
    return visible;
  }
  visible.count = std::min(count, kMostDevices);
  for (int d = 0; d < visible.count; ++d) {
    cudaDeviceProp properties;
    visible.error = cudaGetDeviceProperties(&properties, d);
    if (visible.error != cudaSuccess) return visible;
    static_assert(sizeof properties.uuid == sizeof(GpuId));
    std::memcpy(&visible.devices[d], &properties.uuid, sizeof(GpuId));
  }
  return visible;
}

/// What all ranks see and take. By UUID throughout: numbers differ between processes that see other devices.
struct World {
  World(Bootstrap& bootstrap, int wanted) : seen(bootstrap.all_gather(look(wanted))) {
    for (const Visible& each : seen) lists.emplace_back(each.devices, each.devices + each.count);
  }
  /// Why some rank has no GPU at all; empty if each can have one, be it not its own.
  std::string lack() const {
    for (std::size_t r = 0; r < seen.size(); ++r) {
      if (seen[r].error != cudaSuccess)
        return fmt::format("rank {} found no usable GPU: {}", r,
                           cudaGetErrorString(static_cast<cudaError_t>(seen[r].error)));
      if (seen[r].count == 0) return fmt::format("rank {} sees no GPU", r);
      if (seen[r].wanted >= seen[r].count)
        return fmt::format("rank {} asks for GPU {} and sees {}, numbered from 0", r, seen[r].wanted, seen[r].count);
    }
    return {};
  }
  void place() {
    placed = place_ranks(lists);
    for (std::size_t r = 0; r < seen.size(); ++r)
      if (seen[r].wanted >= 0) placed[r] = seen[r].wanted;
  }
  const GpuId& gpu(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return lists[r][static_cast<std::size_t>(placed[r])];
  }
  int ranks() const { return static_cast<int>(seen.size()); }
  /// Ranks on the GPU that has most.
  int most_on_one() const {
    int most = 1;
    for (int r = 0; r < ranks(); ++r) most = std::max(most, ranks_beside(lists, placed, r));
    return most;
  }

  std::vector<Visible> seen;
  std::vector<std::vector<GpuId>> lists;
  std::vector<int> placed;
};

/// Why the GPUs do not reach each other; empty if they do. The same text on all ranks.
std::string broken_reach(Bootstrap& bootstrap, const World& world) {
  const int me = bootstrap.rank();
  const std::vector<GpuId>& mine = world.lists[static_cast<std::size_t>(me)];
  int unreachable = -1;
  for (int r = 0; r < world.ranks(); ++r) {
    // A peer's device may be invisible here (a launcher that gives each process one); then the probe of the memory
    // decides.
    const auto found = std::find(mine.begin(), mine.end(), world.gpu(r));
    int reaches = 1;
    if (world.gpu(r) != world.gpu(me) && found != mine.end() &&
        cudaDeviceCanAccessPeer(&reaches, world.placed[static_cast<std::size_t>(me)],
                                static_cast<int>(found - mine.begin())) == cudaSuccess &&
        !reaches)
      unreachable = r;
  }
  const std::vector<int> unreachables = bootstrap.all_gather(unreachable);
  for (int r = 0; r < world.ranks(); ++r)
    if (unreachables[static_cast<std::size_t>(r)] >= 0)
      return fmt::format("the GPU of rank {} cannot reach that of rank {}; tutti needs peer access between all", r,
                         unreachables[static_cast<std::size_t>(r)]);
  return {};
}

/// Why NCCL cannot run so; empty if it can.
std::string shared_gpu(const World& world) {
  for (int r = 0; r < world.ranks(); ++r)
    for (int q = 0; q < r; ++q)
      if (world.gpu(q) == world.gpu(r))
        return fmt::format("ranks {} and {} would share a GPU, which NCCL refuses; native runs several ranks on one", q,
                           r);
  return {};
}

/// Ranks of one process reach each other's memory by its pointers, once their devices may.
void enable_peers(Bootstrap& bootstrap, const detail::DevicePlan& plan) {
  detail::together(bootstrap, [&] {
    const detail::OnDevice current(plan.device);
    for (const int peer : plan.peers) {
      if (peer == plan.device) continue;
      const cudaError_t result = cudaDeviceEnablePeerAccess(peer, 0);
      if (result == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        detail::check_cuda(result, "cudaDeviceEnablePeerAccess");
    }
  });
}

detail::DevicePlan plan_of(Bootstrap& bootstrap, const World& world, BackendKind backend) {
  detail::DevicePlan plan;
  plan.device = world.placed[static_cast<std::size_t>(bootstrap.rank())];
  plan.ranks_here = world.most_on_one();
  plan.own_kernels = backend != BackendKind::nccl;
  const ProcessIdentity mine = identify_this_process();
  const std::vector<ProcessIdentity> all = bootstrap.all_gather(mine);
  for (std::size_t r = 0; r < std::min(all.size(), std::size_t{kMaxRanks}); ++r) {
    if (!same_process(all[r], mine)) continue;
    plan.in_process |= RankSet{1} << r;
    plan.peers.push_back(world.placed[r]);  // ranks of one process number devices alike
  }
  std::sort(plan.peers.begin(), plan.peers.end());
  plan.peers.erase(std::unique(plan.peers.begin(), plan.peers.end()), plan.peers.end());
  return plan;
}

}  // namespace

std::shared_ptr<detail::DeviceSession> device_session(Bootstrap& bootstrap, BackendKind backend,
                                                      std::chrono::nanoseconds timeout, int gpu) {
  const DeviceWish wish = agreed_device_wish(bootstrap, backend, gpu);
  if (wish == DeviceWish::cpu) return nullptr;

  // Sends and receives run beside each other on streams of their own; with the default of 8 queues, one stream's kernel
  // could wait behind another's. Read when the process first uses its GPU; ranks may be threads.
  static const int ignored = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  (void)ignored;
  World world(bootstrap, gpu);
  std::string why_not = world.lack();
  if (why_not.empty()) {
    world.place();
    why_not = backend == BackendKind::nccl ? shared_gpu(world) : broken_reach(bootstrap, world);
  }
  if (!why_not.empty()) return without_gpu(bootstrap, backend, wish, why_not);

  const detail::DevicePlan plan = plan_of(bootstrap, world, backend);
  if (plan.ranks_here > 1 && bootstrap.rank() == 0)
    std::fprintf(stderr,
                 "tutti: up to %d ranks share a GPU: they take turns on it, so results are right and times mean "
                 "nothing\n",
                 plan.ranks_here);
  if (plan.own_kernels) enable_peers(bootstrap, plan);
  auto session = std::make_shared<detail::DeviceSession>(bootstrap, plan, timeout);
  detail::check_cuda(cudaSetDevice(plan.device), "cudaSetDevice");  // what the caller allocates next is this rank's
  return session;
}

}  // namespace tutti

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "bench/rank_gpu.hpp"
#include "collectives/error.hpp"

namespace tutti::bench {
namespace {

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw Error(ErrorCode::system, fmt::format("{}: {}", call, cudaGetErrorString(result)));
}

// As the vendor's tools write it: GPU-8-4-4-4-12 digits.
void write_uuid(const cudaUUID_t& uuid, std::span<char> to) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  text.copy(to.data(), to.size() - 1);
}

RankGpu describe(int device) {
  RankGpu gpu;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::string(properties.name).copy(gpu.name.data(), gpu.name.size() - 1);
  write_uuid(properties.uuid, gpu.uuid);
  check(cudaDeviceGetPCIBusId(gpu.address.data(), static_cast<int>(gpu.address.size()), device),
        "cudaDeviceGetPCIBusId");
  return gpu;
}

// Processes number the GPUs that they see, each its own way.
int device_with(const RankGpu& gpu, std::span<const RankGpu> visible) {
  const auto found = std::find_if(visible.begin(), visible.end(), [&](const RankGpu& g) { return g.uuid == gpu.uuid; });
  return found == visible.end() ? -1 : static_cast<int>(found - visible.begin());
}

int attribute(cudaDeviceP2PAttr which, int from, int to) {
  int value = 0;
  check(cudaDeviceGetP2PAttribute(&value, which, from, to), "cudaDeviceGetP2PAttribute");
  return value;
}

}  // namespace

RankGpu gpu_of(const void* memory) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  if (attributes.type != cudaMemoryTypeDevice) return {};
  return describe(attributes.device);
}

std::vector<PeerAccess> peer_access(const RankGpu& mine, std::span<const RankGpu> peers) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<RankGpu> visible;
  for (int device = 0; device < count; ++device) visible.push_back(describe(device));
  const int from = device_with(mine, visible);
  std::vector<PeerAccess> access;
  for (const RankGpu& peer : peers) {
    const int to = device_with(peer, visible);
    if (from < 0 || to < 0) {
      access.emplace_back();
    } else if (from == to) {
      access.push_back({1, 1, 0});
    } else {
      int reached = 0;
      check(cudaDeviceCanAccessPeer(&reached, from, to), "cudaDeviceCanAccessPeer");
      access.push_back({reached, attribute(cudaDevP2PAttrNativeAtomicSupported, from, to),
                        attribute(cudaDevP2PAttrPerformanceRank, from, to)});
    }
  }
  return access;
}

}  // namespace tutti::bench

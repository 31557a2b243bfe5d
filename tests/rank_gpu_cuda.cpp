// What tutti topo asks of CUDA's runtime, answered here by a stand-in for it: three GPUs, of which a process sees some.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "bench/rank_gpu.hpp"
#include "collectives/error.hpp"

namespace {

// The machine's GPUs 0 and 1 reach each other, with atomics one way only; nobody reaches 2.
struct Machine {
  std::vector<int> visible = {0, 1, 2};  ///< the process's devices 0, 1, ... are these
  int holder = 0;                        ///< the device, as the process numbers it, of all memory
  cudaMemoryType kind = cudaMemoryTypeDevice;
  cudaError_t fault = cudaSuccess;  ///< of every call
} machine;

bool reach(int from, int to) { return from + to == 1; }

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(machine.visible.size());
  return machine.fault;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const int gpu = machine.visible.at(static_cast<std::size_t>(device));
  std::snprintf(properties->name, sizeof properties->name, "Test GPU %d", gpu);
  for (int i = 0; i < 16; ++i) properties->uuid.bytes[i] = static_cast<char>(16 * i + gpu);
  return machine.fault;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                0x1a + machine.visible.at(static_cast<std::size_t>(device)));
  return machine.fault;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  attributes->type = machine.kind;
  attributes->device = machine.holder;
  return machine.fault;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  *can = reach(machine.visible.at(static_cast<std::size_t>(from)), machine.visible.at(static_cast<std::size_t>(to)));
  return machine.fault;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  const int a = machine.visible.at(static_cast<std::size_t>(from)),
            b = machine.visible.at(static_cast<std::size_t>(to));
  *value = attribute == cudaDevP2PAttrNativeAtomicSupported ? a < b : 10 * a + b;
  return machine.fault;
}

const char* cudaGetErrorString(cudaError_t) { return "a fault of the stand-in"; }
}

namespace tutti::bench {
namespace {

RankGpu gpu_at(int device) {
  machine.holder = device;
  return gpu_of(&machine);
}

TEST(RankGpu, IsNamedAsTheVendorsToolsDo) {
  machine = {};
  const RankGpu gpu = gpu_at(1);
  EXPECT_STREQ(gpu.name.data(), "Test GPU 1");
  EXPECT_STREQ(gpu.uuid.data(), "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
  EXPECT_STREQ(gpu.address.data(), "0000:1B:00.0");
}

TEST(RankGpu, IsNoneForMemoryOfTheCpu) {
  machine = {};
  machine.kind = cudaMemoryTypeHost;
  EXPECT_STREQ(gpu_of(&machine).name.data(), "");
}

TEST(RankGpu, KnowsThePeersByTheirIdentityHoweverTheyAreNumberedHere) {
  machine = {};
  std::vector<RankGpu> gpus;
  for (int gpu = 0; gpu < 3; ++gpu) gpus.push_back(gpu_at(gpu));
  for (const std::vector<int>& visible : {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 0}}) {
    machine.visible = visible;
    const std::vector<PeerAccess> access = peer_access(gpus[1], gpus);
    const bool sees_2 = visible.size() == 3;
    const std::array<PeerAccess, 3> expected = {
        {{1, 0, 10}, {1, 1, 0}, sees_2 ? PeerAccess{0, 1, 12} : PeerAccess{-1, -1, -1}}};
    ASSERT_EQ(access.size(), 3u);
    for (std::size_t peer = 0; peer < 3; ++peer) {
      EXPECT_EQ(access[peer].reached, expected[peer].reached) << "peer " << peer << ", first is " << visible[0];
      EXPECT_EQ(access[peer].atomics, expected[peer].atomics) << "peer " << peer << ", first is " << visible[0];
      EXPECT_EQ(access[peer].performance_rank, expected[peer].performance_rank)
          << "peer " << peer << ", first is " << visible[0];
    }
  }
}

TEST(RankGpu, AFaultOfTheRuntimeIsAnErrorThatNamesTheCall) {
  machine = {};
  machine.fault = cudaErrorUnknown;
  try {
    gpu_of(&machine);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cudaPointerGetAttributes: a fault of the stand-in");
  }
}

}  // namespace
}  // namespace tutti::bench

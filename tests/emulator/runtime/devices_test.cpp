// Devices and peers. Holds of CUDA's own runtime with at least one GPU; what needs two is skipped where there is one.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

int count() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  return devices;
}

TEST(Devices, AreCountedAndDescribed) {
  ASSERT_GE(count(), 1);
  for (int d = 0; d < count(); ++d) {
    cudaDeviceProp properties;
    ASSERT_EQ(cudaGetDeviceProperties(&properties, d), cudaSuccess);
    EXPECT_GT(std::strlen(properties.name), 0u);
    EXPECT_GT(properties.totalGlobalMem, std::size_t{1} << 30);
    EXPECT_EQ(properties.warpSize, 32);
    EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
    int value = 0;
    ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, d), cudaSuccess);
    EXPECT_EQ(value, properties.multiProcessorCount);
    ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, d), cudaSuccess);
    EXPECT_EQ(value, properties.major);
  }
}

TEST(Devices, HaveUuidsAndBusIdsOfTheirOwn) {
  std::set<std::string> uuids, buses;
  for (int d = 0; d < count(); ++d) {
    cudaDeviceProp properties;
    ASSERT_EQ(cudaGetDeviceProperties(&properties, d), cudaSuccess);
    EXPECT_TRUE(uuids.emplace(properties.uuid.bytes, sizeof properties.uuid.bytes).second) << "device " << d;
    char bus[32];
    ASSERT_EQ(cudaDeviceGetPCIBusId(bus, sizeof bus, d), cudaSuccess);
    EXPECT_TRUE(buses.insert(bus).second) << bus << ", device " << d;
    int found = -1;
    ASSERT_EQ(cudaDeviceGetByPCIBusId(&found, bus), cudaSuccess);
    EXPECT_EQ(found, d) << bus;
  }
}

TEST(Devices, OutsideTheirNumbersAreErrors) {
  EXPECT_EQ(cudaSetDevice(count()), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, count()), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

TEST(Devices, OfOneAreNoPeersOfThemselves) {
  int can = 1;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  cudaGetLastError();
}

class Peers : public testing::Test {
 protected:
  void SetUp() override {
    if (count() < 2) GTEST_SKIP() << "one device";
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can) GTEST_SKIP() << "no peer access";
  }
  void TearDown() override { cudaSetDevice(0); }
};

TEST_F(Peers, AreEnabledOnceAndDisabledOnce) {
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  cudaGetLastError();
}

TEST_F(Peers, ReadAndWriteEachOthersMemory) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const Ints theirs(100);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  launch_add(theirs.get(), 100, 7, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const int value : theirs.read()) ASSERT_EQ(value, 7);
  ASSERT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
}

TEST_F(Peers, CopyWithoutAccessToo) {
  const Ints mine(50);
  launch_add(mine.get(), 50, 3, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const Ints theirs(50);
  ASSERT_EQ(cudaMemcpyPeer(theirs.get(), 1, mine.get(), 0, 50 * sizeof(int)), cudaSuccess);
  for (const int value : theirs.read()) ASSERT_EQ(value, 3);
}

TEST_F(Peers, WithoutAccessFaultForGood) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        cudaSetDevice(1);
        void* theirs = nullptr;
        cudaMalloc(&theirs, 4);
        cudaSetDevice(0);
        launch_store(static_cast<int*>(theirs), nullptr);
        std::exit(cudaDeviceSynchronize());
      },
      testing::ExitedWithCode(cudaErrorIllegalAddress & 0xff), "");
}

}  // namespace
}  // namespace tutti::emulated::test

// Memory of all kinds, copies and fills. Holds of CUDA's own runtime as well.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

std::vector<int> counted(std::size_t n, int from = 0) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(Memory, IsCountedWhileItIsHeld) {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  std::size_t before = 0, during = 0, after = 0, total = 0;
  check(cudaFree(nullptr));
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  EXPECT_LE(before, total);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&during, nullptr), cudaSuccess);
  EXPECT_LE(during + bytes, before);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, nullptr), cudaSuccess);
  EXPECT_GE(after, during + bytes);
}

TEST(Memory, BeyondWhatThereIsIsAnErrorThatHurtsNothing) {
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(nullptr, &total), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Memory, OfNoBytesIsNone) {
  void* memory = &memory;
  EXPECT_EQ(cudaMalloc(&memory, 0), cudaSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST(Memory, IsFreedOnceAndByItsBeginning) {
  char* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  EXPECT_NE(cudaFree(memory + 256), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_NE(cudaFree(memory), cudaSuccess);
  int on_stack = 0;
  EXPECT_NE(cudaFree(&on_stack), cudaSuccess);
  cudaGetLastError();
}

TEST(Memory, TellsWhatItIs) {
  cudaPointerAttributes is;
  const Ints device(4);
  ASSERT_EQ(cudaPointerGetAttributes(&is, device.get() + 1), cudaSuccess);
  EXPECT_EQ(is.type, cudaMemoryTypeDevice);
  EXPECT_EQ(is.device, 0);
  EXPECT_EQ(is.devicePointer, device.get() + 1);

  const HostInts host(4);
  ASSERT_EQ(cudaPointerGetAttributes(&is, host.get()), cudaSuccess);
  EXPECT_EQ(is.type, cudaMemoryTypeHost);
  EXPECT_EQ(is.hostPointer, host.get());
  EXPECT_NE(is.devicePointer, nullptr);

  int on_stack = 0;
  ASSERT_EQ(cudaPointerGetAttributes(&is, &on_stack), cudaSuccess);
  EXPECT_EQ(is.type, cudaMemoryTypeUnregistered);

  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(cudaPointerGetAttributes(&is, managed), cudaSuccess);
  EXPECT_EQ(is.type, cudaMemoryTypeManaged);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST(HostMemory, IsSharedWithKernels) {
  const HostInts host(100);
  launch_add(host.get(), 100, 5, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(host.get()[i], 5) << "index " << i;
}

TEST(HostMemory, IsRegisteredOnceAndThenKernelsReachIt) {
  std::vector<int> mine(1 << 14, 1);
  const std::size_t bytes = mine.size() * sizeof(int);
  ASSERT_EQ(cudaHostRegister(mine.data(), bytes, cudaHostRegisterMapped), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(mine.data(), bytes, cudaHostRegisterMapped), cudaErrorHostMemoryAlreadyRegistered);
  void* on_device = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&on_device, mine.data(), 0), cudaSuccess);
  launch_add(static_cast<int*>(on_device), static_cast<int>(mine.size()), 2, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(mine.front(), 3);
  EXPECT_EQ(mine.back(), 3);
  EXPECT_EQ(cudaHostUnregister(mine.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(mine.data()), cudaErrorHostMemoryNotRegistered);
  cudaGetLastError();
}

TEST(ManagedMemory, IsForBoth) {
  int* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 10 * sizeof(int), cudaMemAttachGlobal), cudaSuccess);
  for (int i = 0; i < 10; ++i) managed[i] = i;
  launch_add(managed, 10, 100, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(managed[i], 100 + i);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST(Copies, GoEveryWay) {
  const auto values = counted(1000);
  const Ints first(1000), second(1000);
  std::vector<int> back(1000);
  ASSERT_EQ(cudaMemcpy(first.get(), values.data(), 4000, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(second.get(), first.get(), 4000, cudaMemcpyDeviceToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back.data(), second.get(), 4000, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(back, values);
  std::vector<int> host(1000);
  ASSERT_EQ(cudaMemcpy(host.data(), back.data(), 4000, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(host, values);
}

TEST(Copies, BeyondTheEndAreErrorsAndCopyNothing) {
  const Ints device(1 << 20);
  const std::vector<int> values((1 << 20) + 1, 9);
  EXPECT_EQ(cudaMemcpy(device.get(), values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(device.read()[0], 0);
}

TEST(Copies, OfRowsKeepTheirPitch) {
  const auto values = counted(6 * 8);  // 6 rows of 8, of which 5 are copied
  const Ints device(6 * 10);           // rows of 10
  ASSERT_EQ(cudaMemcpy2D(device.get(), 40, values.data(), 32, 20, 6, cudaMemcpyHostToDevice), cudaSuccess);
  const std::vector<int> there = device.read();
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 10; ++column)
      EXPECT_EQ(there[static_cast<std::size_t>(10 * row + column)], column < 5 ? 8 * row + column : 0)
          << "row " << row << ", column " << column;
  EXPECT_EQ(cudaMemcpy2D(device.get(), 16, values.data(), 32, 20, 6, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  cudaGetLastError();
}

TEST(Copies, FromPageableMemoryHaveReadItOnReturn) {
  const HostInts gate(1);
  const Ints device(1), done(1);
  const OwnedStream stream;
  launch_wait(gate.get(), 1, done.get(), 1, stream.get());
  int value = 42;
  ASSERT_EQ(cudaMemcpyAsync(device.get(), &value, sizeof value, cudaMemcpyHostToDevice, stream.get()), cudaSuccess);
  value = 13;
  gate.put(1);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(device.read()[0], 42);
  EXPECT_EQ(done.read()[0], 1);
}

TEST(Fills, SetBytesAndRows) {
  const Ints device(40);
  ASSERT_EQ(cudaMemset(device.get(), 1, 8), cudaSuccess);
  ASSERT_EQ(cudaMemset2D(device.get() + 10, 40, 2, 4, 3), cudaSuccess);
  const std::vector<int> there = device.read();
  EXPECT_EQ(there[0], 0x01010101);
  EXPECT_EQ(there[1], 0x01010101);
  EXPECT_EQ(there[2], 0);
  for (const std::size_t row : {10, 20, 30}) {
    EXPECT_EQ(there[row], 0x02020202) << "index " << row;
    EXPECT_EQ(there[row + 1], 0) << "index " << row + 1;
  }
}

TEST(Pitch, IsWideEnoughAndAligned) {
  void* memory = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&memory, &pitch, 100, 3), cudaSuccess);
  EXPECT_GE(pitch, 100u);
  EXPECT_EQ(pitch % 32, 0u);
  EXPECT_EQ(cudaMemset2D(memory, pitch, 0, 100, 3), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Variables, AreReadAndWrittenByTheHost) {
  const std::vector<int> table{1, 20, 300, 4000};
  std::size_t bytes = 0;
  ASSERT_EQ(cudaGetSymbolSize(&bytes, table_symbol()), cudaSuccess);
  EXPECT_EQ(bytes, 16u);
  ASSERT_EQ(cudaMemcpyToSymbol(table_symbol(), table.data(), 16, 0, cudaMemcpyHostToDevice), cudaSuccess);
  int before = 0, after = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&before, counter_symbol(), 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(before, 100) << "its first value";
  const Ints sums(4);
  launch_use_variables(sums.get(), nullptr);
  EXPECT_EQ(sums.read(), (std::vector<int>{101, 120, 400, 4100}));
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, counter_symbol()), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&after, address, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(after, 101);
  ASSERT_EQ(cudaMemcpy(address, &before, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(table_symbol(), table.data(), 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  int no_symbol = 0;
  EXPECT_EQ(cudaGetSymbolAddress(&address, &no_symbol), cudaErrorInvalidSymbol);
  cudaGetLastError();
}

TEST(PoolMemory, IsTakenAndGivenInTheOrderOfTheStream) {
  const OwnedStream stream;
  int* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, 64 * sizeof(int), stream.get()), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 0, 64 * sizeof(int), stream.get()), cudaSuccess);
  launch_add(memory, 64, 4, stream.get());
  std::vector<int> back(64);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), memory, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(memory, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(back, std::vector<int>(64, 4));
  cudaIpcMemHandle_t handle;
  ASSERT_EQ(cudaMallocAsync(&memory, 64, stream.get()), cudaSuccess);
  EXPECT_NE(cudaIpcGetMemHandle(&handle, memory), cudaSuccess) << "memory of the default pool has no handle";
  cudaGetLastError();
  ASSERT_EQ(cudaFreeAsync(memory, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

}  // namespace
}  // namespace tutti::emulated::test

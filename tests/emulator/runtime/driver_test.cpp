// The driver's virtual memory and multicast objects, found through the runtime. They hold of a real driver as well.
#include <cuda.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/emulator/runtime/multicast_kernels.hpp"
#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

constexpr std::size_t kBytes = std::size_t{2} << 20;

template <class F>
F* found(const char* name, F*) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(name, &function, 12010, cudaEnableDefault, &answer));
  if (answer != cudaDriverEntryPointSuccess) throw std::runtime_error(name);
  return reinterpret_cast<F*>(function);
}
#define DRIVER(name) found(#name, static_cast<decltype(&name)>(nullptr))

void check(CUresult result) {
  const char* why = nullptr;
  if (result != CUDA_SUCCESS) DRIVER(cuGetErrorName)(result, &why);
  if (result != CUDA_SUCCESS) throw std::runtime_error(why ? why : "an unknown error of the driver");
}
using test::check;

CUmemLocation device_location(int device) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemGenericAllocationHandle created(int device, std::size_t bytes = kBytes) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = device_location(device);
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  check(DRIVER(cuMemCreate)(&handle, bytes, &wanted, 0));
  return handle;
}

/// A handle's memory at addresses of its own, for the given devices to read and write.
class Mapped {
 public:
  Mapped(CUmemGenericAllocationHandle handle, std::initializer_list<int> devices, std::size_t bytes = kBytes)
      : bytes_(bytes) {
    check(DRIVER(cuMemAddressReserve)(&at_, bytes, 0, 0, 0));
    check(DRIVER(cuMemMap)(at_, bytes, 0, handle, 0));
    for (const int device : devices) {
      const CUmemAccessDesc access{device_location(device), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      check(DRIVER(cuMemSetAccess)(at_, bytes, &access, 1));
    }
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    DRIVER(cuMemUnmap)(at_, bytes_);
    DRIVER(cuMemAddressFree)(at_, bytes_);
  }
  int* get() const { return reinterpret_cast<int*>(at_); }
  CUdeviceptr address() const { return at_; }

 private:
  CUdeviceptr at_ = 0;
  std::size_t bytes_;
};

int first_of(const int* memory) {
  int value = 0;
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDefault));
  return value;
}

TEST(Driver, FindsWhatItHasAndSaysWhatItHasNot) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  check(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12010, cudaEnableDefault, &answer));
  EXPECT_EQ(answer, cudaDriverEntryPointSymbolNotFound);
  int count = 0;
  check(DRIVER(cuDeviceGetCount)(&count));
  EXPECT_EQ(count, 2);
}

TEST(VirtualMemory, IsTheSameWhereverItIsMapped) {
  const CUmemGenericAllocationHandle handle = created(0);
  {
    const Mapped one(handle, {0}), two(handle, {0});
    check(cudaMemset(one.get(), 0, 400));
    launch_add(one.get(), 100, 5, nullptr);
    launch_add(two.get(), 100, 6, nullptr);
    EXPECT_EQ(first_of(one.get()), 11);
    CUmemGenericAllocationHandle again = 0;
    check(DRIVER(cuMemRetainAllocationHandle)(&again, two.get() + 1000));
    EXPECT_EQ(again, handle);
    check(DRIVER(cuMemRelease)(again));
  }
  check(DRIVER(cuMemRelease)(handle));
  EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_ERROR_INVALID_VALUE);
}

TEST(VirtualMemory, GoesToOthersByDescriptorAndOutlivesItsHandle) {
  const CUmemGenericAllocationHandle handle = created(0);
  int descriptor = -1;
  check(DRIVER(cuMemExportToShareableHandle)(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  check(DRIVER(cuMemImportFromShareableHandle)(&imported,
                                               reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  const Mapped here(handle, {0}), there(imported, {0});
  check(DRIVER(cuMemRelease)(handle));
  check(DRIVER(cuMemRelease)(imported));
  check(cudaMemset(here.get(), 0, 400));
  launch_add(there.get(), 100, 9, nullptr);
  EXPECT_EQ(first_of(here.get()), 9);
}

TEST(VirtualMemory, IsCountedUntilItsLastUseEnds) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  check(cudaMemGetInfo(&before, &total));
  {
    const CUmemGenericAllocationHandle handle = created(0, 4 * kBytes);
    const Mapped mapped(handle, {0}, 4 * kBytes);
    check(DRIVER(cuMemRelease)(handle));
    check(cudaMemGetInfo(&during, &total));
  }
  check(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before - during, 4 * kBytes);
  EXPECT_EQ(after, before);
}

TEST(VirtualMemory, IsReachedByTheDevicesThatMay) {
  const CUmemGenericAllocationHandle handle = created(0);
  const Mapped mapped(handle, {0, 1});
  check(DRIVER(cuMemRelease)(handle));
  check(cudaMemset(mapped.get(), 0, 400));
  check(cudaSetDevice(1));
  launch_add(mapped.get(), 100, 4, nullptr);
  EXPECT_EQ(first_of(mapped.get()), 4);
  check(cudaSetDevice(0));
  unsigned long long flags = 0;
  const CUmemLocation second = device_location(1);
  check(DRIVER(cuMemGetAccess)(&flags, &second, mapped.address()));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST(VirtualMemory, RefusesSizesPlacesAndHandlesThatAreNone) {
  const CUmemGenericAllocationHandle handle = created(0);
  CUdeviceptr at = 0;
  EXPECT_EQ(DRIVER(cuMemAddressReserve)(&at, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  check(DRIVER(cuMemAddressReserve)(&at, kBytes, 0, 0, 0));
  EXPECT_EQ(DRIVER(cuMemMap)(at, 2 * kBytes, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemMap)(at, kBytes, 0, handle + 1000, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemUnmap)(at, kBytes), CUDA_ERROR_INVALID_VALUE);
  check(DRIVER(cuMemMap)(at, kBytes, 0, handle, 0));
  EXPECT_EQ(DRIVER(cuMemMap)(at, kBytes, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemAddressFree)(at, kBytes), CUDA_ERROR_INVALID_VALUE);
  check(DRIVER(cuMemUnmap)(at, kBytes));
  check(DRIVER(cuMemAddressFree)(at, kBytes));
  check(DRIVER(cuMemRelease)(handle));
}

TEST(Multicast, ReducesOverAndStoresToTheMemoryOfAllDevices) {
  CUmulticastObjectProp wanted{};
  wanted.numDevices = 2;
  wanted.size = kBytes;
  wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle all = 0, memory[2] = {created(0), created(1)};
  check(DRIVER(cuMulticastCreate)(&all, &wanted));
  check(DRIVER(cuMulticastAddDevice)(all, 0));
  EXPECT_EQ(DRIVER(cuMulticastBindMem)(all, 0, memory[0], 0, kBytes, 0), CUDA_ERROR_ILLEGAL_STATE) << "one is missing";
  check(DRIVER(cuMulticastAddDevice)(all, 1));
  EXPECT_NE(DRIVER(cuMulticastAddDevice)(all, 1), CUDA_SUCCESS);
  for (const int device : {0, 1}) check(DRIVER(cuMulticastBindMem)(all, 0, memory[device], 0, kBytes, 0));
  {
    const Mapped one(memory[0], {0, 1}), two(memory[1], {0, 1}), both(all, {0, 1});
    for (const Mapped* each : {&one, &two}) {
      check(cudaMemset(each->get(), 0, 400));
      launch_add(each->get(), 1, each == &one ? 30 : 12, nullptr);
    }
    const Ints sum(1);
    launch_multimem_sum(both.get(), sum.get(), nullptr);
    EXPECT_EQ(sum.read(), std::vector<int>{42});
    launch_multimem_store(both.get(), 8, nullptr);
    EXPECT_EQ(first_of(one.get()), 8);
    EXPECT_EQ(first_of(two.get()), 8);
    launch_multimem_add(both.get(), 5, nullptr);
    EXPECT_EQ(first_of(one.get()), 13);
    EXPECT_EQ(first_of(two.get()), 13);
  }
  for (const int device : {0, 1}) {
    check(DRIVER(cuMulticastUnbind)(all, device, 0, kBytes));
    check(DRIVER(cuMemRelease)(memory[device]));
  }
  check(DRIVER(cuMemRelease)(all));
}

}  // namespace
}  // namespace tutti::emulated::test

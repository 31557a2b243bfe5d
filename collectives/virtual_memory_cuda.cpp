#include "collectives/virtual_memory_cuda.hpp"

#include <algorithm>
#include <vector>

#include "collectives/driver_cuda.hpp"
#include "collectives/error.hpp"
#include "kernels/views.hpp"

namespace tutti {
namespace {

constexpr std::size_t kAlignment = std::size_t{2} << 20;

std::vector<CUmemAccessDesc> access_of(std::span<const int> devices) {
  std::vector<CUmemAccessDesc> access;
  for (const int device : devices) {
    CUmemAccessDesc each{};
    each.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    each.location.id = device;
    each.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    access.push_back(each);
  }
  return access;
}

Descriptor share_of(CUmemGenericAllocationHandle handle, CUresult* result) {
  int fd = -1;
  *result = driver().mem_export_to_shareable_handle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  return Descriptor(*result == CUDA_SUCCESS ? fd : -1);
}

}  // namespace

std::shared_ptr<VirtualMemory> VirtualMemory::make(int device, std::size_t bytes, bool shareable,
                                                   std::span<const int> devices, std::size_t grain) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  if (shareable) wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t own_grain = 0;
  check_driver(driver().mem_get_allocation_granularity(&own_grain, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
               "cuMemGetAllocationGranularity");
  grain = std::max({grain, own_grain, kAlignment});  // powers of two
  if (bytes > SIZE_MAX - grain) throw Error(ErrorCode::system, "cuMemCreate: more than an address space");
  const std::size_t whole = ceil_div(bytes, grain) * grain;
  CUmemGenericAllocationHandle handle = 0;
  check_driver(driver().mem_create(&handle, whole, &wanted, 0), "cuMemCreate");
  const std::shared_ptr<VirtualMemory> memory(new VirtualMemory(handle, whole));
  memory->map(devices);
  return memory;
}

std::shared_ptr<VirtualMemory> VirtualMemory::from_descriptor(int fd, std::size_t bytes, int device) {
  const std::shared_ptr<VirtualMemory> memory(new VirtualMemory(import_handle(fd), bytes));
  memory->map({&device, 1});
  return memory;
}

void VirtualMemory::map(std::span<const int> devices) {
  check_driver(driver().mem_address_reserve(&base_, bytes_, kAlignment, 0, 0), "cuMemAddressReserve");
  check_driver(driver().mem_map(base_, bytes_, 0, handle_, 0), "cuMemMap");
  mapped_ = true;
  const std::vector<CUmemAccessDesc> access = access_of(devices);
  check_driver(driver().mem_set_access(base_, bytes_, access.data(), access.size()), "cuMemSetAccess");
}

VirtualMemory::~VirtualMemory() {
  if (mapped_) driver().mem_unmap(base_, bytes_);
  if (base_) driver().mem_address_free(base_, bytes_);
  driver().mem_release(handle_);
}

Descriptor VirtualMemory::share() const { return share_handle(handle_); }

Descriptor share_handle(CUmemGenericAllocationHandle handle) {
  CUresult result = CUDA_SUCCESS;
  Descriptor shared = share_of(handle, &result);
  check_driver(result, "cuMemExportToShareableHandle");
  return shared;
}

CUmemGenericAllocationHandle import_handle(int fd) {
  CUmemGenericAllocationHandle handle = 0;
  check_driver(
      driver().mem_import_from_shareable_handle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      "cuMemImportFromShareableHandle");
  return handle;
}

std::string lack_of_virtual_memory(int device) {
  try {
    for (const auto& [attribute, what] :
         {std::pair{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
          std::pair{CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "memory shared by descriptors"}}) {
      int supported = 0;
      check_driver(driver().device_get_attribute(&supported, attribute, device), "cuDeviceGetAttribute");
      if (!supported) return std::string("it has no ") + what;
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Descriptor share_of_foreign(const void* base) {
  CUmemGenericAllocationHandle handle = 0;
  if (driver().mem_retain_allocation_handle(&handle, const_cast<void*>(base)) != CUDA_SUCCESS) return {};
  CUresult result = CUDA_SUCCESS;
  Descriptor shared = share_of(handle, &result);
  driver().mem_release(handle);
  return shared;
}

bool open_to(std::span<const int> devices, const void* base, std::size_t bytes) {
  const std::vector<CUmemAccessDesc> access = access_of(devices);
  return driver().mem_set_access(reinterpret_cast<CUdeviceptr>(base), bytes, access.data(), access.size()) ==
         CUDA_SUCCESS;
}

}  // namespace tutti

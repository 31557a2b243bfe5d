#include "collectives/multicast_cuda.hpp"

#include <algorithm>
#include <functional>

#include "collectives/driver_cuda.hpp"
#include "collectives/error.hpp"
#include "collectives/mapped_segment_cuda.hpp"
#include "kernels/views.hpp"

namespace tutti {
namespace {

constexpr std::size_t kAlignment = std::size_t{2} << 20;

CUmulticastObjectProp wanted(int gpus, std::size_t bytes, bool shareable) {
  CUmulticastObjectProp properties{};
  properties.numDevices = static_cast<unsigned>(gpus);
  properties.size = bytes;
  if (shareable) properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

/// Runs `step` on this rank; whether it went well on all. Collective.
bool all_could(Bootstrap& bootstrap, const std::function<void()>& step) {
  bool could = true;
  try {
    step();
  } catch (const Error&) {
    could = false;
  }
  const std::vector<char> all = bootstrap.all_gather(static_cast<char>(could));
  return std::find(all.begin(), all.end(), 0) == all.end();
}

}  // namespace

std::shared_ptr<MulticastMemory> MulticastMemory::make(int gpus, std::size_t bytes, bool shareable) {
  const CUmulticastObjectProp properties = wanted(gpus, bytes, shareable);
  CUmemGenericAllocationHandle handle = 0;
  check_driver(driver().multicast_create(&handle, &properties), "cuMulticastCreate");
  return std::shared_ptr<MulticastMemory>(new MulticastMemory(handle, bytes));
}

std::shared_ptr<MulticastMemory> MulticastMemory::from_descriptor(int fd, std::size_t bytes) {
  return std::shared_ptr<MulticastMemory>(new MulticastMemory(import_handle(fd), bytes));
}

std::shared_ptr<MulticastMemory> MulticastMemory::again(std::shared_ptr<MulticastMemory> first) {
  const CUmemGenericAllocationHandle handle = first->handle_;
  const std::size_t bytes = first->bytes_;
  return std::shared_ptr<MulticastMemory>(new MulticastMemory(handle, bytes, std::move(first)));
}

MulticastMemory::~MulticastMemory() {
  if (mapped_) driver().mem_unmap(base_, bytes_);
  if (base_) driver().mem_address_free(base_, bytes_);
  if (memory_) driver().multicast_unbind(handle_, device_, 0, bytes_);
  if (!owner_) driver().mem_release(handle_);
}

Descriptor MulticastMemory::share() const { return share_handle(handle_); }

void MulticastMemory::add(int device) {
  check_driver(driver().multicast_add_device(handle_, device), "cuMulticastAddDevice");
  device_ = device;
}

void MulticastMemory::bind(std::shared_ptr<VirtualMemory> memory) {
  check_driver(driver().multicast_bind_mem(handle_, 0, memory->handle(), 0, bytes_, 0), "cuMulticastBindMem");
  memory_ = std::move(memory);
}

void MulticastMemory::map() {
  check_driver(driver().mem_address_reserve(&base_, bytes_, kAlignment, 0, 0), "cuMemAddressReserve");
  check_driver(driver().mem_map(base_, bytes_, 0, handle_, 0), "cuMemMap");
  mapped_ = true;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check_driver(driver().mem_set_access(base_, bytes_, &access, 1), "cuMemSetAccess");
}

std::size_t multicast_grain(int gpus, std::size_t bytes, bool shareable) {
  const CUmulticastObjectProp properties = wanted(gpus, std::max(bytes, kAlignment), shareable);
  std::size_t least = 0, best = 0;
  check_driver(driver().multicast_get_granularity(&least, &properties, CU_MULTICAST_GRANULARITY_MINIMUM),
               "cuMulticastGetGranularity");
  check_driver(driver().multicast_get_granularity(&best, &properties, CU_MULTICAST_GRANULARITY_RECOMMENDED),
               "cuMulticastGetGranularity");
  return bytes < best ? least : best;  // what is recommended may be half a GiB
}

bool can_multicast(int device) {
  try {
    int supported = 0;
    check_driver(driver().device_get_attribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device),
                 "cuDeviceGetAttribute");
    return supported != 0 && driver().has_multicast() && lack_of_virtual_memory(device).empty();
  } catch (const Error&) {
    return false;
  }
}

std::shared_ptr<MulticastMemory> bind_multicast(const Members& members, const detail::DeviceSession& device,
                                                std::shared_ptr<VirtualMemory> mine) {
  Bootstrap& bootstrap = members.bootstrap;
  const std::size_t bytes = mine->bytes();
  const bool shareable = device.has_strangers(members.session_ranks), leads = bootstrap.rank() == 0;
  std::shared_ptr<MulticastMemory> object;
  Descriptor descriptor;
  if (!all_could(bootstrap, [&] {
        if (!leads) return;
        object = MulticastMemory::make(bootstrap.size(), bytes, shareable);
        if (shareable) descriptor = object->share();
      }))
    return nullptr;
  std::vector<Descriptor> descriptors;
  std::vector<std::shared_ptr<void>> objects;
  if (shareable)
    descriptors = bootstrap.share(descriptor.get());
  else
    objects = hand_over(bootstrap, object);
  const auto join = [&] {
    if (!leads)
      object = shareable ? MulticastMemory::from_descriptor(descriptors[0].get(), bytes)
                         : MulticastMemory::again(std::static_pointer_cast<MulticastMemory>(objects[0]));
    object->add(device.device());
  };
  const bool is_bound = all_could(bootstrap, join) && all_could(bootstrap, [&] { object->bind(std::move(mine)); }) &&
                        all_could(bootstrap, [&] { object->map(); });
  return is_bound ? object : nullptr;
}

}  // namespace tutti

// The driver's virtual memory: physical memory behind handles, addresses, and the one mapped at the other.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <string_view>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/driver.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/memory.hpp"
#include "tests/emulator/runtime/memory_objects.hpp"
#include "tests/emulator/runtime/multicast.hpp"
#include "tests/emulator/runtime/settings.hpp"

using namespace tutti::emulated;

namespace {

/// How the file of a GPU's memory is called, before the number of the GPU.
constexpr std::string_view kMemoryName = "tutti-emulated-vmm-";

/// Ranges that programs have reserved; also guards the mapping of objects into them.
struct Reservations {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> bytes_at;

  bool hold(std::uintptr_t address, std::size_t bytes) const {
    auto next = bytes_at.upper_bound(address);
    if (next == bytes_at.begin()) return false;
    const auto& [begin, length] = *--next;
    return address - begin <= length && bytes <= length - (address - begin);
  }
};
Reservations& reservations() {
  static auto* const all = new Reservations;
  return *all;
}

bool is_grained(std::size_t bytes) { return bytes != 0 && bytes % kMemoryGrain == 0; }

void check(const CUmemAllocationProp& wanted) {
  require(wanted.type == CU_MEM_ALLOCATION_TYPE_PINNED, cudaErrorInvalidValue);
  require(wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE, cudaErrorNotSupported);
  require(wanted.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
              wanted.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
          cudaErrorNotSupported);
  device_at(wanted.location.id);
}

/// The mappings that lie in a range, if they fill it without gaps and none reaches beyond it.
std::vector<AllocationPointer> mappings_of(std::uintptr_t address, std::size_t bytes) {
  auto found = AllocationTable::instance().all([&](const Allocation& each) {
    return (each.kind == Allocation::Kind::virtual_map || each.kind == Allocation::Kind::multicast) &&
           each.address < address + bytes && address < each.address + each.bytes;
  });
  std::uintptr_t at = address;
  for (const auto& each : found) {
    require(each->address == at, cudaErrorInvalidValue);
    at += each->bytes;
  }
  require(!found.empty() && at == address + bytes, cudaErrorInvalidValue);
  return found;
}

/// Which GPU's memory an open file is, by its name; -1 if it is a multicast object's.
int gpu_of_file(int file) {
  char link[128];
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  const ssize_t length = readlink(path.c_str(), link, sizeof link);
  require(length > 0, cudaErrorInvalidValue);
  std::string_view name(link, static_cast<std::size_t>(length));
  const std::string_view folder = "/memfd:";
  require(name.starts_with(folder), cudaErrorInvalidValue);
  name.remove_prefix(folder.size());
  if (name.starts_with(Multicast::kFileName)) return -1;
  require(name.starts_with(kMemoryName), cudaErrorInvalidValue);
  name.remove_prefix(kMemoryName.size());
  int gpu = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), gpu);
  require(error == std::errc{} && gpu >= 0 && gpu < settings().gpus, cudaErrorInvalidValue);
  return gpu;
}

std::size_t bytes_of_file(int file) {
  struct stat facts {};
  require(fstat(file, &facts) == 0, cudaErrorInvalidValue);
  return static_cast<std::size_t>(facts.st_size);
}

}  // namespace

CUresult cuMemGetAllocationGranularity(std::size_t* grain, const CUmemAllocationProp* wanted,
                                       CUmemAllocationGranularity_flags) {
  return driver_entry([&] {
    require(grain && wanted, cudaErrorInvalidValue);
    check(*wanted);
    *grain = kMemoryGrain;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* wanted,
                     unsigned long long flags) {
  return driver_entry([&] {
    require(handle && wanted && flags == 0 && is_grained(bytes), cudaErrorInvalidValue);
    check(*wanted);
    count(FaultPoint::allocation);
    Device& device = device_at(wanted->location.id);
    device.require_healthy();
    auto made = std::make_shared<MemoryObject>();
    made->properties = *wanted;
    made->gpu = device.gpu();
    made->bytes = bytes;
    if (!device.take(bytes)) throw Failure(cudaErrorMemoryAllocation);
    made->counted_on = &device;
    std::string name(kMemoryName);
    name += std::to_string(device.gpu());
    made->file = std::make_shared<MemoryFile>(named_file(bytes, name.c_str()));
    *handle = enter_object(std::move(made));
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return driver_entry([&] { release_handle(handle); });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return driver_entry([&] {
    const auto object = object_of(handle);
    require(properties && !object->multicast, cudaErrorInvalidValue);
    *properties = object->properties;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  return driver_entry([&] {
    require(address && flags == 0 && is_grained(bytes) && (alignment & (alignment - 1)) == 0, cudaErrorInvalidValue);
    const std::uintptr_t reserved = AddressSpace::instance().reserve(
        bytes, std::max(alignment, AddressSpace::kGranularity), static_cast<std::uintptr_t>(wanted));
    Reservations& all = reservations();
    const std::lock_guard lock(all.mutex);
    all.bytes_at[reserved] = bytes;
    *address = reserved;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return driver_entry([&] {
    const auto at = static_cast<std::uintptr_t>(address);
    Reservations& all = reservations();
    const std::lock_guard lock(all.mutex);
    const auto found = all.bytes_at.find(at);
    require(found != all.bytes_at.end() && found->second == bytes, cudaErrorInvalidValue);
    const auto mapped = AllocationTable::instance().all(
        [&](const Allocation& each) { return each.address < at + bytes && at < each.address + each.bytes; });
    require(mapped.empty(), cudaErrorInvalidValue);
    all.bytes_at.erase(found);
    AddressSpace::instance().release(at, bytes);
  });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return driver_entry([&] {
    const auto at = static_cast<std::uintptr_t>(address);
    const auto object = object_of(handle);
    require(flags == 0 && is_grained(bytes) && at % kMemoryGrain == 0 && offset % kMemoryGrain == 0 &&
                offset <= object->bytes && bytes <= object->bytes - offset,
            cudaErrorInvalidValue);
    Reservations& all = reservations();
    const std::lock_guard lock(all.mutex);
    require(all.hold(at, bytes), cudaErrorInvalidValue);
    AllocationTable& table = AllocationTable::instance();
    const auto overlapping =
        table.all([&](const Allocation& each) { return each.address < at + bytes && at < each.address + each.bytes; });
    require(overlapping.empty(), cudaErrorInvalidValue);
    auto made = std::make_shared<Allocation>();
    made->kind = object->multicast ? Allocation::Kind::multicast : Allocation::Kind::virtual_map;
    made->address = at;
    made->bytes = bytes;
    // Of a GPU that this process does not see something must be said, too.
    made->device = std::max(visible_index(object->gpu), 0);
    made->serial = next_serial();
    made->file = object->file;
    made->file_offset = offset;
    made->object = object;
    // Ordinary accesses to multicast addresses mean nothing, so there is nothing behind them.
    if (!object->multicast) AddressSpace::instance().map(at, bytes, object->file->file(), offset);
    table.insert(std::move(made));
  });
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return driver_entry([&] {
    const std::lock_guard lock(reservations().mutex);
    for (const auto& mapping : mappings_of(static_cast<std::uintptr_t>(address), bytes)) {
      AllocationTable::instance().remove(mapping->address);
      if (mapping->kind == Allocation::Kind::virtual_map)
        AddressSpace::instance().unmap(mapping->address, mapping->bytes);
    }
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* wanted, std::size_t count) {
  return driver_entry([&] {
    require(wanted && count != 0, cudaErrorInvalidValue);
    const std::lock_guard lock(reservations().mutex);
    const auto mappings = mappings_of(static_cast<std::uintptr_t>(address), bytes);
    std::uint64_t devices = 0, readers = 0, writers = 0;
    for (std::size_t i = 0; i < count; ++i) {
      require(wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE, cudaErrorNotSupported);
      const Device& device = device_at(wanted[i].location.id);
      for (const auto& mapping : mappings) {
        const auto& object = *static_cast<const MemoryObject*>(mapping->object.get());
        require(object.multicast ? object.multicast->has(device.gpu())
                                 : object.gpu == device.gpu() || settings().peer_access,
                cudaErrorInvalidDevice);
      }
      const std::uint64_t bit = std::uint64_t{1} << device.index();
      devices |= bit;
      if (wanted[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ) readers |= bit;
      if (wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) writers |= bit;
    }
    AllocationTable& table = AllocationTable::instance();
    for (const auto& mapping : mappings) {
      auto changed = std::make_shared<Allocation>(*mapping);
      changed->may_read = (mapping->may_read & ~devices) | readers;
      changed->may_write = (mapping->may_write & ~devices) | writers;
      table.insert(std::move(changed));
    }
    table.changed();
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return driver_entry([&] {
    require(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE, cudaErrorInvalidValue);
    const auto found = AllocationTable::instance().find(static_cast<std::uintptr_t>(address));
    require(found && found->kind == Allocation::Kind::virtual_map, cudaErrorInvalidValue);
    const std::uint64_t bit = std::uint64_t{1} << device_at(location->id).index();
    *flags = (found->may_write & bit)  ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : (found->may_read & bit) ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                       : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return driver_entry([&] {
    require(handle != nullptr, cudaErrorInvalidValue);
    const auto found = AllocationTable::instance().find(reinterpret_cast<std::uintptr_t>(address));
    require(found && found->kind == Allocation::Kind::virtual_map, cudaErrorInvalidValue);
    *handle = retain_handle(std::static_pointer_cast<MemoryObject>(found->object));
  });
}

CUresult cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return driver_entry([&] {
    require(shared && flags == 0, cudaErrorInvalidValue);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, cudaErrorNotSupported);
    const auto object = object_of(handle);
    require(object->properties.requestedHandleTypes == type, cudaErrorInvalidValue);
    const int copy = fcntl(object->file->file(), F_DUPFD_CLOEXEC, 0);
    require(copy >= 0, cudaErrorOperatingSystem);
    *static_cast<int*>(shared) = copy;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shared,
                                        CUmemAllocationHandleType type) {
  return driver_entry([&] {
    require(handle != nullptr, cudaErrorInvalidValue);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, cudaErrorNotSupported);
    count(FaultPoint::ipc_open);
    const int copy = fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(shared)), F_DUPFD_CLOEXEC, 0);
    require(copy >= 0, cudaErrorInvalidValue);
    auto made = std::make_shared<MemoryObject>();
    made->file = std::make_shared<MemoryFile>(MemoryFile::adopt(copy));
    made->gpu = gpu_of_file(made->file->file());
    made->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    made->properties.requestedHandleTypes = type;
    if (made->gpu < 0) {
      made->multicast = Multicast::open(made->file);
      made->bytes = made->multicast->bytes();
    } else {
      made->bytes = bytes_of_file(made->file->file());
      const int index = visible_index(made->gpu);
      made->properties.location.type = index < 0 ? CU_MEM_LOCATION_TYPE_NONE : CU_MEM_LOCATION_TYPE_DEVICE;
      made->properties.location.id = std::max(index, 0);
    }
    *handle = enter_object(std::move(made));
  });
}

// Memory and events of other processes of this machine. A handle names an open file of its process and proves which:
// descriptors are used again, files are not.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/events.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace {

using namespace tutti::emulated;

struct Handle {
  static constexpr std::uint64_t kMagic = 0x7475747469697063;
  std::uint64_t magic;
  std::int32_t process, file;
  std::uint64_t device_of_file, inode;
  std::uint64_t bytes;
  std::uint64_t is_event;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t) && sizeof(Handle) <= sizeof(cudaIpcEventHandle_t));

Handle handle_of(int file, std::size_t bytes, bool is_event) {
  struct stat facts {};
  require(fstat(file, &facts) == 0, cudaErrorOperatingSystem);
  return {Handle::kMagic, getpid(), file, facts.st_dev, facts.st_ino, bytes, is_event};
}

/// Opens the file again; throws cudaErrorMapBufferObjectFailed if its owner has closed it, or has ended.
MemoryFile open_again(const Handle& handle) {
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.process, handle.file);
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(opened >= 0, cudaErrorMapBufferObjectFailed);
  MemoryFile file = MemoryFile::adopt(opened);
  struct stat facts {};
  require(fstat(file.file(), &facts) == 0 && facts.st_dev == handle.device_of_file && facts.st_ino == handle.inode,
          cudaErrorMapBufferObjectFailed);
  return file;
}

template <class Given>
Handle read(const Given& given, bool is_event) {
  Handle handle;
  std::memcpy(&handle, &given, sizeof handle);
  require(handle.magic == Handle::kMagic && handle.is_event == static_cast<std::uint64_t>(is_event),
          cudaErrorInvalidValue);
  return handle;
}

/// What this process has mapped of others. The second opening on a device gives the same address.
struct Imported {
  AllocationPointer allocation;
  std::uint64_t device_of_file, inode;
  int times;
};
struct Imports {
  std::mutex mutex;
  std::map<std::uintptr_t, Imported> by_address;
};
Imports& imports() {
  static Imports* const all = new Imports;
  return *all;
}

std::uintptr_t import(Device& device, const Handle& handle) {
  MemoryFile file = open_again(handle);
  Imports& all = imports();
  std::lock_guard lock(all.mutex);
  for (auto& [address, imported] : all.by_address)
    if (imported.device_of_file == handle.device_of_file && imported.inode == handle.inode &&
        imported.allocation->device == device.index()) {
      ++imported.times;
      return address;
    }
  auto made = std::make_shared<Allocation>();
  made->kind = Allocation::Kind::imported;
  made->bytes = handle.bytes;
  made->device = device.index();
  made->serial = next_serial();
  made->file = std::make_shared<MemoryFile>(std::move(file));
  AddressSpace& space = AddressSpace::instance();
  made->address = space.reserve(handle.bytes);
  try {
    space.map(made->address, made->bytes, made->file->file(), 0);
  } catch (...) {
    space.release(made->address, made->bytes);
    throw Failure(cudaErrorMapBufferObjectFailed);
  }
  all.by_address[made->address] = {made, handle.device_of_file, handle.inode, 1};
  AllocationTable::instance().insert(made);
  return made->address;
}

}  // namespace

namespace tutti::emulated {

void forget_imports_of(int device) {
  Imports& all = imports();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.by_address, [&](const auto& entry) { return entry.second.allocation->device == device; });
}

}  // namespace tutti::emulated

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  return entry([&](Device&) {
    require(handle != nullptr, cudaErrorInvalidValue);
    const auto found = AllocationTable::instance().find(reinterpret_cast<std::uintptr_t>(memory));
    require(found && found->kind == Allocation::Kind::device, cudaErrorInvalidValue);
    const Handle made = handle_of(found->file->file(), found->bytes, false);
    *handle = {};
    std::memcpy(handle, &made, sizeof made);
  });
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t given, unsigned flags) {
  return entry([&](Device& device) {
    count(FaultPoint::ipc_open);
    require(memory != nullptr && flags == cudaIpcMemLazyEnablePeerAccess, cudaErrorInvalidValue);
    const Handle handle = read(given, false);
    require(handle.process != getpid(), cudaErrorDeviceUninitialized);
    *memory = reinterpret_cast<void*>(import(device, handle));
  });
}

cudaError_t cudaIpcCloseMemHandle(void* memory) {
  return entry([&](Device&) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    Imports& all = imports();
    std::unique_lock lock(all.mutex);
    const auto found = all.by_address.find(address);
    require(found != all.by_address.end(), cudaErrorInvalidValue);
    if (--found->second.times != 0) return;
    const AllocationPointer allocation = found->second.allocation;
    all.by_address.erase(found);
    lock.unlock();
    device_at(allocation->device).synchronize();
    if (AllocationTable::instance().remove(address)) release(allocation);
  });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return entry([&](Device&) {
    require(handle != nullptr, cudaErrorInvalidValue);
    const auto found = event_of(event);
    require(found->file() >= 0, cudaErrorInvalidResourceHandle);
    const Handle made = handle_of(found->file(), sizeof(EventState), true);
    *handle = {};
    std::memcpy(handle, &made, sizeof made);
  });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t given) {
  return entry([&](Device& device) {
    require(event != nullptr, cudaErrorInvalidValue);
    const Handle handle = read(given, true);
    require(handle.process != getpid(), cudaErrorDeviceUninitialized);
    *event = enter_event(std::make_shared<Event>(device.index(), open_again(handle)));
  });
}

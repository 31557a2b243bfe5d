#include "tests/emulator/runtime/memory_objects.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {
namespace {

struct Handles {
  struct Entry {
    std::shared_ptr<MemoryObject> object;
    int references = 0;
  };
  std::mutex mutex;
  std::map<CUmemGenericAllocationHandle, Entry> entries;
  CUmemGenericAllocationHandle last = 0;
};
Handles& handles() {
  static auto* const all = new Handles;
  return *all;
}

}  // namespace

MemoryObject::~MemoryObject() {
  if (counted_on) counted_on->give(bytes);
}

MemoryFile named_file(std::size_t bytes, const char* name) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) throw Failure(cudaErrorMemoryAllocation);
  MemoryFile owned = MemoryFile::adopt(file);
  if (ftruncate(owned.file(), static_cast<off_t>(bytes)) != 0) throw Failure(cudaErrorMemoryAllocation);
  return owned;
}

CUmemGenericAllocationHandle enter_object(std::shared_ptr<MemoryObject> object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  all.entries[++all.last] = {std::move(object), 1};
  return all.last;
}

CUmemGenericAllocationHandle retain_handle(const std::shared_ptr<MemoryObject>& object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  for (auto& [handle, entry] : all.entries)
    if (entry.object == object) {
      ++entry.references;
      return handle;
    }
  all.entries[++all.last] = {object, 1};
  return all.last;
}

std::shared_ptr<MemoryObject> object_of(CUmemGenericAllocationHandle handle) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(handle);
  require(found != all.entries.end(), cudaErrorInvalidValue);
  return found->second.object;
}

void release_handle(CUmemGenericAllocationHandle handle) {
  Handles& all = handles();
  std::shared_ptr<MemoryObject> last;  // ends outside the lock
  const std::lock_guard lock(all.mutex);
  const auto found = all.entries.find(handle);
  require(found != all.entries.end(), cudaErrorInvalidValue);
  if (--found->second.references != 0) return;
  last = std::move(found->second.object);
  all.entries.erase(found);
}

int visible_index(int gpu) {
  for (const auto& device : devices())
    if (device->gpu() == gpu) return device->index();
  return -1;
}

}  // namespace tutti::emulated

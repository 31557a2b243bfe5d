// Hints about managed memory: checked, and of no effect where there is one memory.
#include <algorithm>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace {

using namespace tutti::emulated;

void require_managed(const void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto found = AllocationTable::instance().find(address);
  require(bytes != 0 && found && found->kind == Allocation::Kind::managed && found->holds(address, bytes),
          cudaErrorInvalidValue);
}

void require_place(const cudaMemLocation& location) {
  require(location.type != cudaMemLocationTypeInvalid, cudaErrorInvalidValue);
  if (location.type == cudaMemLocationTypeDevice) device_at(location.id);
}

}  // namespace

cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream) {
  return entry([&](Device&) {
    require(flags == 0, cudaErrorInvalidValue);
    require_managed(memory, bytes);
    require_place(location);
    submit(stream_of(stream), Task{[](Device&) {}, "cudaMemPrefetchAsync"});
  });
}

cudaError_t cudaMemAdvise(const void* memory, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
  return entry([&](Device&) {
    require(advice >= cudaMemAdviseSetReadMostly && advice <= cudaMemAdviseUnsetAccessedBy, cudaErrorInvalidValue);
    require_managed(memory, bytes);
    const bool names_a_place = advice != cudaMemAdviseSetReadMostly && advice != cudaMemAdviseUnsetReadMostly &&
                               advice != cudaMemAdviseUnsetPreferredLocation;
    if (names_a_place) require_place(location);
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* memory, std::size_t, unsigned flags) {
  return entry([&](Device&) {
    require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle,
            cudaErrorInvalidValue);
    require_managed(memory, 1);
    submit(stream_of(stream), Task{[](Device&) {}, "cudaStreamAttachMemAsync"});
  });
}

extern "C" {

cudaError_t cudaMemPrefetchAsync_ptsz(const void* memory, std::size_t bytes, cudaMemLocation location, unsigned flags,
                                      cudaStream_t stream) {
  return cudaMemPrefetchAsync(memory, bytes, location, flags, per_thread(stream));
}
cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* memory, std::size_t bytes, unsigned flags) {
  return cudaStreamAttachMemAsync(per_thread(stream), memory, bytes, flags);
}

}  // extern "C"

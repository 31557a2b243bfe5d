#include "collectives/segments_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/mapped_segment_cuda.hpp"
#include "collectives/multicast_cuda.hpp"
#include "collectives/streams_cuda.hpp"
#include "collectives/virtual_memory_cuda.hpp"
#include "kernels/views.hpp"

namespace tutti {
namespace {

using detail::check_cuda;
using detail::DeviceSession;
using Thing = MappedSegment::Thing;

/// What a rank hands out.
struct Offered {
  std::size_t bytes;
  std::size_t whole;          ///< of the allocation
  char* pointer;              ///< for ranks of the same process
  cudaIpcMemHandle_t handle;  ///< of the allocation, for other processes
};

/// A handle names a whole allocation of the driver, which hands out small ones together: none is shared then.
constexpr std::size_t kWhole = std::size_t{2} << 20;

[[noreturn]] void refuse(int device, std::size_t bytes, const std::string& why) {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw Error(ErrorCode::system, fmt::format("GPU {} cannot give {} bytes; {} of {} are free{}{}", device, bytes, free,
                                             total, why.empty() ? "" : ": ", why));
}

/// The memory is zeroed and that has ended before anyone learns where it is.
void clear(DeviceSession& device, void* memory, std::size_t bytes) {
  check_cuda(cudaMemsetAsync(memory, 0, bytes, device.quiet()), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(device.quiet()), "cudaStreamSynchronize");
}

Thing make_by_malloc(DeviceSession& device, bool by_handle, Offered& mine) {
  void* memory = nullptr;
  if (mine.bytes > SIZE_MAX - kWhole || cudaMalloc(&memory, ceil_div(mine.bytes, kWhole) * kWhole) != cudaSuccess) {
    cudaGetLastError();
    refuse(device.device(), mine.bytes, "");
  }
  Thing owner(memory, [](void* at) { cudaFree(at); });
  clear(device, memory, mine.bytes);
  mine.pointer = static_cast<char*>(memory);
  if (by_handle) check_cuda(cudaIpcGetMemHandle(&mine.handle, memory), "cudaIpcGetMemHandle");
  return owner;
}

std::shared_ptr<VirtualMemory> make_virtual(DeviceSession& device, bool shareable, std::size_t grain, Offered& mine,
                                            Descriptor& descriptor) {
  std::shared_ptr<VirtualMemory> memory;
  try {
    memory = VirtualMemory::make(device.device(), mine.bytes, shareable, device.peers(), grain);
  } catch (const Error& error) {
    refuse(device.device(), mine.bytes, error.what());
  }
  clear(device, memory->base(), mine.bytes);
  mine.pointer = memory->base();
  mine.whole = memory->bytes();
  if (shareable) descriptor = memory->share();
  return memory;
}

bool have_as_many_bytes(const std::vector<Offered>& offered) {
  return std::all_of(offered.begin(), offered.end(),
                     [&](const Offered& each) { return each.bytes > 0 && each.whole == offered[0].whole; });
}

}  // namespace

std::shared_ptr<SharedSegment> allocate_device_segment(const Members& members, std::shared_ptr<DeviceSession> device,
                                                       std::size_t bytes, bool multicast) {
  Bootstrap& bootstrap = members.bootstrap;
  const detail::OnDevice current(device->device());
  const detail::BesideCaptures beside;
  device->expect_idle(bootstrap, members.session_ranks, "a communicator is made, or memory allocated,");
  multicast &= device->multicast() && bootstrap.size() > 1;
  const bool is_virtual = device->virtual_memory(), strangers = device->has_strangers(members.session_ranks);
  auto segment = std::make_shared<MappedSegment>(members, device);

  Offered mine{};
  mine.bytes = bytes;
  Thing own;
  std::shared_ptr<VirtualMemory> own_virtual;
  Descriptor descriptor;
  detail::together(bootstrap, [&] {
    if (bytes == 0) return;
    const std::size_t grain = multicast ? multicast_grain(bootstrap.size(), bytes, strangers) : 0;
    if (is_virtual)
      own = own_virtual = make_virtual(*device, strangers, grain, mine, descriptor);
    else
      own = make_by_malloc(*device, strangers, mine);
  });
  const std::vector<Offered> offered = bootstrap.all_gather(mine);
  std::vector<Descriptor> descriptors(offered.size());
  if (is_virtual && !bootstrap.shares_memory()) descriptors = bootstrap.share(descriptor.get());
  if (bootstrap.shares_memory())
    segment->holding().handed = hand_over(bootstrap, std::move(own));
  else
    segment->holding().share = std::move(own);

  detail::together(bootstrap, [&] {
    for (int r = 0; r < bootstrap.size(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      const Offered& theirs = offered[at];
      if (theirs.bytes == 0 || device->is_in_process(members.session_ranks[at])) {
        segment->set(r, theirs.pointer, theirs.bytes);
      } else if (is_virtual) {
        auto memory = VirtualMemory::from_descriptor(descriptors[at].get(), theirs.whole, device->device());
        segment->set(r, memory->base(), theirs.bytes);
        segment->holding().mappings.push_back(std::move(memory));
      } else {
        Thing mapping = open_by_handle(theirs.handle, device->device(), r);
        segment->set(r, static_cast<char*>(mapping.get()), theirs.bytes);
        segment->holding().mappings.push_back(std::move(mapping));
      }
    }
  });
  if (!multicast || !have_as_many_bytes(offered)) return segment;
  if (auto object = bind_multicast(members, *device, std::move(own_virtual))) {
    char* const base = object->base();
    segment->set_multicast(base, std::move(object));
  }
  return segment;
}

}  // namespace tutti

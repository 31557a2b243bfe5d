#include "collectives/mapped_segment_cuda.hpp"

#include <fmt/format.h>

namespace tutti {

MappedSegment::MappedSegment(const Members& members, std::shared_ptr<detail::DeviceSession> device)
    : device_(std::move(device)),
      members_(set_of(members.session_ranks)),
      bases_(members.session_ranks.size()),
      bytes_(members.session_ranks.size()) {
  key_.leader = members.session_ranks[0];
  key_.serial = members.bootstrap.all_gather(device_->next_serial())[0];
  device_->retired().open(key_);
}

MappedSegment::~MappedSegment() { device_->retired().retire(key_, members_, std::move(holding_)); }

void MappedSegment::set(int rank, char* base, std::size_t bytes) {
  bases_[static_cast<std::size_t>(rank)] = base;
  bytes_[static_cast<std::size_t>(rank)] = bytes;
}

void MappedSegment::set_multicast(char* base, Thing thing) {
  multicast_ = base;
  holding_.mappings.push_back(std::move(thing));
}

std::vector<MappedSegment::Thing> hand_over(Bootstrap& bootstrap, MappedSegment::Thing mine) {
  // On the heap: if an exchange below fails, a slower rank may still read it, and then it is never freed.
  auto* const offered = new MappedSegment::Thing(std::move(mine));
  std::vector<MappedSegment::Thing> all;
  for (const MappedSegment::Thing* theirs : bootstrap.all_gather(offered)) all.push_back(*theirs);
  bootstrap.barrier();
  delete offered;
  return all;
}

MappedSegment::Thing open_by_handle(const cudaIpcMemHandle_t& handle, int device, int rank) {
  void* mapped = nullptr;
  const cudaError_t result = cudaIpcOpenMemHandle(&mapped, handle, cudaIpcMemLazyEnablePeerAccess);
  if (result != cudaSuccess) {
    cudaGetLastError();
    throw Error(ErrorCode::system,
                fmt::format("GPU {} cannot map the memory of rank {}: {}. Between containers, CUDA IPC needs a common "
                            "IPC and PID namespace",
                            device, rank, cudaGetErrorString(result)));
  }
  return {mapped, [](void* at) { cudaIpcCloseMemHandle(at); }};
}

}  // namespace tutti

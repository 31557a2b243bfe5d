#include "collectives/segments_cuda.hpp"

#include <fmt/format.h>

#include "kernels/views.hpp"

namespace tutti {
namespace {

using detail::check_cuda;

/// What a rank hands out: a handle for other processes, a pointer for threads of its own.
struct Offered {
  cudaIpcMemHandle_t handle;
  char* pointer;
  std::size_t bytes;
};

class DeviceSegment : public SharedSegment {
 public:
  DeviceSegment(Bootstrap& bootstrap, std::shared_ptr<detail::DeviceSession> device, std::size_t bytes)
      : device_(std::move(device)),
        serial_(device_->next_serial()),
        rank_(bootstrap.rank()),
        by_handle_(!bootstrap.shares_memory()),
        bases_(static_cast<std::size_t>(bootstrap.size())) {
    const detail::OnDevice current(device_->device());
    Offered mine{};
    mine.bytes = bytes;
    try {
      detail::together(bootstrap, [&] { offer(mine); });
      offered_ = bootstrap.all_gather(mine);
      detail::together(bootstrap, [&] { map(); });
    } catch (...) {
      let_go();
      throw;
    }
  }
  ~DeviceSegment() override { let_go(); }

  char* base(int rank) const override { return bases_[static_cast<std::size_t>(rank)]; }
  std::size_t bytes(int rank) const override { return offered_[static_cast<std::size_t>(rank)].bytes; }

 private:
  /// The memory is zeroed and that has ended before anyone learns where it is.
  void offer(Offered& mine) {
    if (mine.bytes == 0) return;
    // A handle names a whole allocation of the driver, which hands out small ones together: none is shared then.
    constexpr std::size_t kWhole = std::size_t{2} << 20;
    if (mine.bytes > SIZE_MAX - kWhole ||
        cudaMalloc(reinterpret_cast<void**>(&own_), ceil_div(mine.bytes, kWhole) * kWhole) != cudaSuccess) {
      own_ = nullptr;
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw Error(ErrorCode::system, fmt::format("GPU {} cannot give {} bytes; {} of {} are free", device_->device(),
                                                 mine.bytes, free, total));
    }
    check_cuda(cudaMemsetAsync(own_, 0, mine.bytes, device_->quiet()), "cudaMemsetAsync");
    check_cuda(cudaStreamSynchronize(device_->quiet()), "cudaStreamSynchronize");
    mine.pointer = own_;
    if (by_handle_) check_cuda(cudaIpcGetMemHandle(&mine.handle, own_), "cudaIpcGetMemHandle");
  }

  void map() {
    for (std::size_t r = 0; r < bases_.size(); ++r) {
      const Offered& theirs = offered_[r];
      if (static_cast<int>(r) == rank_ || !by_handle_ || theirs.bytes == 0) {
        bases_[r] = theirs.pointer;
        continue;
      }
      void* mapped = nullptr;
      const cudaError_t result = cudaIpcOpenMemHandle(&mapped, theirs.handle, cudaIpcMemLazyEnablePeerAccess);
      if (result != cudaSuccess) {
        cudaGetLastError();
        throw Error(ErrorCode::system,
                    fmt::format("GPU {} cannot map the memory of rank {}: {}. Between containers, CUDA IPC needs a "
                                "common IPC and PID namespace",
                                device_->device(), r, cudaGetErrorString(result)));
      }
      bases_[r] = static_cast<char*>(mapped);
    }
  }

  /// Retired even without memory of its own: the peers free theirs once every rank has.
  void let_go() {
    std::vector<void*> mappings;
    for (std::size_t r = 0; r < bases_.size(); ++r)
      if (by_handle_ && static_cast<int>(r) != rank_ && bases_[r]) mappings.push_back(bases_[r]);
    device_->retire(serial_, own_, std::move(mappings));
  }

  std::shared_ptr<detail::DeviceSession> device_;
  std::uint64_t serial_;
  int rank_;
  bool by_handle_;
  char* own_ = nullptr;
  std::vector<Offered> offered_;
  std::vector<char*> bases_;
};

}  // namespace

std::shared_ptr<SharedSegment> allocate_device_segment(Bootstrap& bootstrap,
                                                       std::shared_ptr<detail::DeviceSession> device,
                                                       std::size_t bytes) {
  device->expect_idle(bootstrap, "a communicator is made, or memory allocated,");
  device->free_retired(bootstrap);
  return std::make_shared<DeviceSegment>(bootstrap, std::move(device), bytes);
}

}  // namespace tutti

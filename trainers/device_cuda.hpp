// The current GPU as a trainer's device: memory of it, and one stream.
#pragma once
#include <cuda_runtime_api.h>

#include <vector>

#include "trainers/device.hpp"

namespace tutti::trainers {

/// Throws ErrorCode::system, saying which call failed and why.
void check_cuda(cudaError_t result, const char* call);
void check_cuda(int result, const char* call);

class GpuDevice final : public Device {
 public:
  /// Takes the current device. Throws ErrorCode::unsupported if there is none.
  GpuDevice();
  ~GpuDevice() override;

  bool on_gpu() const override { return true; }
  std::string name() const override { return name_; }
  Options options() const override { return {.stream = stream_}; }
  cudaStream_t stream() const { return stream_; }

  std::shared_ptr<void> allocate(std::size_t bytes) override;
  void zero(void* to, std::size_t bytes) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  void wait() override;

  Options fork(int side) override;
  void set(Mark& mark, int side) override;
  void join(const Mark& mark) override;

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };

  void create();
  void destroy();
  std::shared_ptr<void> own(const Block& block);

  int device_ = 0;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cudaStream_t sides_[kSides] = {};
  cudaEvent_t forked_ = nullptr;
  std::vector<Block> spare_;  ///< released, to be used again
  void* landing_ = nullptr;   ///< pinned, for small downloads: pageable memory would cost a second copy
};

}  // namespace tutti::trainers

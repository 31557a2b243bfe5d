// A build without CUDA has no GPU.
#include "collectives/backend_nccl.hpp"
#include "collectives/gpu_driver.hpp"
#include "collectives/native_device.hpp"

namespace tutti {

std::shared_ptr<detail::DeviceSession> device_session(Bootstrap& bootstrap, BackendKind backend,
                                                      std::chrono::nanoseconds, int gpu) {
  const DeviceWish wish = agreed_device_wish(bootstrap, backend, gpu);
  if (wish == DeviceWish::cpu) return nullptr;
  return without_gpu(bootstrap, backend, wish, lack_of_gpu() + "; build it where nvcc is found");
}

std::unique_ptr<Backend> native_cuda_backend(const detail::CommunicatorState&, const CommunicatorOptions&) {
  throw Error(ErrorCode::unsupported, lack_of_gpu());
}

std::unique_ptr<Backend> nccl_backend(const detail::CommunicatorState&, const CommunicatorOptions&) {
  throw Error(ErrorCode::unsupported, "backend nccl: " + lack_of_gpu());
}

}  // namespace tutti

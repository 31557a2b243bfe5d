#include <fmt/format.h>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/launch.hpp"
#include "tests/emulator/runtime/modules.hpp"

namespace {

using namespace tutti::emulated;

/// Launches want a stream of the device that is current.
std::shared_ptr<Stream> stream_on(const Device& device, cudaStream_t handle) {
  auto stream = stream_of(handle);
  require(&stream->device() == &device, cudaErrorInvalidResourceHandle);
  return stream;
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                   cudaStream_t handle, bool cooperative) {
  return entry([&](Device& device) {
    const auto stream = stream_on(device, handle);
    KernelLaunch made = make_launch(kernel_of(function), grid, block, arguments, shared);
    made.cooperative = cooperative;
    if (cooperative) check_cooperative(made);
    submit(stream, std::move(made));
  });
}

/// The attributes that change what a launch means here; the others are about speed.
struct Asked {
  bool cooperative = false;
};

Asked read(const cudaLaunchConfig_t& config) {
  Asked asked;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributeProgrammaticStreamSerialization: break;
      case cudaLaunchAttributeCooperative: asked.cooperative = attribute.val.cooperative != 0; break;
      case cudaLaunchAttributeClusterDimension: {
        const auto& cluster = attribute.val.clusterDim;
        if (cluster.x > 1 || cluster.y > 1 || cluster.z > 1)
          give_up(fmt::format("a launch with clusters of {} x {} x {} blocks, which the emulator does not have",
                              cluster.x, cluster.y, cluster.z));
        break;
      }
      default:
        give_up(fmt::format("a launch with attribute {}, which the emulator does not have",
                            static_cast<int>(attribute.id)));
    }
  }
  return asked;
}

}  // namespace

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!config) return noted(cudaErrorInvalidValue);
  return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
                read(*config).cooperative);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return entry([&](Device&) {
    require(function != nullptr, cudaErrorInvalidValue);
    submit(stream_of(handle), HostCall{[function, data] { function(data); }});
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data, unsigned flags) {
  return entry([&](Device&) {
    require(callback != nullptr && flags == 0, cudaErrorInvalidValue);
    const auto stream = stream_of(handle);
    require(!stream->capture(), cudaErrorStreamCaptureUnsupported);
    submit(stream, HostCall{[callback, handle, data] { callback(handle, cudaSuccess, data); }});
  });
}

extern "C" {

cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                  cudaStream_t stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, per_thread(stream));
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                             std::size_t shared, cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, per_thread(stream));
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!config) return noted(cudaErrorInvalidValue);
  cudaLaunchConfig_t mine = *config;
  mine.stream = per_thread(mine.stream);
  return cudaLaunchKernelExC(&mine, function, arguments);
}

cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return cudaLaunchHostFunc(per_thread(stream), function, data);
}

cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  return cudaStreamAddCallback(per_thread(stream), callback, data, flags);
}

}  // extern "C"

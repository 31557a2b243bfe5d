// What the code that nvcc generates calls: registration of a program's kernels and variables, and launches by <<<>>>.
#include <fmt/format.h>

#include <vector>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/modules.hpp"

namespace {

using namespace tutti::emulated;

/// What __cudaRegisterFatBinary is given.
struct FatBinaryWrapper {
  static constexpr int kMagic = 0x466243b1;
  int magic, version;
  const void* container;
  void* unused;
};

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
/// Of launches that the calling thread has begun: an argument of one may be computed by another.
thread_local std::vector<Configuration> configurations;

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper_of_container) {
  const auto& wrapper = *static_cast<const FatBinaryWrapper*>(wrapper_of_container);
  if (wrapper.magic != FatBinaryWrapper::kMagic)
    give_up(fmt::format("a program registers code of a kind that is not known: magic {:#x}", wrapper.magic));
  return reinterpret_cast<void**>(&register_binary(wrapper.container));
}

void __cudaRegisterFatBinaryEnd(void**) {}

// Programs do this at exit, when other threads may still run what is registered.
void __cudaUnregisterFatBinary(void**) {}

char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** binary, const char* host_function, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  register_kernel(*reinterpret_cast<FatBinary*>(binary), host_function, name);
}

void __cudaRegisterVar(void** binary, char* host_variable, char*, const char* name, int, std::size_t bytes, int, int) {
  register_variable(*reinterpret_cast<FatBinary*>(binary), host_variable, name, bytes);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  return entry_without_device([&] {
    require(!configurations.empty(), cudaErrorMissingConfiguration);
    const Configuration last = configurations.back();
    configurations.pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared;
    *static_cast<cudaStream_t*>(stream) = last.stream;
  });
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return entry_without_device([&] { *kernel = reinterpret_cast<cudaKernel_t>(&kernel_of(host_function)); });
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                    cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, per_thread(stream));
}

}  // extern "C"

#include "tests/emulator/runtime/launch.hpp"

#include <algorithm>
#include <cstring>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/limits.hpp"
#include "tests/emulator/runtime/modules.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

bool within(dim3 size, dim3 most) {
  return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= most.x && size.y <= most.y && size.z <= most.z;
}

std::uint64_t product(dim3 size) { return std::uint64_t{size.x} * size.y * size.z; }

}  // namespace

BlockNeeds needs_of(const Kernel& kernel, int threads, std::size_t dynamic_shared) {
  return {threads, kernel.facts().registers, kernel.code().shared_bytes + dynamic_shared};
}

KernelLaunch make_launch(const Kernel& kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_shared) {
  count(FaultPoint::launch);
  const emulator::Function& code = kernel.code();
  require(within(grid, kMostBlocks) && within(block, kMostThreads) && product(block) <= kMostThreadsPerBlock,
          cudaErrorInvalidConfiguration);
  require(code.max_threads == 0 || product(block) <= code.max_threads, cudaErrorInvalidValue);
  require(dynamic_shared <= static_cast<std::size_t>(kernel.most_dynamic_shared.load()), cudaErrorInvalidValue);
  require(code.parameters.empty() || arguments != nullptr, cudaErrorInvalidValue);
  require(blocks_per_multiprocessor(needs_of(kernel, static_cast<int>(product(block)), dynamic_shared)) > 0,
          cudaErrorLaunchOutOfResources);
  KernelLaunch launch;
  launch.kernel = &kernel;
  launch.grid = grid;
  launch.block = block;
  launch.dynamic_shared = dynamic_shared;
  launch.parameters.resize(code.parameter_bytes);
  for (std::size_t i = 0; i < code.parameters.size(); ++i) {
    require(arguments[i] != nullptr, cudaErrorInvalidValue);
    std::memcpy(launch.parameters.data() + code.parameters[i].offset, arguments[i], code.parameters[i].bytes);
  }
  return launch;
}

void check_cooperative(const KernelLaunch& launch) {
  const BlockNeeds needs = needs_of(*launch.kernel, static_cast<int>(product(launch.block)), launch.dynamic_shared);
  const auto most = static_cast<std::uint64_t>(blocks_per_multiprocessor(needs)) *
                    static_cast<std::uint64_t>(settings().multiprocessors);
  require(product(launch.grid) <= most, cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace tutti::emulated

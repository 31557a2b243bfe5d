#include "collectives/native_device.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "collectives/agree.hpp"
#include "collectives/error.hpp"

namespace tutti {

DeviceWish agreed_device_wish(Bootstrap& bootstrap, BackendKind backend, int gpu) {
  const char* const asked = std::getenv("TUTTI_DEVICE");
  const std::string_view name = asked ? asked : "";
  DeviceWish wish = DeviceWish::unset;
  std::string trouble;
  if (name == "cpu")
    wish = DeviceWish::cpu;
  else if (name == "gpu")
    wish = DeviceWish::gpu;
  else if (name == "auto")
    wish = DeviceWish::automatic;
  else if (!name.empty())
    trouble = fmt::format("TUTTI_DEVICE is '{}'; use cpu, gpu or auto", name);
  agree(bootstrap, ErrorCode::invalid_argument, trouble);
  const std::vector<DeviceWish> wishes = bootstrap.all_gather(wish);
  const auto meaning = [](DeviceWish of) { return of == DeviceWish::unset ? DeviceWish::automatic : of; };
  for (std::size_t r = 1; r < wishes.size(); ++r)
    if (meaning(wishes[r]) != meaning(wishes[0]))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("TUTTI_DEVICE differs between ranks 0 and {}; give all the same", r));
  if (wish == DeviceWish::cpu && backend == BackendKind::nccl)
    throw Error(ErrorCode::unsupported, "backend nccl needs GPUs, but TUTTI_DEVICE is cpu; use native or mpi there");
  const std::vector<int> gpus = bootstrap.all_gather(gpu);
  for (std::size_t r = 0; r < gpus.size(); ++r) {
    if (gpus[r] < 0) continue;
    if (wish == DeviceWish::cpu)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("rank {} asks for GPU {}, but TUTTI_DEVICE is cpu; unset it", r, gpus[r]));
    wish = DeviceWish::named;
  }
  return wish;
}

std::shared_ptr<detail::DeviceSession> without_gpu(Bootstrap& bootstrap, BackendKind backend, DeviceWish wish,
                                                   const std::string& why_not) {
  if (backend == BackendKind::nccl)
    throw Error(ErrorCode::unsupported, fmt::format("backend nccl: {}. native and mpi run on the CPU", why_not));
  if (wish == DeviceWish::named) throw Error(ErrorCode::unsupported, why_not);
  if (wish == DeviceWish::gpu) throw Error(ErrorCode::unsupported, why_not + ". TUTTI_DEVICE=cpu runs on the CPU");
  if (wish == DeviceWish::automatic && bootstrap.rank() == 0)
    std::fprintf(stderr, "tutti: running on the CPU: %s\n", why_not.c_str());
  return nullptr;
}

}  // namespace tutti

#include "collectives/native_device.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "collectives/agree.hpp"
#include "collectives/error.hpp"

namespace tutti {

DeviceWish agreed_device_wish(Bootstrap& bootstrap) {
  const char* const asked = std::getenv("TUTTI_DEVICE");
  // Unset: programs of this version keep their data in the CPU's memory, which kernels on a GPU cannot reach.
  const std::string_view name = asked && *asked ? asked : "cpu";
  DeviceWish wish = DeviceWish::cpu;
  std::string trouble;
  if (name == "gpu")
    wish = DeviceWish::gpu;
  else if (name == "auto")
    wish = DeviceWish::automatic;
  else if (name != "cpu")
    trouble = fmt::format("TUTTI_DEVICE is '{}'; use cpu, gpu or auto", name);
  agree(bootstrap, ErrorCode::invalid_argument, trouble);
  const std::vector<DeviceWish> wishes = bootstrap.all_gather(wish);
  for (std::size_t r = 1; r < wishes.size(); ++r)
    if (wishes[r] != wishes[0])
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("TUTTI_DEVICE differs between ranks 0 and {}; give all the same", r));
  return wish;
}

std::shared_ptr<detail::DeviceSession> without_gpu(Bootstrap& bootstrap, DeviceWish wish, const std::string& why_not) {
  if (wish == DeviceWish::gpu) throw Error(ErrorCode::unsupported, why_not + ". TUTTI_DEVICE=cpu runs on the CPU");
  if (bootstrap.rank() == 0) std::fprintf(stderr, "tutti: running on the CPU: %s\n", why_not.c_str());
  return nullptr;
}

}  // namespace tutti

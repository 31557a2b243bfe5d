#include "collectives/nccl_interface/configuration.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "collectives/nccl_interface/results.hpp"

namespace tutti::nccl_interface {
namespace {

/// As much of it as the program's nccl.h knows: older ones know fewer fields, which are at the same places.
ncclConfig_t copy_of(const ncclConfig_t& given) {
  ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
  constexpr std::size_t kLeast = offsetof(ncclConfig_t, blocking) + sizeof given.blocking;
  if (given.magic != known.magic || given.size < kLeast || given.size > 16 * sizeof known)
    throw Refusal(ncclInvalidArgument, "config was not initialised with NCCL_CONFIG_INITIALIZER");
  std::memcpy(&known, &given, given.size < sizeof known ? given.size : sizeof known);
  return known;
}

void expect(const char* field, int value, int least, int most) {
  if (value != NCCL_CONFIG_UNDEF_INT && (value < least || value > most))
    throw Refusal(ncclInvalidArgument, fmt::format("config: {} is {}; it must be {} to {}", field, value, least, most));
}

}  // namespace

bool is_blocking(const ncclConfig_t* configuration, bool fallback) {
  if (!configuration) return fallback;
  const ncclConfig_t config = copy_of(*configuration);
  expect("blocking", config.blocking, 0, 1);
  expect("cgaClusterSize", config.cgaClusterSize, 0, 8);
  expect("minCTAs", config.minCTAs, 1, INT_MAX);
  expect("maxCTAs", config.maxCTAs, 1, INT_MAX);
  expect("splitShare", config.splitShare, 0, 1);
  if (config.minCTAs != NCCL_CONFIG_UNDEF_INT && config.maxCTAs != NCCL_CONFIG_UNDEF_INT &&
      config.minCTAs > config.maxCTAs)
    throw Refusal(ncclInvalidArgument,
                  fmt::format("config: minCTAs is {}, more than maxCTAs, {}", config.minCTAs, config.maxCTAs));
  return config.blocking == NCCL_CONFIG_UNDEF_INT ? fallback : config.blocking == 1;
}

}  // namespace tutti::nccl_interface

// The settings in which tests run each kernel.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "tests/emulator/kernels/trial.hpp"

namespace tutti::emulator {

/// The code under test: what the library embeds.
inline const KernelCode& shipped_code() {
  static const KernelCode code({TUTTI_KERNELS}, TUTTI_ARCHITECTURE);
  return code;
}

/// Every kernel but recv, which is the other end of send.
inline std::vector<Kernel> all_kernels() {
  std::vector<Kernel> all;
  for (int k = 0; k < kKernels; ++k)
    if (static_cast<Kernel>(k) != Kernel::recv) all.push_back(static_cast<Kernel>(k));
  return all;
}

/// Two blocks where a kernel has them, on slots as small as it allows.
inline TrialSetting setting_of(Kernel kernel, int ranks, std::size_t bytes, DataType type, cases::Mapped mapped,
                               int calls) {
  const int blocks = cases::shape_of(kernel) == cases::Shape::nothing ? 1 : 2;
  TrialSetting setting;
  setting.geometry = cases::tight_geometry(ranks, blocks, cases::kLeastSlots);
  cases::Case c{.kernel = kernel,
                .count = bytes / size_of(type),
                .type = type,
                .root = ranks - 1,
                .to = 0,
                .blocks = blocks,
                .mapped = mapped,
                .salt = 1};
  if (c.shape() == cases::Shape::nothing) c.count = 0;
  for (int call = 0; call < calls; ++call) {
    setting.calls.push_back(c);
    c.salt += 9;
  }
  return setting;
}

/// Bytes of a call: enough that slots are used again, few enough to be quick.
inline std::size_t bytes_for(Kernel kernel, int ranks) {
  const Geometry g = cases::tight_geometry(ranks, 2, cases::kLeastSlots);
  if (by_packets(kernel)) return 200;
  if (cases::shape_of(kernel) == cases::Shape::message) return 5 * g.p2p_slot_bytes;
  const std::size_t spread = cases::shape_of(kernel) == cases::Shape::all_reduce ? static_cast<std::size_t>(ranks) : 1;
  return std::min<std::size_t>(4 * g.slot_bytes * spread, 8192);
}

}  // namespace tutti::emulator

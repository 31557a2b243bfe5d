// The settings in which tests run each kernel.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
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

/// The least in which every slot is used again and every word has a part: for kernels with defects, of which there are
/// thousands. One block, or one for each tree; a warp's worth of threads.
inline TrialSetting least_setting(Kernel kernel, int ranks, cases::Mapped mapped) {
  const Geometry g = cases::tight_geometry(ranks, 1, cases::kLeastSlots);
  std::size_t bytes = 5 * g.slot_bytes;
  if (by_packets(kernel)) bytes = 200;
  if (cases::shape_of(kernel) == cases::Shape::message) bytes = 5 * g.p2p_slot_bytes;
  constexpr int kCalls = 3;  // entries and packets have two halves
  TrialSetting setting = setting_of(kernel, ranks, bytes, DataType::f32, mapped, kCalls);
  const int blocks = kernel == Kernel::tree_all_reduce ? 2 : 1;
  setting.geometry = cases::tight_geometry(ranks, blocks, cases::kLeastSlots);
  for (cases::Case& c : setting.calls) c.blocks = blocks;
  setting.threads = 32;
  return setting;
}

/// In how many schedules a defect must be found. One that is listed as harmless is tried in a few only, but for
/// TUTTI_FULL=1.
inline std::uint64_t seeds_for_defect(bool listed) {
  constexpr std::uint64_t kSeeds = 20, kFew = 2;
  const char* const full = std::getenv("TUTTI_FULL");
  return listed && !(full && std::string_view(full) == "1") ? kFew : kSeeds;
}

}  // namespace tutti::emulator

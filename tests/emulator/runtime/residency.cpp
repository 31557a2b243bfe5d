#include "tests/emulator/runtime/residency.hpp"

#include <algorithm>

#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

constexpr int kWarp = 32;
/// Registers are handed out to warps in pieces of this size, and a warp's come from one of four quarters.
constexpr int kRegisterPiece = 256, kQuarters = 4;

int warps_of(const BlockNeeds& needs) { return (needs.threads + kWarp - 1) / kWarp; }

int registers_per_warp(const BlockNeeds& needs) {
  const int wanted = std::max(needs.registers_per_thread, 1) * kWarp;
  return (wanted + kRegisterPiece - 1) / kRegisterPiece * kRegisterPiece;
}

const MultiprocessorLimits& limits() {
  static const MultiprocessorLimits ours = multiprocessor_limits(settings().major, settings().minor);
  return ours;
}

/// Registers that no warp of this kind can use, because a quarter is not divisible.
int unusable_registers(const BlockNeeds& needs) {
  const int quarter = limits().registers / kQuarters;
  return kQuarters * (quarter % registers_per_warp(needs));
}

}  // namespace

MultiprocessorLimits multiprocessor_limits(int major, int minor) {
  constexpr int kib = 1 << 10, registers = 1 << 16, reserved = kib;
  const int architecture = 10 * major + minor;
  // Compute capabilities of NVIDIA's programming guide.
  if (architecture <= 75) return {16, 1024, registers, 64 * kib, 64 * kib, 0};
  if (architecture == 80) return {32, 2048, registers, 164 * kib, 163 * kib, reserved};
  if (architecture == 87) return {16, 1536, registers, 164 * kib, 163 * kib, reserved};
  if (architecture < 89) return {16, 1536, registers, 100 * kib, 99 * kib, reserved};
  if (architecture == 89) return {24, 1536, registers, 100 * kib, 99 * kib, reserved};
  if (architecture < 120) return {32, 2048, registers, 228 * kib, 227 * kib, reserved};
  return {24, 1536, registers, 100 * kib, 99 * kib, reserved};
}

int blocks_per_multiprocessor(const BlockNeeds& needs) {
  if (needs.threads <= 0) return 0;
  const MultiprocessorLimits& has = limits();
  const int warps = warps_of(needs);
  const int by_threads = has.threads / (warps * kWarp);
  const int by_registers = (has.registers - unusable_registers(needs)) / (warps * registers_per_warp(needs));
  const std::size_t shared = needs.shared + static_cast<std::size_t>(has.shared_reserved_per_block);
  const int by_shared = shared == 0 ? has.blocks : static_cast<int>(static_cast<std::size_t>(has.shared) / shared);
  return std::min({has.blocks, by_threads, by_registers, by_shared});
}

Residency::Residency(int multiprocessors) : loads_(static_cast<std::size_t>(multiprocessors)) {}

bool Residency::fits(const Load& load, const BlockNeeds& needs) const {
  Load after = load;
  add(after, needs, 1);
  return after.blocks <= limits().blocks && after.threads <= limits().threads &&
         after.registers <= limits().registers - unusable_registers(needs) &&
         after.shared <= static_cast<std::size_t>(limits().shared);
}

void Residency::add(Load& load, const BlockNeeds& needs, int sign) const {
  const std::size_t shared = needs.shared + static_cast<std::size_t>(limits().shared_reserved_per_block);
  load.blocks += sign;
  load.threads += sign * warps_of(needs) * kWarp;
  load.registers += sign * warps_of(needs) * registers_per_warp(needs);
  load.shared = sign > 0 ? load.shared + shared : load.shared - shared;
}

int Residency::admit_locked(const BlockNeeds& needs) {
  int best = -1;
  for (std::size_t i = 0; i < loads_.size(); ++i)
    if (fits(loads_[i], needs) && (best < 0 || loads_[i].threads < loads_[static_cast<std::size_t>(best)].threads)) {
      best = static_cast<int>(i);
      if (loads_[i].blocks == 0) break;
    }
  if (best >= 0) add(loads_[static_cast<std::size_t>(best)], needs, 1);
  return best;
}

int Residency::admit(const BlockNeeds& needs) {
  std::lock_guard lock(mutex_);
  return admit_locked(needs);
}

std::vector<int> Residency::admit_all(const BlockNeeds& needs, int count) {
  std::lock_guard lock(mutex_);
  std::vector<int> places;
  while (static_cast<int>(places.size()) < count) {
    const int place = admit_locked(needs);
    if (place < 0) {
      for (const int taken : places) add(loads_[static_cast<std::size_t>(taken)], needs, -1);
      return {};
    }
    places.push_back(place);
  }
  return places;
}

void Residency::leave(int multiprocessor, const BlockNeeds& needs) {
  std::lock_guard lock(mutex_);
  add(loads_[static_cast<std::size_t>(multiprocessor)], needs, -1);
}

}  // namespace tutti::emulated

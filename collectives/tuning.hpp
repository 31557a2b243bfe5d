// The constants of the formulas by which algorithms are chosen.
#pragma once
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "kernels/kernels.hpp"

namespace tutti {

/// Where what a byte takes may change: caches end, stores begin to stream. Of Cost::bytes, of mapped buffers.
inline constexpr std::array<double, 9> kKnees = {64,       256,       1 << 10, 4 << 10, 16 << 10,
                                                 64 << 10, 256 << 10, 1 << 20, 4 << 20};
inline constexpr int kByteRanges = static_cast<int>(kKnees.size()) + 1;

/// The quantities that a formula's constants multiply.
struct Quantities {
  double steps = 0;                         ///< Cost::steps, of mapped buffers
  double peers = 0;                         ///< ranks - 1
  std::array<double, kByteRanges> bytes{};  ///< Cost::bytes of mapped buffers, by the range that they lie in
};

/// The parts of `bytes` bytes that lie below the first knee, between it and the second, and so on.
constexpr std::array<double, kByteRanges> in_ranges(double bytes) {
  std::array<double, kByteRanges> parts{};
  double below = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double end = i < kKnees.size() ? kKnees[i] : std::numeric_limits<double>::infinity();
    parts[i] = std::max(std::min(bytes, end) - below, 0.0);
    below = end;
  }
  return parts;
}

/// What a call by one kernel is expected to take; without one, the kernel runs only if it is asked for. Nanoseconds,
/// none negative.
struct Formula {
  double base = 0, step = 0, peer = 0;
  std::array<double, kByteRanges> byte{};  ///< by range
  bool known = false;
};

constexpr double nanoseconds(const Formula& formula, const Quantities& quantities) {
  double sum = formula.base + formula.step * quantities.steps + formula.peer * quantities.peers;
  for (std::size_t i = 0; i < formula.byte.size(); ++i) sum += formula.byte[i] * quantities.bytes[i];
  return sum;
}

/// All formulas. The same on all ranks of a session; trivially copyable, so that rank 0 can hand it out.
struct Tuning {
  std::array<Formula, kKernels> formulas{};  ///< by Kernel
  std::array<char, 160> origin{};            ///< where the constants come from, for people

  const Formula& of(Kernel kernel) const { return formulas[static_cast<std::size_t>(kernel)]; }
  Formula& of(Kernel kernel) { return formulas[static_cast<std::size_t>(kernel)]; }
};

/// Cuts what is too long.
void set_origin(Tuning& tuning, const std::string& origin);

/// What is compiled in: the files in collectives/tunings. `crowded`: there are more ranks than cores (CPUs).
const Tuning& default_tuning(bool on_gpu, bool crowded);

}  // namespace tutti

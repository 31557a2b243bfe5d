// The constants of the formulas by which algorithms are chosen.
#pragma once
#include <array>
#include <limits>
#include <string>

#include "kernels/kernels.hpp"

namespace tutti {

/// What a call by one kernel is expected to take, in nanoseconds, is the sum of these times
enum class Term {
  base,    ///< 1
  step,    ///< Cost::steps, of mapped buffers
  peer,    ///< ranks - 1
  wire,    ///< Cost::bytes, of mapped buffers
  byte,    ///< bytes of a rank's larger buffer
  beyond,  ///< those of them beyond Tuning::cache
};
inline constexpr int kTerms = 6;
constexpr const char* name_of(Term term) {
  constexpr const char* names[kTerms] = {"base", "step", "peer", "wire", "byte", "beyond"};
  return names[static_cast<int>(term)];
}

/// The formula of one kernel; without one, the kernel runs only if it is asked for.
struct Formula {
  std::array<double, kTerms> constants{};  ///< nanoseconds, by Term; none is negative
  bool known = false;
  double operator[](Term term) const { return constants[static_cast<std::size_t>(term)]; }
};

/// The quantities that a formula's constants multiply.
using Quantities = std::array<double, kTerms>;
inline double nanoseconds(const Formula& formula, const Quantities& quantities) {
  double sum = 0;
  for (std::size_t i = 0; i < quantities.size(); ++i) sum += formula.constants[i] * quantities[i];
  return sum;
}

/// All formulas. The same on all ranks of a session; trivially copyable, so that rank 0 can hand it out.
struct Tuning {
  std::array<Formula, kKernels> formulas{};  ///< by Kernel
  double cache = 1 << 20;                    ///< bytes of a rank's larger buffer up to which caches help
  std::array<char, 160> origin{};            ///< where the constants come from, for people

  const Formula& of(Kernel kernel) const { return formulas[static_cast<std::size_t>(kernel)]; }
  Formula& of(Kernel kernel) { return formulas[static_cast<std::size_t>(kernel)]; }
};

/// Cuts what is too long.
void set_origin(Tuning& tuning, const std::string& origin);

/// What is compiled in. `crowded`: there are more ranks than cores (CPUs).
Tuning default_tuning(bool on_gpu, bool crowded);

}  // namespace tutti

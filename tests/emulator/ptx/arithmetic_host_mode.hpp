// Double arithmetic under a rounding mode of the host.
#pragma once
#include <cfenv>

#include "tests/emulator/ptx/arithmetic_rounding.hpp"

namespace tutti::emulator::arithmetic {

constexpr int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::zero: return FE_TOWARDZERO;
    case Rounding::down: return FE_DOWNWARD;
    case Rounding::up: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

/// function(operands...) in the given mode. Operands and result are volatile so that the compiler, which does not know
/// about modes, can neither compute early nor late.
template <Rounding rounding, class F, class... Operands>
double in_mode(F function, Operands... operands) {
  if constexpr (rounding == Rounding::nearest) {
    return function(operands...);
  } else {
    const int before = std::fegetround();
    std::fesetround(host_mode(rounding));
    volatile double result = function(static_cast<double>(static_cast<volatile double&>(operands))...);
    std::fesetround(before);
    return result;
  }
}

}  // namespace tutti::emulator::arithmetic

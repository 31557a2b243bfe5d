// cvt between integers.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "tests/emulator/ptx/arithmetic_table.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class To, class From>
To cvt(From a) {
  return static_cast<To>(a);
}
/// The nearest value of To.
template <class To, class From>
To cvt_sat(From a) {
  if (std::cmp_less(a, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (std::cmp_greater(a, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(a);
}

template <class F>
void for_integers(F f) {
  for_types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int8_t, std::int16_t, std::int32_t,
            std::int64_t>(f);
}

}  // namespace

void add_integer_conversions(Table& table) {
  for_integers([&]<class To>() {
    for_integers([&]<class From>() {
      table.add(fmt::format("cvt.{}.{}", name_of<To>(), name_of<From>()), computation<&cvt<To, From>>());
      constexpr bool fits =
          std::in_range<To>(std::numeric_limits<From>::min()) && std::in_range<To>(std::numeric_limits<From>::max());
      if constexpr (!fits)
        table.add(fmt::format("cvt.sat.{}.{}", name_of<To>(), name_of<From>()), computation<&cvt_sat<To, From>>());
    });
  });
}

}  // namespace tutti::emulator::arithmetic

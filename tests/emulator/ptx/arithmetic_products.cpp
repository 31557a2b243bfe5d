// Integer products: mul, mad, mul24, mad24, dp4a, dp2a; and vabsdiff4.
#include <algorithm>
#include <limits>

#include "tests/emulator/ptx/arithmetic_table.hpp"
#include "tests/emulator/ptx/arithmetic_wide.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class T>
T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <class T>
T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
template <class T>
Wide<T> mul_wide(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
Wide<T> mad_wide(T a, T b, Wide<T> c) {
  return add(mul_wide(a, b), c);
}
std::int32_t mad_hi_sat(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::int64_t{mul_hi(a, b)} + c,
                                                            std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}

/// The low 24 bits, with their sign if T has one.
template <class T>
std::int64_t low_24(T a) {
  const std::uint32_t bits = static_cast<std::uint32_t>(a) << 8;
  if constexpr (std::is_signed_v<T>) return static_cast<std::int32_t>(bits) >> 8;
  return bits >> 8;
}
template <class T>
T mul24_lo(T a, T b) {
  return static_cast<T>(low_24(a) * low_24(b));
}
/// Bits 47 to 16 of the product.
template <class T>
T mul24_hi(T a, T b) {
  return static_cast<T>((low_24(a) * low_24(b)) >> 16);
}
template <class T>
T mad24_lo(T a, T b, T c) {
  return add(mul24_lo(a, b), c);
}
template <class T>
T mad24_hi(T a, T b, T c) {
  return add(mul24_hi(a, b), c);
}
std::int32_t mad24_hi_sat(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::int64_t{mul24_hi(a, b)} + c,
                                                            std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}

/// Element `index` of a word of small integers.
template <class Element, class T>
std::int64_t element(T word, int index) {
  return static_cast<Element>(static_cast<std::uint32_t>(word) >> (8 * sizeof(Element) * static_cast<unsigned>(index)));
}
template <class T, int bytes>
using Integer = std::conditional_t<bytes == 1, std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>,
                                   std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>>;
template <class A, class B>
using Sum = std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, std::int32_t, std::uint32_t>;

/// c plus the products of the four bytes of a and b.
template <class A, class B>
Sum<A, B> dp4a(A a, B b, Sum<A, B> c) {
  std::int64_t sum = c;
  for (int i = 0; i < 4; ++i) sum += element<Integer<A, 1>>(a, i) * element<Integer<B, 1>>(b, i);
  return static_cast<Sum<A, B>>(sum);
}
/// c plus the products of the two halves of a and bytes `first`, `first + 1` of b.
template <class A, class B, int first>
Sum<A, B> dp2a(A a, B b, Sum<A, B> c) {
  std::int64_t sum = c;
  for (int i = 0; i < 2; ++i) sum += element<Integer<A, 2>>(a, i) * element<Integer<B, 1>>(b, first + i);
  return static_cast<Sum<A, B>>(sum);
}

/// |a - b| of each of the four bytes, signed or not as T is; c is what bytes left out would come from: none is.
template <class T>
std::uint32_t absolute_differences(T a, T b, std::uint32_t) {
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t difference = element<Integer<T, 1>>(a, i) - element<Integer<T, 1>>(b, i);
    result |= static_cast<std::uint32_t>(difference < 0 ? -difference : difference) << 8 * i;
  }
  return result;
}
/// c plus the sum of the absolute differences.
template <class T>
std::uint32_t sum_of_absolute_differences(T a, T b, std::uint32_t c) {
  const std::uint32_t differences = absolute_differences(a, b, 0);
  for (int i = 0; i < 4; ++i) c += differences >> 8 * i & 0xff;
  return c;
}

}  // namespace

void add_integer_products(Table& table) {
  for_types<std::uint16_t, std::uint32_t, std::uint64_t, std::int16_t, std::int32_t, std::int64_t>([&]<class T>() {
    const std::string type = name_of<T>();
    table.add("mul.lo." + type, computation<&mul_lo<T>>());
    table.add("mul.hi." + type, computation<&mul_hi<T>>());
    table.add("mad.lo." + type, computation<&mad_lo<T>>());
    table.add("mad.hi." + type, computation<&mad_hi<T>>());
    if constexpr (sizeof(T) < 8) {
      table.add("mul.wide." + type, computation<&mul_wide<T>>());
      table.add("mad.wide." + type, computation<&mad_wide<T>>());
    }
    if constexpr (sizeof(T) == 4) {
      table.add("mul24.lo." + type, computation<&mul24_lo<T>>());
      table.add("mul24.hi." + type, computation<&mul24_hi<T>>());
      table.add("mad24.lo." + type, computation<&mad24_lo<T>>());
      table.add("mad24.hi." + type, computation<&mad24_hi<T>>());
    }
  });
  table.add("mad.hi.sat.s32", computation<&mad_hi_sat>());
  table.add("mad24.hi.sat.s32", computation<&mad24_hi_sat>());
  for_types<std::uint32_t, std::int32_t>([&]<class T>() {
    const std::string types = ".u32." + name_of<T>() + '.' + name_of<T>();
    table.add("vabsdiff4" + types, computation<&absolute_differences<T>>());
    table.add("vabsdiff4" + types + ".add", computation<&sum_of_absolute_differences<T>>());
  });
  for_types<std::uint32_t, std::int32_t>([&]<class A>() {
    for_types<std::uint32_t, std::int32_t>([&]<class B>() {
      const std::string types = '.' + name_of<A>() + '.' + name_of<B>();
      table.add("dp4a" + types, computation<&dp4a<A, B>>());
      table.add("dp2a.lo" + types, computation<&dp2a<A, B, 0>>());
      table.add("dp2a.hi" + types, computation<&dp2a<A, B, 2>>());
    });
  });
}

}  // namespace tutti::emulator::arithmetic

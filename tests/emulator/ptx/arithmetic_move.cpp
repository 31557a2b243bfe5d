// Instructions that pass values on: mov, selp, slct.
#include "tests/emulator/ptx/arithmetic_formats.hpp"

namespace tutti::emulator {
namespace arithmetic {
namespace {

template <class T>
T mov(T a) {
  return a;
}
void mov_b128(std::uint64_t* slots, const Instruction& instruction) {
  const Slot to = instruction.to[0], from = instruction.from[0];
  const std::uint64_t low = slots[from], high = slots[from + 1];
  slots[to] = low;
  slots[to + 1] = high;
}

template <class T>
T selp(T a, T b, bool p) {
  return p ? a : b;
}

/// a if c >= 0; b if c is less or NaN.
template <class T, class C, bool flushes>
T slct(T a, T b, C c) {
  if constexpr (flushes) c = flushed(c);
  return c >= 0 ? a : b;
}

template <class T>
void add_choices(Table& table, const std::string& type) {
  table.add("mov." + type, computation<&mov<T>>());
  table.add("selp." + type, computation<&selp<T>>());
  table.add("slct." + type + ".s32", computation<&slct<T, std::int32_t, false>>());
  table.add("slct." + type + ".f32", computation<&slct<T, float, false>>());
  table.add("slct.ftz." + type + ".f32", computation<&slct<T, float, true>>());
}

/// A slot's value of `bits` bits is one part of `parts`, the first one lowest.
template <int parts, int bits>
void pack(std::uint64_t* slots, const Instruction& instruction) {
  static_assert(bits < 64);
  std::uint64_t whole = 0;
  for (int part = 0; part < parts; ++part)
    whole |= (slots[instruction.from[part]] & ((std::uint64_t{1} << bits) - 1)) << bits * part;
  slots[instruction.to[0]] = whole;
}
template <int parts, int bits>
void unpack(std::uint64_t* slots, const Instruction& instruction) {
  const std::uint64_t whole = slots[instruction.from[0]];
  for (int part = 0; part < parts; ++part)
    slots[instruction.to[part]] = whole >> bits * part & ((std::uint64_t{1} << bits) - 1);
}
void pack_b128(std::uint64_t* slots, const Instruction& instruction) {
  const std::uint64_t low = slots[instruction.from[0]], high = slots[instruction.from[1]];
  slots[instruction.to[0]] = low;
  slots[instruction.to[0] + 1] = high;
}
void unpack_b128(std::uint64_t* slots, const Instruction& instruction) {
  const std::uint64_t low = slots[instruction.from[0]], high = slots[instruction.from[0] + 1];
  slots[instruction.to[0]] = low;
  slots[instruction.to[1]] = high;
}

template <int parts, int bits>
Computation vector_move(bool packs) {
  return packs ? Computation{&pack<parts, bits>, 1, parts} : Computation{&unpack<parts, bits>, parts, 1};
}

}  // namespace

void add_selections(Table& table) {
  for_types<std::uint16_t, std::uint32_t, std::uint64_t>([&]<class T>() {
    add_choices<T>(table, bits_name_of<T>());
    add_choices<T>(table, name_of<T>());
    add_choices<std::make_signed_t<T>>(table, name_of<std::make_signed_t<T>>());
  });
  add_choices<float>(table, "f32");
  add_choices<double>(table, "f64");
}

void add_moves(Table& table) {
  table.add("mov.pred", computation<&mov<bool>>());
  table.add("mov.b128", {&mov_b128, 1, 1});
}

}  // namespace arithmetic

Computation find_vector_move(Type type, int parts, bool packs) {
  using arithmetic::vector_move;
  switch (type) {
    case Type::b16:
      if (parts == 2) return vector_move<2, 8>(packs);
      break;
    case Type::b32:
      if (parts == 2) return vector_move<2, 16>(packs);
      if (parts == 4) return vector_move<4, 8>(packs);
      break;
    case Type::b64:
      if (parts == 2) return vector_move<2, 32>(packs);
      if (parts == 4) return vector_move<4, 16>(packs);
      break;
    case Type::b128:
      if (parts != 2) break;
      return packs ? Computation{&arithmetic::pack_b128, 1, 2} : Computation{&arithmetic::unpack_b128, 2, 1};
    default: break;
  }
  return {};
}

}  // namespace tutti::emulator

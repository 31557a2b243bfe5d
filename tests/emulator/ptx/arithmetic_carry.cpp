// Sums of more than 64 bits: the instructions with the carry flag CC.CF, which stands in a slot of the thread.
#include "tests/emulator/ptx/arithmetic_table.hpp"
#include "tests/emulator/ptx/arithmetic_wide.hpp"

namespace tutti::emulator::arithmetic {
namespace {

/// What an instruction does with the flag.
enum class Flag { write, read, read_and_write };

template <Flag flag>
std::uint64_t carry_in(const std::uint64_t* slots) {
  return flag == Flag::write ? 0 : slots[carry] & 1;
}

/// a + b + flag; the flag becomes the carry.
template <class T, Flag flag>
void store_sum(std::uint64_t* slots, const Instruction& instruction, T a, T b) {
  const UInt128 sum = UInt128{a} + b + carry_in<flag>(slots);
  slots[instruction.to[0]] = slot_of(static_cast<T>(sum));
  if (flag != Flag::read) slots[carry] = static_cast<std::uint64_t>(sum >> (8 * sizeof(T))) & 1;
}

template <class T, Flag flag>
void add(std::uint64_t* slots, const Instruction& i) {
  store_sum<T, flag>(slots, i, value_in<T>(slots[i.from[0]]), value_in<T>(slots[i.from[1]]));
}
/// a - b - flag; the flag becomes the borrow.
template <class T, Flag flag>
void sub(std::uint64_t* slots, const Instruction& i) {
  const UInt128 difference =
      UInt128{value_in<T>(slots[i.from[0]])} - value_in<T>(slots[i.from[1]]) - carry_in<flag>(slots);
  slots[i.to[0]] = slot_of(static_cast<T>(difference));
  if (flag != Flag::read) slots[carry] = static_cast<std::uint64_t>(difference >> 127);
}
/// The high or low half of the product, in the signedness of Factor, plus c plus flag.
template <class Factor, bool high, Flag flag>
void mad(std::uint64_t* slots, const Instruction& i) {
  using T = std::make_unsigned_t<Factor>;
  const auto a = value_in<Factor>(slots[i.from[0]]), b = value_in<Factor>(slots[i.from[1]]);
  const auto product = static_cast<T>(high ? mul_hi(a, b) : mul_lo(a, b));
  store_sum<T, flag>(slots, i, product, value_in<T>(slots[i.from[2]]));
}

}  // namespace

void add_carry_chains(Table& table) {
  for_types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>([&]<class T>() {
    using U = std::make_unsigned_t<T>;
    const std::string type = name_of<T>();
    table.add("add.cc." + type, {&add<U, Flag::write>, 1, 2});
    table.add("addc." + type, {&add<U, Flag::read>, 1, 2});
    table.add("addc.cc." + type, {&add<U, Flag::read_and_write>, 1, 2});
    table.add("sub.cc." + type, {&sub<U, Flag::write>, 1, 2});
    table.add("subc." + type, {&sub<U, Flag::read>, 1, 2});
    table.add("subc.cc." + type, {&sub<U, Flag::read_and_write>, 1, 2});
    table.add("mad.lo.cc." + type, {&mad<T, false, Flag::write>, 1, 3});
    table.add("mad.hi.cc." + type, {&mad<T, true, Flag::write>, 1, 3});
    table.add("madc.lo." + type, {&mad<T, false, Flag::read>, 1, 3});
    table.add("madc.hi." + type, {&mad<T, true, Flag::read>, 1, 3});
    table.add("madc.lo.cc." + type, {&mad<T, false, Flag::read_and_write>, 1, 3});
    table.add("madc.hi.cc." + type, {&mad<T, true, Flag::read_and_write>, 1, 3});
  });
}

}  // namespace tutti::emulator::arithmetic

#include "tests/emulator/ptx/arithmetic_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tutti::emulator {
namespace arithmetic {

void Table::add(const std::string& spelling, Computation computation, bool pair) {
  Entry& entry = entries_[spelling];
  Computation& place = pair ? entry.pair : entry.single;
  if (place.compute != nullptr) throw std::logic_error(fmt::format("{} is in the table twice", spelling));
  place = computation;
}

Computation Table::find(std::string_view spelling, bool pair) const {
  const auto found = entries_.find(spelling);
  if (found == entries_.end()) return {};
  return pair ? found->second.pair : found->second.single;
}

std::vector<std::string_view> Table::spellings() const {
  std::vector<std::string_view> all;
  all.reserve(entries_.size());
  for (const auto& [spelling, entry] : entries_) all.push_back(spelling);
  std::sort(all.begin(), all.end());
  return all;
}

namespace {

const Table& table() {
  static const Table all = [] {
    Table filled;
    add_integer_arithmetic(filled);
    add_integer_products(filled);
    add_carry_chains(filled);
    add_bit_operations(filled);
    add_comparisons(filled);
    add_sets(filled);
    add_selections(filled);
    add_moves(filled);
    add_float_arithmetic(filled);
    add_float_functions(filled);
    add_half_arithmetic(filled);
    add_integer_conversions(filled);
    add_float_conversions(filled);
    add_packed_conversions(filled);
    return filled;
  }();
  return all;
}

}  // namespace
}  // namespace arithmetic

Computation find_computation(std::string_view spelling, bool pair) { return arithmetic::table().find(spelling, pair); }

std::span<const std::string_view> all_spellings() {
  static const std::vector<std::string_view> all = arithmetic::table().spellings();
  return all;
}

}  // namespace tutti::emulator

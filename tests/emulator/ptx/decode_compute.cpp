// Instructions that only compute: their operands' types, from the words of the spelling. Whether there is such a
// spelling, and how many operands it has, says find_computation().
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/emulator/ptx/arithmetic.hpp"
#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {
namespace {

/// Types that only computing instructions have, as the bits that a register holds.
Type narrow_type_of(std::string_view word) {
  static constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"u16x2", Type::b32},  {"s16x2", Type::b32},  {"f32x2", Type::b64},   {"e4m3x2", Type::b16},
      {"e5m2x2", Type::b16}, {"tf32", Type::b32},   {"ue8m0x2", Type::b16}, {"e2m1x2", Type::b8},
      {"e2m3x2", Type::b16}, {"e3m2x2", Type::b16}, {"e4m3x4", Type::b32},  {"e5m2x4", Type::b32},
      {"e2m1x4", Type::b16}, {"e2m3x4", Type::b32}, {"e3m2x4", Type::b32}};
  for (const auto& [name, type] : kTypes)
    if (name == word) return type;
  return type_of(word);
}

std::vector<Type> types_in(std::string_view spelling) {
  std::vector<Type> types;
  for (std::size_t at = spelling.find('.'); at != std::string_view::npos;) {
    const std::size_t end = spelling.find('.', at + 1);
    const std::string_view word = spelling.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (const Type type = narrow_type_of(word); type != Type::none) types.push_back(type);
    at = end;
  }
  return types;
}

Type twice_as_wide(Type type) {
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    case Type::s32: return Type::s64;
    default: throw std::logic_error(".wide of a type that has none");
  }
}

/// Types of destinations and sources, in the order of the text; the last one goes on for the rest.
struct Types {
  std::vector<Type> to, from;
  bool wider = false;
};

Types types_of(std::string_view spelling) {
  const std::string_view name = spelling.substr(0, spelling.find('.'));
  const bool wide = spelling.find(".wide.") != std::string_view::npos;
  const std::vector<Type> named = types_in(spelling);
  if (named.empty()) throw std::logic_error(fmt::format("'{}' names no type", spelling));
  const Type last = named.back(), first = named.size() > 1 ? named[named.size() - 2] : last;
  if (name == "cvt" && spelling.starts_with("cvt.pack.")) return {{Type::b32}, {Type::b32}};
  if (name == "cvt") return {{first}, {last}, true};
  if (name == "setp") return {{Type::pred}, {last, last, Type::pred}};
  if (name == "set") return {{first}, {last, last, Type::pred}};
  if (name == "selp") return {{last}, {last, last, Type::pred}};
  if (name == "slct") return {{first}, {first, first, last}};
  if (name == "testp") return {{Type::pred}, {last}};
  if (name == "mul" && wide) return {{twice_as_wide(last)}, {last}};
  if (name == "mad" && wide) return {{twice_as_wide(last)}, {last, last, twice_as_wide(last)}};
  if (name == "shl" || name == "shr") return {{last}, {last, Type::b32}};
  if (name == "bfe") return {{last}, {last, Type::b32}};
  if (name == "bfi") return {{last}, {last, last, Type::b32}};
  if (name == "popc" || name == "clz" || name == "bfind") return {{Type::b32}, {last}};
  if (name == "dp4a" || name == "dp2a" || name == "fns") return {{Type::b32}, {Type::b32}};
  if (name == "lop3") return {{last, Type::pred}, {last, last, last, last, Type::pred}};
  return {{last}, {last}};
}

/// As ptxas does, takes the modifiers before the types in any order: the spelling under which there is a computation.
Computation find_in_any_order(std::string_view& spelling, bool pair, std::string& reordered) {
  if (const Computation found = find_computation(spelling, pair); found.compute) return found;
  std::vector<std::string_view> modifiers, types;
  std::size_t at = spelling.find('.');
  const std::string_view name = spelling.substr(0, at);
  while (at != std::string_view::npos) {
    const std::size_t end = spelling.find('.', at + 1);
    const std::string_view word = spelling.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    (narrow_type_of(word) != Type::none ? types : modifiers).push_back(word);
    at = end;
  }
  constexpr std::size_t kMost = 4;
  if (modifiers.empty() || modifiers.size() > kMost) return {};
  std::sort(modifiers.begin(), modifiers.end());
  do {
    reordered = fmt::format("{}.{}.{}", name, fmt::join(modifiers, "."), fmt::join(types, "."));
    if (const Computation found = find_computation(reordered, pair); found.compute) {
      spelling = reordered;
      return found;
    }
  } while (std::next_permutation(modifiers.begin(), modifiers.end()));
  return {};
}

}  // namespace

Form decode_computation(std::string_view spelling, bool pair) {
  std::string reordered;
  const std::string_view written = spelling;
  const Computation found = find_in_any_order(spelling, pair, reordered);
  if (!found.compute) throw std::runtime_error(fmt::format("unknown instruction '{}'", written));
  const Types types = types_of(spelling);
  Form form;
  form.instruction.kind = Kind::compute;
  form.instruction.compute = found.compute;
  const bool moves = spelling.starts_with("mov.");
  form.instruction.type = types.to.front();
  if (found.to != (pair ? 2 : 1)) throw std::logic_error(fmt::format("'{}' has {} destinations", spelling, found.to));
  form.add({.role = OperandRule::Role::to,
            .type = types.to.front(),
            .wider = types.wider,
            .pair = pair ? OperandRule::Pair::must : OperandRule::Pair::no,
            .second = types.to.back(),
            .sink = pair});
  for (int k = 0; k < found.from; ++k)
    form.add({.role = OperandRule::Role::from,
              .type = types.from[std::min(static_cast<std::size_t>(k), types.from.size() - 1)],
              .wider = types.wider,
              .named = moves,
              .special = moves || spelling.starts_with("cvt.")});
  return form;
}

}  // namespace tutti::emulator

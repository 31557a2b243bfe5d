// atom, red, multimem
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {
namespace {

using Role = OperandRule::Role;
using enum AtomicOperation;

AtomicOperation need_operation(Words& words, bool returns) {
  if (returns && words.take("exch")) return exchange;
  if (returns && words.take("cas")) return compare_and_swap;
  return words.need_from<AtomicOperation>({{"add", add},
                                           {"min", min},
                                           {"max", max},
                                           {"and", bit_and},
                                           {"or", bit_or},
                                           {"xor", bit_xor},
                                           {"inc", increment},
                                           {"dec", decrement}},
                                          "an operation of an atomic");
}

/// Types of a scalar atomic that takes no .noftz.
Type need_atomic_type(Words& words, AtomicOperation operation) {
  switch (operation) {
    case add: return words.need_type({Type::u32, Type::s32, Type::u64, Type::f32, Type::f64});
    case min:
    case max: return words.need_type({Type::u32, Type::s32, Type::u64, Type::s64});
    case bit_and:
    case bit_or:
    case bit_xor: return words.need_type({Type::b32, Type::b64});
    case increment:
    case decrement: return words.need_type({Type::u32});
    case exchange: return words.need_type({Type::b32, Type::b64, Type::b128});
    case compare_and_swap: return words.need_type({Type::b16, Type::b32, Type::b64, Type::b128});
  }
  return Type::none;
}

/// .noftz, a cache hint, a vector (so many atomics, in no order) and the type. Returns whether there is a hint.
bool take_atomic_type(Words& words, Instruction& atomic, AtomicOperation operation) {
  const bool ordered = operation == min || operation == max;
  const bool halves = (operation == add || ordered) && words.take("noftz");
  const bool policy = words.take("L2::cache_hint");
  if (atomic.space != Space::shared && (halves || operation == add))
    atomic.vector = words.take_from<std::uint8_t>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1);
  if (ordered && halves && atomic.vector == 1) words.lacks("a vector");
  atomic.type = halves               ? words.need_type({Type::f16, Type::f16x2, Type::bf16, Type::bf16x2})
                : atomic.vector == 1 ? need_atomic_type(words, operation)
                                     : words.need_type({Type::f32});
  if (atomic.vector > 1 && atomic.vector * bytes_of(atomic.type) > 16)
    throw std::runtime_error(fmt::format("unknown instruction '{}': more than 16 bytes", words.spelling()));
  return policy;
}

/// Of red and atom: everything up to the operands.
bool take_atomic(Words& words, Instruction& atomic, bool returns) {
  atomic.kind = Kind::atomic;
  atomic.order = Order::relaxed;
  if (!words.take("relaxed")) {
    if (words.take("release"))
      atomic.order = Order::release;
    else if (returns && words.take("acquire"))
      atomic.order = Order::acquire;
    else if (returns && words.take("acq_rel"))
      atomic.order = Order::acq_rel;
  }
  atomic.scope = take_scope(words).value_or(Scope::gpu);
  atomic.space = words
                     .take_from<Space>({{"global", Space::global},
                                        {"shared", Space::shared},
                                        {"shared::cta", Space::shared},
                                        {"shared::cluster", Space::shared}})
                     .value_or(Space::generic);
  const AtomicOperation operation = need_operation(words, returns);
  atomic.operation = static_cast<std::uint8_t>(operation);
  return take_atomic_type(words, atomic, operation);
}

OperandRule value(const Instruction& atomic, Role role) {
  return {.role = role,
          .type = atomic.type,
          .vector = static_cast<std::uint8_t>(atomic.vector > 1 ? atomic.vector : 0),
          .sink = true};
}

/// .v2, .v4, .v8 and a type of 16 or 32 bits, or a scalar type, of multimem instructions.
void need_multimem_type(Words& words, Instruction& access, bool accumulates, std::initializer_list<Type> scalars) {
  access.vector = words.take_from<std::uint8_t>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1);
  if (accumulates) access.accumulates_wider = words.take("acc::f32");
  static constexpr std::initializer_list<Type> kPieces = {Type::f16, Type::f16x2, Type::bf16, Type::bf16x2, Type::f32};
  access.type = words.need_type(access.vector > 1 ? kPieces : scalars);
  const bool halves = access.type != Type::f32 && access.vector > 1;
  if (access.vector * bytes_of(access.type) > 16 || (access.accumulates_wider && !halves && access.vector > 1))
    throw std::runtime_error(fmt::format("unknown instruction '{}'", words.spelling()));
}

/// .weak, or an order with its scope; of a reduction the scope may be left out.
void take_multimem_order(Words& words, Instruction& access, std::string_view ordered, Order order) {
  const bool reduces = access.kind == Kind::multimem_reduce;
  if (!reduces && words.take("weak")) return;
  if (words.take(ordered))
    access.order = order;
  else if (words.take("relaxed") || reduces)
    access.order = Order::relaxed;
  if (reduces)
    access.scope = take_scope(words).value_or(Scope::sys);
  else if (access.strong())
    access.scope = need_scope(words);
}

AtomicOperation need_multimem_operation(Words& words) {
  return words.need_from<AtomicOperation>(
      {{"add", add}, {"min", min}, {"max", max}, {"and", bit_and}, {"or", bit_or}, {"xor", bit_xor}},
      "an operation of a reduction");
}

std::initializer_list<Type> multimem_scalars(AtomicOperation operation) {
  static constexpr std::initializer_list<Type> kBits = {Type::b32, Type::b64},
                                               kAdd = {Type::u32, Type::s32,   Type::u64,   Type::f32,
                                                       Type::f64, Type::f16x2, Type::bf16x2},
                                               kOrder = {Type::u32, Type::s32,   Type::u64,
                                                         Type::s64, Type::f16x2, Type::bf16x2};
  return operation == add ? kAdd : operation == min || operation == max ? kOrder : kBits;
}

}  // namespace

Form decode_atomic(Words& words) {
  Form form;
  const bool policy = take_atomic(words, form.instruction, true);
  form.add(value(form.instruction, Role::to)).address().add(value(form.instruction, Role::from));
  if (form.instruction.operation == static_cast<std::uint8_t>(compare_and_swap)) form.from(form.instruction.type);
  if (policy) form.add({.role = Role::hint, .type = Type::b64});
  return form;
}

Form decode_reduction(Words& words) {
  Form form;
  const bool policy = take_atomic(words, form.instruction, false);
  form.address().add(value(form.instruction, Role::from));
  if (policy) form.add({.role = Role::hint, .type = Type::b64});
  return form;
}

Form decode_multimem(Words& words) {
  Form form;
  Instruction& access = form.instruction;
  access.kind = words.need_from<Kind>(
      {{"ld_reduce", Kind::multimem_load}, {"st", Kind::multimem_store}, {"red", Kind::multimem_reduce}},
      ".ld_reduce, .st or .red");
  const bool loads = access.kind == Kind::multimem_load;
  take_multimem_order(words, access, loads ? "acquire" : "release", loads ? Order::acquire : Order::release);
  if (words.take("global")) access.space = Space::global;
  if (access.kind == Kind::multimem_store) {
    need_multimem_type(words, access, false,
                       {Type::b32, Type::b64, Type::u32, Type::s32, Type::u64, Type::s64, Type::f32, Type::f64,
                        Type::f16, Type::f16x2, Type::bf16, Type::bf16x2});
  } else {
    const AtomicOperation operation = need_multimem_operation(words);
    access.operation = static_cast<std::uint8_t>(operation);
    need_multimem_type(words, access, loads && operation == add, multimem_scalars(operation));
    if (access.type == Type::f32 && operation != add)
      throw std::runtime_error(fmt::format("unknown instruction '{}'", words.spelling()));
  }
  if (loads) return form.add(value(access, Role::to)).address();
  return form.address().add(value(access, Role::from));
}

}  // namespace tutti::emulator

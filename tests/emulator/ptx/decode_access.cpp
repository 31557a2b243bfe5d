// ld, ldu, st
#include <fmt/format.h>

#include <stdexcept>

#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {
namespace {

using Role = OperandRule::Role;

Form of_kind(Kind kind) {
  Form form;
  form.instruction.kind = kind;
  return form;
}

/// .volatile, .relaxed.scope and the like; a store has release where a load has acquire.
void take_order(Words& words, Instruction& access) {
  const bool loads = access.kind == Kind::load;
  if (words.take("weak")) return;
  if (words.take("volatile")) {
    access.is_volatile = true;
    access.order = Order::relaxed;
    access.scope = Scope::sys;
  } else if (words.take("mmio")) {
    words.need("relaxed");
    words.need("sys");
    access.is_volatile = true;
    access.order = Order::relaxed;
    access.scope = Scope::sys;
  } else if (words.take("relaxed")) {
    access.order = Order::relaxed;
    access.scope = need_scope(words);
  } else if (words.take(loads ? "acquire" : "release")) {
    access.order = loads ? Order::acquire : Order::release;
    access.scope = need_scope(words);
  }
}

void take_space(Words& words, Instruction& access) {
  // Without clusters the shared memory of the cluster is that of the block.
  if (const auto space = words.take_from<Space>({{"global", Space::global},
                                                 {"shared", Space::shared},
                                                 {"shared::cta", Space::shared},
                                                 {"shared::cluster", Space::shared},
                                                 {"local", Space::local},
                                                 {"param", Space::param},
                                                 {"param::func", Space::param}}))
    access.space = *space;
  else if (access.kind == Kind::load && words.take("param::entry"))
    access.space = Space::param;
  else if (access.kind == Kind::load && words.take("const"))
    access.space = Space::constant;
  const bool may_be_shared_with_others =
      access.space == Space::generic || access.space == Space::global || access.space == Space::shared;
  if (access.strong() && !may_be_shared_with_others)
    throw std::runtime_error(fmt::format("'{}': no other thread sees this state space", words.spelling()));
}

void take_vector_and_type(Words& words, Instruction& access) {
  access.vector = words.take_from<std::uint8_t>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1);
  access.type = words.need_type({Type::b8, Type::b16, Type::b32, Type::b64, Type::b128, Type::u8, Type::u16, Type::u32,
                                 Type::u64, Type::s8, Type::s16, Type::s32, Type::s64, Type::f32, Type::f64});
  const int bytes = access.vector * bytes_of(access.type);
  const bool global = access.space == Space::global || access.space == Space::generic;
  const bool wide = global && bytes == 32 && access.vector >= 4;
  if ((bytes > 16 || access.vector == 8) && !wide)
    throw std::runtime_error(fmt::format("'{}': {} elements with {} bytes", words.spelling(), access.vector, bytes));
}

/// Cache hints: none of them changes what is read or written. Returns whether a cache policy is an operand.
bool take_hints(Words& words, const Instruction& access) {
  words.take_any({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  if (access.vector * bytes_of(access.type) == 32)
    words.take_any({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  if (access.kind == Kind::load) words.take_any({"L2::64B", "L2::128B", "L2::256B"});
  return words.take("L2::cache_hint");
}

OperandRule data(const Instruction& access, Role role) {
  return {.role = role,
          .type = access.type,
          .wider = true,
          .vector = static_cast<std::uint8_t>(access.vector > 1 ? access.vector : 0),
          .sink = access.vector > 1};
}

}  // namespace

Form decode_load(Words& words) {
  Form form = of_kind(Kind::load);
  Instruction& load = form.instruction;
  take_order(words, load);
  take_space(words, load);
  const bool plain = load.order == Order::weak;
  if (plain) words.take_any({"ca", "cg", "cs", "lu", "cv"});
  if (plain && load.space == Space::global) load.non_coherent = words.take("nc");
  take_vector_and_type(words, load);
  const bool policy = take_hints(words, load);
  form.add(data(load, Role::to)).address();
  if (policy) form.add({.role = Role::hint, .type = Type::b64});
  return form;
}

Form decode_uniform_load(Words& words) {
  Form form = of_kind(Kind::load);
  if (words.take("global")) form.instruction.space = Space::global;
  form.instruction.non_coherent = true;
  take_vector_and_type(words, form.instruction);
  return form.add(data(form.instruction, Role::to)).address();
}

Form decode_store(Words& words) {
  Form form = of_kind(Kind::store);
  Instruction& store = form.instruction;
  take_order(words, store);
  take_space(words, store);
  if (store.order == Order::weak) words.take_any({"wb", "cg", "cs", "wt"});
  take_vector_and_type(words, store);
  const bool policy = take_hints(words, store);
  form.address().add(data(store, Role::from));
  if (policy) form.add({.role = Role::hint, .type = Type::b64});
  return form;
}

}  // namespace tutti::emulator

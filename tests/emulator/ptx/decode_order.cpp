// Fences, hints about caches, conversions of addresses.
#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {
namespace {

Form of_kind(Kind kind) {
  Form form;
  form.instruction.kind = kind;
  return form;
}

Space need_space(Words& words) {
  return words.need_from<Space>({{"global", Space::global},
                                 {"shared", Space::shared},
                                 {"shared::cta", Space::shared},
                                 {"shared::cluster", Space::shared},
                                 {"local", Space::local},
                                 {"const", Space::constant},
                                 {"param", Space::param},
                                 {"param::entry", Space::param}},
                                "a state space");
}

void need_proxy(Words& words, Form& form) {
  form.instruction.kind = Kind::proxy_fence;
  if (words.take("alias")) return;
  if (!words.take("async")) words.lacks(".alias or .async");
  words.take_any({"global", "shared::cta", "shared::cluster"});
}

}  // namespace

Form decode_fence(Words& words) {
  Form form = of_kind(Kind::fence);
  if (words.take("proxy")) {
    need_proxy(words, form);
    return form;
  }
  form.instruction.order = words
                               .take_from<Order>({{"sc", Order::seq_cst},
                                                  {"acq_rel", Order::acq_rel},
                                                  {"acquire", Order::acquire},
                                                  {"release", Order::release}})
                               .value_or(Order::acq_rel);
  form.instruction.scope = need_scope(words);
  return form;
}

Form decode_memory_barrier(Words& words) {
  Form form = of_kind(Kind::fence);
  if (words.take("proxy")) {
    need_proxy(words, form);
    return form;
  }
  form.instruction.order = Order::seq_cst;
  form.instruction.scope =
      words.need_from<Scope>({{"cta", Scope::cta}, {"gl", Scope::gpu}, {"sys", Scope::sys}}, ".cta, .gl or .sys");
  return form;
}

Form decode_prefetch(Words& words) {
  const bool uniform = words.name() == "prefetchu";
  Form form = of_kind(Kind::nothing);
  if (!uniform)
    form.instruction.space =
        words.take_from<Space>({{"global", Space::global}, {"local", Space::local}}).value_or(Space::generic);
  if (uniform)
    words.need("L1");
  else if (!words.take_any({"L1", "L2", "L2::evict_last", "L2::evict_normal"}))
    words.lacks("a cache level");
  return form.address();
}

Form decode_priority(Words& words) {
  Form form = of_kind(Kind::nothing);
  if (words.take("global")) form.instruction.space = Space::global;
  words.need("L2::evict_normal");
  return form.address().add({.role = OperandRule::Role::hint, .type = Type::b32});
}

// Its value means nothing here, since only hints take it: no policy is made.
Form decode_policy(Words& words) {
  Form form = of_kind(Kind::nothing);
  words.need("fractional");
  if (!words.take_any({"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"}))
    words.lacks("a priority");
  words.take_any({"L2::evict_first", "L2::evict_unchanged"});
  words.need("b64");
  return form.to(Type::b64).add({.role = OperandRule::Role::hint, .type = Type::f32, .optional = true});
}

Form decode_convert_address(Words& words) {
  Form form = of_kind(Kind::to_generic);
  if (words.take("to")) form.instruction.kind = Kind::from_generic;
  form.instruction.space = need_space(words);
  form.instruction.type = words.need_type({Type::u64});
  form.to(Type::u64);
  return form.add({.type = Type::u64, .named = form.instruction.kind == Kind::to_generic});
}

Form decode_is_in_space(Words& words) {
  Form form = of_kind(Kind::is_in_space);
  form.instruction.space = need_space(words);
  return form.to(Type::pred).from(Type::u64);
}

}  // namespace tutti::emulator

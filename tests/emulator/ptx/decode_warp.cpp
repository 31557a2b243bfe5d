// Barriers, and what the lanes of a warp do together.
#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {
namespace {

using Role = OperandRule::Role;
using Pair = OperandRule::Pair;

Form of_kind(Kind kind) {
  Form form;
  form.instruction.kind = kind;
  return form;
}

}  // namespace

Form decode_barrier(Words& words) {
  const bool aligned_always = words.name() == "bar";
  Form form = of_kind(Kind::barrier);
  Instruction& barrier = form.instruction;
  if (aligned_always && words.take("warp")) {
    words.need("sync");
    barrier.kind = Kind::warp_barrier;
    return form.from(Type::b32);
  }
  words.take("cta");
  barrier.kind =
      words.need_from<Kind>({{"sync", Kind::barrier}, {"arrive", Kind::barrier_arrive}, {"red", Kind::barrier_reduce}},
                            ".sync, .arrive or .red");
  const bool reduces = barrier.kind == Kind::barrier_reduce;
  auto reduction = BarrierReduction::none;
  if (reduces)
    reduction = words.need_from<BarrierReduction>(
        {{"popc", BarrierReduction::count}, {"and", BarrierReduction::bit_and}, {"or", BarrierReduction::bit_or}},
        ".popc, .and or .or");
  barrier.operation = static_cast<std::uint8_t>(reduction);
  barrier.aligned = aligned_always || words.take("aligned");
  if (reduces) {
    barrier.type = reduction == BarrierReduction::count ? words.need_type({Type::u32}) : words.need_type({Type::pred});
    form.to(barrier.type);
  }
  form.from(Type::b32);
  form.add({.role = Role::from, .type = Type::b32, .optional = barrier.kind != Kind::barrier_arrive});
  if (reduces) form.from(Type::pred);
  return form;
}

Form decode_shuffle(Words& words) {
  Form form = of_kind(Kind::shuffle);
  words.need("sync");
  const auto mode = words.need_from<Shuffle>(
      {{"up", Shuffle::up}, {"down", Shuffle::down}, {"bfly", Shuffle::butterfly}, {"idx", Shuffle::index}},
      ".up, .down, .bfly or .idx");
  form.instruction.operation = static_cast<std::uint8_t>(mode);
  form.instruction.type = words.need_type({Type::b32});
  form.add({.role = Role::to, .type = Type::b32, .pair = Pair::may});
  return form.from(Type::b32).from(Type::b32).from(Type::b32).from(Type::b32);
}

Form decode_vote(Words& words) {
  Form form = of_kind(Kind::vote);
  words.need("sync");
  const auto mode =
      words.need_from<Vote>({{"all", Vote::all}, {"any", Vote::any}, {"uni", Vote::uniform}, {"ballot", Vote::ballot}},
                            ".all, .any, .uni or .ballot");
  form.instruction.operation = static_cast<std::uint8_t>(mode);
  form.instruction.type = words.need_type({mode == Vote::ballot ? Type::b32 : Type::pred});
  return form.to(form.instruction.type).from(Type::pred).from(Type::b32);
}

Form decode_match(Words& words) {
  Form form = of_kind(Kind::match);
  const auto mode = words.need_from<Match>({{"any", Match::any}, {"all", Match::all}}, ".any or .all");
  words.need("sync");
  form.instruction.operation = static_cast<std::uint8_t>(mode);
  form.instruction.type = words.need_type({Type::b32, Type::b64});
  form.add({.role = Role::to, .type = Type::b32, .pair = mode == Match::all ? Pair::may : Pair::no, .sink = true});
  return form.from(form.instruction.type).from(Type::b32);
}

Form decode_warp_reduction(Words& words) {
  Form form = of_kind(Kind::warp_reduce);
  words.need("sync");
  using enum AtomicOperation;
  const auto operation = words.need_from<AtomicOperation>(
      {{"add", add}, {"min", min}, {"max", max}, {"and", bit_and}, {"or", bit_or}, {"xor", bit_xor}}, "an operation");
  form.instruction.operation = static_cast<std::uint8_t>(operation);
  const bool logical = operation == bit_and || operation == bit_or || operation == bit_xor;
  form.instruction.type = logical ? words.need_type({Type::b32}) : words.need_type({Type::u32, Type::s32});
  return form.to(form.instruction.type).from(form.instruction.type).from(Type::b32);
}

Form decode_active_mask(Words& words) {
  Form form = of_kind(Kind::active_mask);
  form.instruction.type = words.need_type({Type::b32});
  return form.to(Type::b32);
}

Form decode_elect(Words& words) {
  Form form = of_kind(Kind::elect);
  words.need("sync");
  form.add({.role = Role::to, .type = Type::b32, .pair = Pair::must, .sink = true});
  return form.from(Type::b32);
}

Form decode_plain(Words& words) {
  const std::string_view name = words.name();
  const bool returns = name == "ret";
  if (returns) words.take("uni");
  return of_kind(returns ? Kind::ret : name == "exit" ? Kind::exit : name == "trap" ? Kind::trap : Kind::breakpoint);
}

Form decode_sleep(Words& words) {
  Form form = of_kind(Kind::sleep);
  return form.from(words.need_type({Type::u32}));
}

// What a grid waits for is done before it begins.
Form decode_grid_dependency(Words& words) {
  Form form = of_kind(Kind::nothing);
  if (!words.take_any({"launch_dependents", "wait"})) words.lacks(".launch_dependents or .wait");
  return form;
}

Form decode_event(Words& words) {
  words.take("mask");
  return of_kind(Kind::nothing).add({.role = OperandRule::Role::hint, .type = Type::b16});
}

Form decode_register_count(Words& words) {
  Form form = of_kind(Kind::nothing);
  if (!words.take_any({"inc", "dec"})) words.lacks(".inc or .dec");
  words.need("sync");
  words.need("aligned");
  words.need("u32");
  return form.add({.role = Role::hint, .type = Type::b32});
}

}  // namespace tutti::emulator

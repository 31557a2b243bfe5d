// The words of PTX that the emulator tells apart.
#pragma once
#include <cstdint>

namespace tutti::emulator {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
};

/// Bytes of one scalar of the type in memory; 0 for none, 1 for pred.
constexpr int bytes_of(Type type) {
  switch (type) {
    case Type::none: return 0;
    case Type::pred:
    case Type::b8:
    case Type::u8:
    case Type::s8: return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2: return 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64: return 8;
    case Type::b128: return 16;
  }
  return 0;
}
constexpr bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

/// State spaces. In `param` stand a kernel's parameters; what a call passes to a function stands in `local`.
enum class Space : std::uint8_t { generic, global, shared, local, param, constant };

/// Memory order of an access or fence. `.volatile` is relaxed at system scope (and noted, see
/// Instruction::is_volatile).
enum class Order : std::uint8_t { weak, relaxed, acquire, release, acq_rel, seq_cst };
enum class Scope : std::uint8_t { none, cta, cluster, gpu, sys };

enum class AtomicOperation : std::uint8_t {
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  exchange,
  compare_and_swap,
  increment,
  decrement
};

enum class Shuffle : std::uint8_t { up, down, butterfly, index };
enum class Vote : std::uint8_t { all, any, uniform, ballot };
enum class Match : std::uint8_t { any, all };
enum class BarrierReduction : std::uint8_t { none, bit_and, bit_or, count };
enum class Clock : std::uint8_t { clock, clock_hi, clock64, global_timer, global_timer_lo, global_timer_hi };

}  // namespace tutti::emulator

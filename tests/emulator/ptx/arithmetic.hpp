// Instructions that only compute: registers in, registers out.
//
// They are found by their whole spelling, so an instruction or modifier that nobody wrote down does not exist.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct Computation {
  Compute compute = nullptr;  ///< null: no such instruction
  /// Operands in the order of the text: `to` destinations (setp may have two), then `from` sources. A .b128 operand
  /// counts once. mov with a vector, such as mov.b64 {a, b}, c, is found by spelling and counts: see find_vector_move.
  int to = 0, from = 0;
};

/// The instruction of this spelling, without guard and operands: "mad.wide.u32". For a setp with p|q, `pair` is true.
Computation find_computation(std::string_view spelling, bool pair = false);

/// mov between one register of `type` and `parts` parts of it: packs (parts -> one) or unpacks.
Computation find_vector_move(Type type, int parts, bool packs);

/// Every spelling there is, for tests and messages.
std::span<const std::string_view> all_spellings();

/// What an atomic leaves in memory: `old` and the operands are values of `type`, as slots hold them. For
/// compare_and_swap, `operand` is what is compared and `next` the new value. f16x2 and bf16x2 work on halves.
std::uint64_t apply_atomic(AtomicOperation operation, Type type, std::uint64_t old, std::uint64_t operand,
                           std::uint64_t next);

/// A value of `type` as slots hold it: extended from its low bits.
std::uint64_t extended(std::uint64_t bits, Type type);

}  // namespace tutti::emulator

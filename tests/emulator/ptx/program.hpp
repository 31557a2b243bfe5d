// A PTX program as data: what the parser makes and the machine runs.
//
// Registers. A thread has an array of 64-bit slots for the function it is in: the special registers first (see
// SpecialSlot), then the function's registers and its constants, which the machine fills in when the function begins.
// So every operand of an instruction is the number of a slot. A slot holds a value of any type in its low bits: who
// reads looks at the bits of its own type only; who writes a type narrower than 64 bits extends it (with its sign if it
// is signed, else with zeros), as ld and cvt do into wide registers. A predicate is 0 or 1. A .b128 register is two
// slots, the low half first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/ptx/types.hpp"

namespace tutti::emulator {

struct Instruction;

/// Computes an instruction on the slots of a thread.
using Compute = void (*)(std::uint64_t* slots, const Instruction& instruction);

using Slot = std::uint16_t;

/// The slots that a machine fills in for each thread, with the same numbers in every function.
enum SpecialSlot : Slot {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  nowhere,  ///< what `_` as a destination is written to
  carry,    ///< the flag CC.CF, which add.cc writes and addc reads
  kSpecialSlots
};
/// No slot.
inline constexpr Slot kNoSlot = 0xffff;

enum class Kind : std::uint8_t {
  compute,          ///< `compute` does it all
  nothing,          ///< hints: prefetch and the like
  load,             ///< to[0 .. vector) = [from address]
  store,            ///< [address] = from[0 .. vector)
  atomic,           ///< to[0] (or nowhere: red) = old [address]; from[0] operand, or compare and from[1] the new value
  multimem_load,    ///< ld_reduce: to[0 .. vector) = reduction over the replicas of [address]
  multimem_store,   ///< [address] of all replicas = from[0 .. vector)
  multimem_reduce,  ///< red: the same with an atomic
  fence,
  proxy_fence,     ///< fence.proxy.*; `operation` is not used
  barrier,         ///< bar/barrier.sync; from[0] which, from[1] how many threads (kNoSlot: all)
  barrier_arrive,  ///< the same without waiting
  barrier_reduce,  ///< bar.red; to[0]; from[0] which, from[1] how many or kNoSlot, from[2] the predicate
  warp_barrier,    ///< bar.warp.sync; from[0] mask
  shuffle,         ///< to[0], to[1] predicate or nowhere; from: value, lane, clamp, mask
  vote,            ///< to[0]; from: predicate, mask
  match,           ///< to[0], to[1] predicate or nowhere; from: value, mask
  warp_reduce,     ///< redux: to[0]; from: value, mask; `operation` is an AtomicOperation
  active_mask,     ///< to[0]
  elect,           ///< elect.sync: to[0] the leader's lane or nowhere, to[1] predicate; from[0] mask
  to_generic,      ///< cvta.SPACE: to[0] = generic address of from[0] in `space`
  from_generic,    ///< cvta.to.SPACE
  is_in_space,     ///< isspacep: to[0] = whether from[0] is a generic address in `space`
  branch,          ///< to instruction `target`
  branch_indexed,  ///< to tables[target][from[0]]
  call,            ///< calls[target]
  ret,             ///< from a function; from an entry: the thread ends
  exit,            ///< the thread ends
  clock,           ///< to[0] = a clock; `operation` is a Clock
  sleep,           ///< nanosleep; from[0] nanoseconds
  trap,
  breakpoint,
};

struct Instruction {
  static constexpr int kOperands = 8;

  Compute compute = nullptr;
  std::int64_t offset = 0;  ///< added to the address
  Kind kind = Kind::nothing;
  Type type = Type::none;  ///< of one element of a memory access, of a warp operation's value
  Space space = Space::generic;
  Order order = Order::weak;
  Scope scope = Scope::none;
  std::uint8_t vector = 1;     ///< elements of an access
  std::uint8_t operation = 0;  ///< AtomicOperation, Shuffle, Vote, Match, BarrierReduction or Clock, as `kind` says
  bool is_volatile = false;
  bool non_coherent = false;       ///< ld.global.nc
  bool aligned = false;            ///< of a barrier: all threads of a warp come to it together (bar.* always)
  bool accumulates_wider = false;  ///< multimem.ld_reduce of halves with .acc::f32
  bool guard_negated = false;      ///< runs if the guard is 0
  std::uint8_t to_count = 0, from_count = 0;
  Slot guard = kNoSlot;    ///< a predicate, or kNoSlot: always runs
  Slot address = kNoSlot;  ///< of a memory access
  Slot to[kOperands] = {};
  Slot from[kOperands] = {};
  std::int32_t target = -1;
  std::uint32_t line = 0;   ///< in the PTX text, from 1
  std::uint32_t place = 0;  ///< in Function::places

  /// A memory access other than weak; scheduling points are these, fences, barriers, sleeps and ends.
  bool strong() const { return order != Order::weak; }
};

/// A line of the program that was compiled, from .loc: where the instruction stands, and the chain of calls that were
/// inlined around it, innermost first. Place 0 of a function is "unknown".
struct Place {
  struct At {
    std::uint32_t file;  ///< in Module::files
    std::uint32_t line;
  };
  std::vector<At> at;
};

/// Part of a space.
struct Extent {
  std::uint32_t offset = 0, bytes = 0, alignment = 1;
};

/// A slot that holds the same value while a function runs.
struct Constant {
  enum class Of : std::uint8_t {
    literal,    ///< `value`
    variable,   ///< address of Module::variables[symbol], plus `value`
    shared,     ///< `value` is an offset in shared memory (that of dynamic shared memory is known to the machine:
                ///< shared_bytes)
    local,      ///< `value` is an offset in the frame of the running function
    parameter,  ///< `value` is an offset in the parameters
    function,   ///< Module::functions()[symbol], as an address for indirect calls
  };
  Slot slot;
  Of of;
  std::uint32_t symbol;
  std::uint64_t value;
};

/// A call of a function. Arguments and result are copied between the frames' local memory (`.param` variables of the
/// caller) and the parameters of the callee.
struct CallSite {
  std::string callee;  ///< empty: indirect, through `through`
  Slot through = kNoSlot;
  std::vector<Extent> arguments;
  std::vector<Extent> results;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;            ///< false: declared only (vprintf, __assertfail, ...)
  std::vector<Extent> parameters;  ///< in parameter space
  std::uint32_t parameter_bytes = 0;
  std::vector<Extent> results;     ///< of a function, in its frame's local memory
  std::uint32_t shared_bytes = 0;  ///< static ones; dynamic shared memory follows, aligned to 128
  std::uint32_t local_bytes = 0;   ///< of a frame
  std::uint32_t max_threads = 0;   ///< .maxntid as a product, 0 if not given
  std::uint32_t min_blocks = 0;    ///< .minnctapersm
  std::uint32_t slots = kSpecialSlots;
  std::vector<Slot> pairs;  ///< low halves of .b128 registers: the next slot is the high half
  std::vector<Constant> constants;
  std::vector<Instruction> code;
  std::vector<std::vector<std::int32_t>> tables;
  std::vector<CallSite> calls;
  std::vector<Place> places;
};

/// A variable of the module in global or constant memory.
struct Variable {
  /// The address of another variable (or function) that the initial value holds.
  struct Reference {
    std::uint32_t offset;
    std::string symbol;
    std::int64_t addend;
  };
  std::string name;
  Space space = Space::global;
  std::uint32_t bytes = 0, alignment = 1;
  std::vector<unsigned char> initial;  ///< shorter than `bytes`: zeros follow
  std::vector<Reference> references;
  bool external = false;
};

/// One PTX text. Function bodies are parsed when first asked for: a module of tutti has megabytes of them.
class Module {
 public:
  /// Finds variables, functions and files. Throws std::runtime_error naming `name`, line and what is wrong.
  Module(std::string text, std::string name);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const;
  const std::string& target() const;   ///< such as sm_90
  const std::string& version() const;  ///< such as 9.0
  const std::vector<Variable>& variables() const;
  const std::vector<std::string>& files() const;
  /// Names of entries (kernels), in the order of the text.
  const std::vector<std::string>& entries() const;
  /// Names of functions, defined or only declared: what Constant::Of::function means.
  const std::vector<std::string>& functions() const;
  /// Whether there is such a function or entry.
  bool contains(std::string_view function) const;
  /// The function with its body. Thread-safe. Throws std::runtime_error, naming module, line and text, if there is
  /// none or if it has an instruction that the emulator does not know.
  const Function& function(std::string_view name) const;
  /// "ring.hpp:42 in block_cuda.cuh:71 ...", innermost first; "unknown" if there is no .loc.
  std::string source(const Function& function, const Instruction& instruction) const;
  /// The line of the PTX text, trimmed.
  std::string text(const Instruction& instruction) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::emulator

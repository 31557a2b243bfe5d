// The events of one run through a program, before anything is said of what reads return.
//
// A path is a program with its choices made: how often each poll fails, which guarded instructions run, which
// compare-and-swap finds what it looks for. It holds only in executions where the values that are read agree with these
// choices (`constraints`). Each scalar access is an event of its own: the elements of a vector access are not ordered
// among each other. An atomic is a read and a write; bar.sync is an arrival and what comes after it.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/emulator/litmus/program.hpp"

namespace tutti::emulator::litmus {

/// A value that a path computes: what a read returns plus a constant, or the constant alone. 64 bits, wrapping.
struct Symbol {
  int read = -1;  ///< event
  std::uint64_t plus = 0;
};

struct Event {
  enum class Kind : std::uint8_t { read, write, fence, arrive, depart };
  Kind kind = Kind::read;
  int thread = 0;
  int instruction = 0;
  Order order = Order::weak;  ///< acquire only on reads, release only on writes, all on fences
  Scope scope = Scope::none;
  int location = -1;
  int begin = 0, width = 0;  ///< bytes of the location
  int cell = 0, cells = 0;   ///< the same in cells, see Path
  int partner = -1;          ///< the other event of an atomic
  bool reduction = false;    ///< of a `red`: its read makes no acquire pattern
  bool is_atomic = false;
  AtomicOperation operation = AtomicOperation::exchange;
  Symbol value;              ///< of a write: what is stored, or the atomic's operand
  int barrier = -1;          ///< which meeting, for arrivals and departures
  std::vector<int> depends;  ///< reads on which it rests: its value, and whether it happens at all

  bool strong() const { return order != Order::weak; }
  bool is_read() const { return kind == Kind::read; }
  bool is_write() const { return kind == Kind::write; }
  bool is_memory() const { return is_read() || is_write(); }
};

/// `part(left) comparison right` is `expected`.
struct Constraint {
  Symbol left, right;
  Part part = Part::whole;
  Comparison comparison = Comparison::equal;
  bool expected = true;
};

/// Memory is cut into cells at every place where some access of the program begins or ends, so that each access is of
/// whole cells. A read takes each cell from one write.
struct Cell {
  int location = 0, begin = 0, width = 0;
  std::uint64_t initial = 0;
};

struct Path {
  std::vector<Cell> cells;
  std::vector<Event> events;  ///< thread by thread, in program order
  std::vector<Constraint> constraints;
  std::vector<Symbol> registers;                   ///< at the end, in the order of an Outcome
  std::vector<std::pair<int, int>> program_order;  ///< all pairs
  std::vector<std::pair<int, int>> across;         ///< from arrivals to departures of the others, from kernel to kernel
};

/// All paths; polls fail at most `failing_polls` times each. Throws std::runtime_error if a path has more events than
/// Relation::kMostEvents, or if the model leaves the program out (see memory_model.hpp).
std::vector<Path> unfold(const Program& program, int failing_polls);

}  // namespace tutti::emulator::litmus

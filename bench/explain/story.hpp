// One call of a collective, told step by step in cells. Tables, pictures and pages are drawn from it alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cost.hpp"

namespace tutti::explain {

/// The smallest part of a buffer that moves by itself: a line of equal elements. `value` is what each of them holds,
/// `ranks` has a bit for each rank whose contribution is in it, and `chunk` tells whose input it came from or which
/// chunk of it it is (the colour). Empty: nothing of this call has been written to it.
struct Cell {
  double value = 0;
  std::uint64_t ranks = 0;
  int chunk = -1;
  bool empty() const { return ranks == 0; }
  bool operator==(const Cell&) const = default;
};

/// A row of cells.
struct Row {
  enum class Kind : std::uint8_t { in, out, slot };
  Kind kind = Kind::in;
  int rank = 0;
  std::string label;  ///< "in", "out", "inbox 0", "packets from 2"
  std::vector<Cell> cells;
};

/// Cells [first, first + count) of row `row`.
struct Cells {
  int row = 0;
  int first = 0;
  int count = 0;
};

/// One word that moved something.
struct Action {
  enum class Kind : std::uint8_t { copy, add };
  Kind kind = Kind::copy;
  int rank = 0, block = 0;      ///< who did it
  double begin = 0, end = 0;    ///< ns; `end`: the last byte is there
  std::vector<Cells> from, to;  ///< all of the same count; `to` gets copies, or the sum in the order of `from`
  std::string text;             ///< "rank 1 adds c2 from inbox 0 to its own, sends the sum to rank 2"
  std::string source;           ///< "ring.hpp:55"
};

/// What happens between two messages that follow one another.
struct Step {
  int number = 0;
  double begin = 0, end = 0;
  std::vector<Action> actions;           ///< by begin
  std::vector<std::vector<Cell>> after;  ///< [row] cells
};

/// What a block does with its time.
struct Span {
  enum class Kind : std::uint8_t { transfer, reduce, wait };
  Kind kind = Kind::wait;
  int rank = 0, block = 0;
  double begin = 0, end = 0;
  std::string text;  ///< "waits for data from rank 0"
};

struct Story {
  std::string collective, algorithm, kernel, memory, machine, file;  ///< file: the kernel's, "kernels/ring.hpp"
  int ranks = 0, root = -1;
  std::vector<Row> rows;  ///< as they are before the call: of rank 0, then of rank 1, ...
  std::vector<Step> steps;
  std::vector<Span> spans;
  Cost counted, formula;  ///< steps and bytes per rank, as this run counted them and as the kernel's file says
  double end = 0;         ///< ns
  bool right = false;     ///< whether every rank holds what it should, bit for bit
};

}  // namespace tutti::explain

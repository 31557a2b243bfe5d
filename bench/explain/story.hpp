// One call of a collective, told step by step in cells. Tables, pictures and pages are drawn from it alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cost.hpp"

namespace tutti::explain {

/// The smallest part of a buffer that moves by itself: a line of equal elements. Empty: nothing of this call has been
/// written to it.
struct Cell {
  double value = 0;         ///< what each of its elements holds
  std::uint64_t ranks = 0;  ///< a bit for each rank whose contribution is in it
  int index = -1;           ///< which cell of an input it is, or the sum of which
  int chunk = -1;           ///< its colour, 0 <= chunk < Story::chunks: whose it is, or which part of the input
  bool empty() const { return ranks == 0; }
  bool operator==(const Cell&) const = default;
};

/// A row of cells: a buffer, or the slots of one kind that the call uses in a rank's arena.
struct Row {
  enum class Kind : std::uint8_t { in, out, slot };
  Kind kind = Kind::in;
  int rank = 0;
  std::string label;        ///< "in", "out", "inbox", "outbox", "packets", "message"
  std::vector<Cell> cells;  ///< before the call
  std::vector<int> parts;   ///< cells at which the next chunk, slot, lane or sender's part begins, ascending; never 0
  std::vector<Cell> expected;  ///< of outputs: what they must hold after the call
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
  std::string text;             ///< "rank 1 adds c0: its inbox + its input -> rank 2's inbox"
  std::string source;           ///< "ring.hpp:55"
};

/// A flag, or the tags of packets: one rank tells another that it may go on.
struct Message {
  std::string purpose;  ///< "enter", "leave", "data", "credit", "packets"
  int from = 0, to = 0, block = 0;
  double sent = 0, arrived = 0;  ///< ns
  double heard = -1;             ///< when the wait that it ended was over; -1: nobody waited for it
};

/// What happens between two messages that follow one another. Step k has the k-th messages and what was done before
/// they were sent; a step after the last message has what was done then.
struct Step {
  int number = 0;  ///< from 1
  double begin = 0, end = 0;
  std::string text;               ///< "enter: every rank tells every other what it calls, and where its buffers are"
  std::vector<Action> actions;    ///< by begin
  std::vector<Message> messages;  ///< by sent
  std::vector<std::vector<Cell>> after;  ///< [row] cells
};

/// What a block does with its time.
struct Span {
  enum class Kind : std::uint8_t { transfer, reduce, wait };
  Kind kind = Kind::wait;
  int rank = 0, block = 0;
  double begin = 0, end = 0;
  std::string text;    ///< "waits for data from rank 0"
  std::string source;  ///< "ring.hpp:55"
  double bytes = 0;    ///< at each place that is read or written
};

struct Story {
  std::string collective, algorithm, kernel, op, memory, machine, file;  ///< file: the kernel's, "kernels/ring.hpp"
  std::string values;  ///< what cells hold before the call: "cell c of rank r holds c + r"
  int ranks = 0, root = -1, blocks = 1;
  int chunks = 0;         ///< how many colours there are
  bool sums = false;      ///< whether the collective adds
  double cell_bytes = 0;  ///< of f32
  double call_bytes = 0;  ///< of call.count elements: S of the formula
  std::vector<Row> rows;  ///< of rank 0, then of rank 1, ...
  std::vector<Step> steps;
  std::vector<Span> spans;   ///< by begin
  Cost counted, formula;     ///< steps and bytes per rank, as this run counted them and as the kernel's file says
  std::string formula_text;  ///< empty if they agree, or why the formula does not hold for this call
  double end = 0;            ///< ns
  bool right = false;        ///< whether every rank holds what it should, bit for bit
  std::string wrong;         ///< what is wrong, if something is
};

}  // namespace tutti::explain

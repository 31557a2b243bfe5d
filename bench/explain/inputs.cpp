#include "bench/explain/inputs.hpp"

#include <algorithm>

namespace tutti::explain {
namespace {

/// Whether a cell's colour says whose it is, and not where in the input it stands.
bool coloured_by_rank(const Recording& recording) { return recording.request.spreads_out(); }

Cell reduced_cell(const Recording& recording, int c) {
  Cell all = input_cell(recording, 0, c);
  float value = recording.input(0, c);
  for (int rank = 1; rank < recording.subject.ranks; ++rank)
    value = combined(recording.subject.op, value, recording.input(rank, c));
  if (recording.subject.op == ReduceOp::avg) value /= static_cast<float>(recording.subject.ranks);
  all.value = value;
  all.ranks = everyone(recording);
  return all;
}

}  // namespace

int chunks_of(const Recording& recording) {
  const Subject& s = recording.subject;
  return coloured_by_rank(recording) || recording.request.spreads_in() ? s.ranks : std::min(s.cells, s.ranks);
}

Cell input_cell(const Recording& recording, int rank, int c) {
  const Subject& s = recording.subject;
  const int cells = recording.request.spreads_in() ? s.cells * s.ranks : s.cells;
  return {.value = recording.input(rank, c),
          .ranks = std::uint64_t{1} << rank,
          .index = c,
          .chunk = coloured_by_rank(recording) ? rank : c * chunks_of(recording) / cells};
}

std::vector<Cell> expected(const Recording& recording, int rank) {
  const Subject& s = recording.subject;
  std::vector<Cell> cells;
  if (!recording.out[static_cast<std::size_t>(rank)].used) return cells;
  const auto add = [&](const auto& cell) {
    for (int c = 0; c < s.cells; ++c) cells.push_back(cell(c));
  };
  switch (recording.request.collective) {
    case Collective::all_reduce:
    case Collective::reduce: add([&](int c) { return reduced_cell(recording, c); }); break;
    case Collective::reduce_scatter: add([&](int c) { return reduced_cell(recording, rank * s.cells + c); }); break;
    case Collective::scatter: add([&](int c) { return input_cell(recording, s.root, rank * s.cells + c); }); break;
    case Collective::all_gather:
    case Collective::gather:
      for (int from = 0; from < s.ranks; ++from) add([&](int c) { return input_cell(recording, from, c); });
      break;
    case Collective::all_to_all:
      for (int from = 0; from < s.ranks; ++from)
        add([&](int c) { return input_cell(recording, from, rank * s.cells + c); });
      break;
    case Collective::broadcast:
    case Collective::send: add([&](int c) { return input_cell(recording, s.root, c); }); break;
    case Collective::recv:
    case Collective::barrier: break;
  }
  return cells;
}

std::uint64_t everyone(const Recording& recording) { return (std::uint64_t{1} << recording.subject.ranks) - 1; }

float combined(ReduceOp op, float a, float b) {
  switch (op) {
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    default: return a + b;
  }
}

}  // namespace tutti::explain

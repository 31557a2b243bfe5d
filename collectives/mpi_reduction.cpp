#include "collectives/mpi_reduction.hpp"

#include <cstring>

#include "collectives/mpi_average.hpp"

namespace tutti {
namespace {

const char* chunk_of(const void* base, const Request& r, int rank) {
  return static_cast<const char*>(base) + static_cast<std::size_t>(rank) * r.bytes();
}

}  // namespace

bool scattered_in_place(const Request& r, int rank) { return r.out == chunk_of(r.in, r, rank); }
bool gathered_in_place(const Request& r, int rank) { return r.in == chunk_of(r.out, r, rank); }

Request prepare_reduction(MpiOperation& operation, const Request& r, int rank, int ranks) {
  const bool average = r.op == ReduceOp::avg;
  Request sum = r;
  if (average) {
    sum.op = ReduceOp::sum;
    sum.type = sum_type(r.type);
  }
  if (sum.type != r.type) {
    const std::size_t elements = r.bytes_in(static_cast<std::size_t>(ranks)) / size_of(r.type);
    char* const wide = operation.scratch(elements * size_of(sum.type));
    widen_all(r.type, r.in, wide, elements);
    sum.in = wide;
    sum.out = r.spreads_in() ? operation.scratch(r.count * size_of(sum.type)) : wide;
  } else if (r.spreads_in() && scattered_in_place(r, rank)) {
    sum.out = operation.scratch(r.bytes());
  }
  if (!r.has_out(rank)) return sum;
  if (average) {
    operation.then([r, wide = sum.out, ranks] { divide_all(r.type, wide, r.out, r.count, ranks); });
  } else if (sum.out != r.out) {
    operation.then([r, result = sum.out] { std::memcpy(r.out, result, r.bytes()); });
  }
  return sum;
}

}  // namespace tutti

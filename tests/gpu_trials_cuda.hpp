// One call of any collective on GPUs, and what it must leave.
#pragma once
#include "collectives/backend.hpp"
#include "tests/gpu_jobs_cuda.hpp"

namespace tutti::test {

struct GpuTrial {
  Collective collective;
  Algorithm algorithm = Algorithm::automatic;
  std::size_t count = 0;
  bool in_place = false;
  int root = 0;
  std::size_t shift = 0;  ///< elements off an aligned address
  void* stream = nullptr;
};

/// The element that stands at `i` of `rank`'s output; sums of small numbers.
inline int result_of(const GpuTrial& t, int ranks, int rank, std::size_t i) {
  const auto own = static_cast<std::size_t>(rank) * t.count;
  switch (t.collective) {
    case Collective::all_reduce:
    case Collective::reduce: return sum_of(ranks, i);
    case Collective::reduce_scatter: return sum_of(ranks, own + i);
    case Collective::all_gather:
    case Collective::gather: return input(static_cast<int>(i / t.count), i % t.count);
    case Collective::broadcast: return input(t.root, i);
    case Collective::scatter: return input(t.root, own + i);
    case Collective::all_to_all: return input(static_cast<int>(i / t.count), own + i % t.count);
    default: return 0;
  }
}

/// Elements that a trial's input and output may have.
inline std::size_t room_of(std::size_t count, int ranks) { return count * static_cast<std::size_t>(ranks) + 64; }

/// Runs the trial in `memory`, which has room for two buffers of `room` elements. Collective.
template <class T>
void run_trial(Communicator& comm, T* memory, std::size_t room, const GpuTrial& t) {
  const int n = comm.size(), rank = comm.rank();
  Request shape{.collective = t.collective, .count = t.count, .type = data_type_v<T>, .peer = t.root};
  const std::size_t ins = shape.bytes_in(static_cast<std::size_t>(n)) / sizeof(T);
  const std::size_t outs = shape.bytes_out(static_cast<std::size_t>(n)) / sizeof(T);
  const std::size_t own = static_cast<std::size_t>(rank) * t.count;
  T* in = memory + t.shift;
  T* out = memory + room + t.shift;
  const bool both = shape.has_in(rank) && shape.has_out(rank);
  if (t.collective == Collective::broadcast) out = in;
  if (t.in_place && both && t.collective != Collective::all_to_all)
    out = shape.spreads_out() ? in : shape.spreads_in() ? in + own : in;
  if (t.in_place && both && shape.spreads_out() && t.collective != Collective::all_to_all) in = out + own;
  if (shape.has_in(rank)) fill(comm, in, rank, ins);
  const Options options{.algorithm = t.algorithm, .stream = t.stream};
  constexpr ReduceOp sum = ReduceOp::sum;
  switch (t.collective) {
    case Collective::all_reduce: comm.all_reduce(in, out, t.count, sum, options); break;
    case Collective::reduce_scatter: comm.reduce_scatter(in, out, t.count, sum, options); break;
    case Collective::all_gather: comm.all_gather(in, out, t.count, options); break;
    case Collective::broadcast: comm.broadcast(in, t.count, t.root, options); break;
    case Collective::reduce: comm.reduce(in, rank == t.root ? out : nullptr, t.count, sum, t.root, options); break;
    case Collective::gather: comm.gather(in, rank == t.root ? out : nullptr, t.count, t.root, options); break;
    case Collective::scatter: comm.scatter(rank == t.root ? in : nullptr, out, t.count, t.root, options); break;
    case Collective::all_to_all: comm.all_to_all(in, out, t.count, options); break;
    default: comm.barrier(options); return;
  }
  if (t.stream) check(cudaStreamSynchronize(static_cast<cudaStream_t>(t.stream)));
  if (!shape.has_out(rank) && !(t.collective == Collective::broadcast)) return;
  expect(comm, out, outs,
         std::string(name_of(t.collective)) + " " + name_of(data_type_v<T>) + " by " + name_of(t.algorithm) +
             ", count " + std::to_string(t.count) + (t.in_place ? ", in place" : "") + ", root " +
             std::to_string(t.root) + ", shift " + std::to_string(t.shift),
         [&](std::size_t i) { return result_of(t, n, rank, i); });
}

/// Whether the communicator's backend has the algorithm for this size.
inline bool serves(const Communicator& comm, const GpuTrial& t, DataType type) {
  try {
    const bool spreads =
        Request{.collective = t.collective}.spreads_in() || Request{.collective = t.collective}.spreads_out();
    const std::size_t bytes = t.count * size_of(type) * (spreads ? static_cast<std::size_t>(comm.size()) : 1);
    (void)comm.choice(t.collective, bytes, type, ReduceOp::sum, {.algorithm = t.algorithm});
    return true;
  } catch (const Error&) {
    return false;
  }
}

inline constexpr Collective kMovers[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                                         Collective::broadcast,  Collective::reduce,         Collective::gather,
                                         Collective::scatter,    Collective::all_to_all};

}  // namespace tutti::test

// The MPI library's own collectives, for comparison. What MPI can do in one call is one call; the rest (averages,
// 16-bit types, counts beyond int, in-place reduce-scatter) is built from several.
//
// Differences from tutti's own kernels, left so that MPI is not slowed down: min and max of f32 and f64 are MPI's,
// which promise nothing about NaN and signed zeros; the order of sums is MPI's choice; MPI cannot bound a wait, so an
// absent rank ends in the launcher's hands; a receive finds a message of another count or type, the sender does not.
#include "collectives/backend_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/agree.hpp"
#include "collectives/error.hpp"
#include "collectives/mpi_average.hpp"
#include "collectives/mpi_environment.hpp"
#include "collectives/mpi_operation.hpp"
#include "collectives/mpi_types.hpp"

namespace tutti {
namespace {

class MpiBackend : public Backend {
 public:
  explicit MpiBackend(std::size_t largest_count) : largest_(largest_count) {}
  int rank() const { return world_.rank(); }
  int size() const { return world_.size(); }

  BackendKind kind() const override { return BackendKind::mpi; }
  Choice choice(const Request&) const override { return {Algorithm::automatic, "the MPI library decides"}; }

  void run(const Request& r) override {
    if (!is_one_call(r)) {
      run_in_parts(r);
      return;
    }
    const int count = static_cast<int>(r.count);
    const MPI_Datatype type = mpi_type(r.type);
    const MPI_Comm world = world_.get();
    switch (r.collective) {
      case Collective::all_reduce:
        check_mpi(MPI_Allreduce(r.in == r.out ? MPI_IN_PLACE : r.in, r.out, count, type, ops_.get(r.type, r.op), world),
                  "MPI_Allreduce");
        break;
      case Collective::reduce_scatter:
        check_mpi(MPI_Reduce_scatter_block(r.in, r.out, count, type, ops_.get(r.type, r.op), world),
                  "MPI_Reduce_scatter_block");
        break;
      case Collective::all_gather:
        check_mpi(MPI_Allgather(gathered_in_place(r) ? MPI_IN_PLACE : r.in, count, type, r.out, count, type, world),
                  "MPI_Allgather");
        break;
      case Collective::broadcast: check_mpi(MPI_Bcast(r.out, count, type, r.peer, world), "MPI_Bcast"); break;
      case Collective::send: check_mpi(MPI_Send(r.in, count, type, r.peer, tag(r), world), "MPI_Send"); break;
      case Collective::recv: {
        MPI_Status status;
        check_mpi(MPI_Recv(r.out, count, type, r.peer, MPI_ANY_TAG, world, &status), "MPI_Recv");
        check_receive(status, count, r.type);
        break;
      }
      case Collective::barrier: check_mpi(MPI_Barrier(world), "MPI_Barrier"); break;
    }
  }

  std::shared_ptr<detail::Operation> start(const Request& request) override { return start_group({&request, 1}); }
  void run_group(std::span<const Request> requests) override { start_group(requests)->wait(); }
  std::shared_ptr<detail::Operation> start_group(std::span<const Request> requests) override {
    for (const Request& request : requests) refuse_algorithm(request);
    auto operation = std::make_shared<MpiOperation>();
    for (const Request& request : requests) add(*operation, request);
    return operation;
  }

 private:
  static int tag(const Request& r) { return message_tag(r.type); }
  bool gathered_in_place(const Request& r) const { return r.in == at(r.out, r.type, own(r)); }
  std::size_t own(const Request& r) const { return static_cast<std::size_t>(rank()) * r.count; }
  template <class P>
  static P* at(P* base, DataType type, std::size_t index) {
    using Byte = std::conditional_t<std::is_const_v<P>, const char, char>;
    return static_cast<Byte*>(base) + index * size_of(type);
  }
  /// Elements that one MPI call over all ranks' chunks covers.
  std::size_t whole(const Request& r) const { return r.count * static_cast<std::size_t>(size()); }
  bool exceeds(std::size_t count, int parts) const { return count > largest_ / static_cast<std::size_t>(parts); }

  bool is_one_call(const Request& r) const {
    if (r.algorithm != Algorithm::automatic) return false;
    switch (r.collective) {
      case Collective::all_reduce: return r.op != ReduceOp::avg && !exceeds(r.count, 1) && r.count > 0;
      case Collective::reduce_scatter:
        return r.op != ReduceOp::avg && !exceeds(r.count, size()) && r.count > 0 && r.out != at(r.in, r.type, own(r));
      case Collective::all_gather: return !exceeds(r.count, size()) && r.count > 0;
      case Collective::broadcast: return !exceeds(r.count, 1) && r.count > 0;
      default: return !exceeds(r.count, 1);
    }
  }

  void refuse_algorithm(const Request& r) const {
    if (r.algorithm == Algorithm::automatic) return;
    throw Error(ErrorCode::unsupported, fmt::format("rank {}: {} by algorithm {} was asked of the mpi backend, whose "
                                                    "algorithms are the MPI library's choice: use auto, or native",
                                                    rank(), name_of(r.collective), name_of(r.algorithm)));
  }

  void run_in_parts(const Request& r) {
    const bool reduces = r.collective == Collective::all_reduce || r.collective == Collective::reduce_scatter;
    if (reduces && r.count > 0) {
      refuse_algorithm(r);
      MpiOperation around;
      if (const Request sum = prepare(around, r); is_one_call(sum)) {
        run(sum);
        around.wait();
        return;
      }
    }
    start(r)->wait();
  }

  /// Starts `r` as part of `operation`.
  void add(MpiOperation& operation, const Request& r) {
    const bool moves_messages = r.collective == Collective::send || r.collective == Collective::recv;
    if (r.count == 0 && !moves_messages && r.collective != Collective::barrier) return;
    switch (r.collective) {
      case Collective::all_reduce: start_all_reduce(operation, prepare(operation, r)); break;
      case Collective::reduce_scatter: start_reduce_scatter(operation, prepare(operation, r)); break;
      case Collective::all_gather: gather(operation, r); break;
      case Collective::broadcast:
        in_pieces(r.count, [&](std::size_t from, int count) {
          check_mpi(MPI_Ibcast(at(r.out, r.type, from), count, mpi_type(r.type), r.peer, world_.get(),
                               operation.next_request()),
                    "MPI_Ibcast");
        });
        break;
      case Collective::send:
        in_pieces(r.count, [&](std::size_t from, int count) {
          check_mpi(MPI_Isend(at(r.in, r.type, from), count, mpi_type(r.type), r.peer, tag(r), world_.get(),
                              operation.next_request()),
                    "MPI_Isend");
        });
        break;
      case Collective::recv:
        in_pieces(r.count, [&](std::size_t from, int count) {
          check_mpi(MPI_Irecv(at(r.out, r.type, from), count, mpi_type(r.type), r.peer, MPI_ANY_TAG, world_.get(),
                              operation.next_request()),
                    "MPI_Irecv");
          operation.expect(count, r.type);
        });
        break;
      case Collective::barrier: check_mpi(MPI_Ibarrier(world_.get(), operation.next_request()), "MPI_Ibarrier"); break;
    }
  }

  /// The reduction that MPI can do for `r`, with what has to follow left to `operation`: averages are sums to be
  /// divided, those of narrow types in wider ones, and an in-place reduce-scatter, which in MPI means another layout,
  /// writes beside its input.
  Request prepare(MpiOperation& operation, const Request& r) const {
    const bool scatter = r.collective == Collective::reduce_scatter;
    const bool average = r.op == ReduceOp::avg;
    Request sum = r;
    if (average) {
      sum.op = ReduceOp::sum;
      sum.type = sum_type(r.type);
    }
    if (sum.type != r.type) {
      const std::size_t elements = scatter ? whole(r) : r.count;
      char* const wide = operation.scratch(elements * size_of(sum.type));
      widen_all(r.type, r.in, wide, elements);
      sum.in = wide;
      sum.out = scatter ? operation.scratch(r.count * size_of(sum.type)) : wide;
    } else if (scatter && r.out == at(r.in, r.type, own(r))) {
      sum.out = operation.scratch(r.count * size_of(r.type));
    }
    if (average) {
      operation.then([r, wide = sum.out, ranks = size()] { divide_all(r.type, wide, r.out, r.count, ranks); });
    } else if (sum.out != r.out) {
      operation.then([r, result = sum.out] { std::memcpy(r.out, result, r.count * size_of(r.type)); });
    }
    return sum;
  }

  void start_all_reduce(MpiOperation& operation, const Request& r) {
    in_pieces(r.count, [&](std::size_t from, int count) {
      check_mpi(MPI_Iallreduce(r.in == r.out ? MPI_IN_PLACE : at(r.in, r.type, from), at(r.out, r.type, from), count,
                               mpi_type(r.type), ops_.get(r.type, r.op), world_.get(), operation.next_request()),
                "MPI_Iallreduce");
    });
  }

  void start_reduce_scatter(MpiOperation& operation, const Request& r) {
    if (!exceeds(r.count, size())) {
      check_mpi(MPI_Ireduce_scatter_block(r.in, r.out, static_cast<int>(r.count), mpi_type(r.type),
                                          ops_.get(r.type, r.op), world_.get(), operation.next_request()),
                "MPI_Ireduce_scatter_block");
      return;
    }
    // A piece of every rank's chunk is not contiguous, and MPI's operators take no derived types: chunk by chunk then.
    for (int root = 0; root < size(); ++root) {
      in_pieces(r.count, [&](std::size_t from, int count) {
        check_mpi(
            MPI_Ireduce(at(r.in, r.type, static_cast<std::size_t>(root) * r.count + from), at(r.out, r.type, from),
                        count, mpi_type(r.type), ops_.get(r.type, r.op), root, world_.get(), operation.next_request()),
            "MPI_Ireduce");
      });
    }
  }

  void gather(MpiOperation& operation, const Request& r) {
    const bool in_place = gathered_in_place(r);
    const MPI_Datatype type = mpi_type(r.type);
    if (!exceeds(r.count, size())) {
      const int count = static_cast<int>(r.count);
      check_mpi(MPI_Iallgather(in_place ? MPI_IN_PLACE : r.in, count, type, r.out, count, type, world_.get(),
                               operation.next_request()),
                "MPI_Iallgather");
      return;
    }
    if (!in_place) std::memcpy(at(r.out, r.type, own(r)), r.in, r.count * size_of(r.type));
    for (int root = 0; root < size(); ++root) {
      in_pieces(r.count, [&](std::size_t from, int count) {
        check_mpi(MPI_Ibcast(at(r.out, r.type, static_cast<std::size_t>(root) * r.count + from), count, type, root,
                             world_.get(), operation.next_request()),
                  "MPI_Ibcast");
      });
    }
  }

  /// start(first element, elements) for pieces that fit an int; once for a count of 0.
  template <class F>
  void in_pieces(std::size_t count, F&& start) const {
    std::size_t from = 0;
    do {
      const std::size_t piece = std::min(count - from, largest_);
      start(from, static_cast<int>(piece));
      from += piece;
    } while (from < count);
  }

  const std::size_t largest_;
  MpiWorld world_;
  MpiOps ops_;
};

}  // namespace

std::unique_ptr<Backend> mpi_backend_in_pieces(Bootstrap& bootstrap, std::size_t largest_count) {
  if (bootstrap.shares_memory() && bootstrap.size() > 1) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the mpi backend needs every rank in a process of its own, but the {} ranks are threads: "
                            "start them with mpirun, or use the native backend",
                            bootstrap.size()));
  }
  auto backend = std::make_unique<MpiBackend>(largest_count);
  std::string trouble;
  if (backend->size() != bootstrap.size() || backend->rank() != bootstrap.rank()) {
    trouble = fmt::format(
        "this process is rank {} of {} in MPI_COMM_WORLD; the mpi backend needs a session over all of "
        "its processes",
        backend->rank(), backend->size());
  }
  agree(bootstrap, ErrorCode::unsupported, trouble);
  return backend;
}

std::unique_ptr<Backend> mpi_backend(Bootstrap& bootstrap) { return mpi_backend_in_pieces(bootstrap, INT_MAX); }

}  // namespace tutti

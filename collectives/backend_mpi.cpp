// The MPI library's own collectives, for comparison. What MPI can do in one call is one call; the rest (averages,
// 16-bit types, counts beyond int, in-place reduce-scatter) is built from several.
//
// Differences from tutti's own kernels, left so that MPI is not slowed down: min and max of f32 and f64 are MPI's,
// which promise nothing about NaN and signed zeros; the order of sums is MPI's choice; MPI cannot bound a wait, so an
// absent rank ends in the launcher's hands; a receive finds a message of another count or type, the sender does not.
#include "collectives/backend_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/error.hpp"
#include "collectives/mpi_environment.hpp"
#include "collectives/mpi_group.hpp"
#include "collectives/mpi_operation.hpp"
#include "collectives/mpi_reduction.hpp"
#include "collectives/mpi_types.hpp"

namespace tutti {
namespace {

template <class P>
P* at(P* base, DataType type, std::size_t index) {
  using Byte = std::conditional_t<std::is_const_v<P>, const char, char>;
  return static_cast<Byte*>(base) + index * size_of(type);
}

class MpiBackend : public Backend {
 public:
  MpiBackend(Bootstrap& bootstrap, std::size_t largest_count) : largest_(largest_count), group_(bootstrap) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  BackendKind kind() const override { return BackendKind::mpi; }
  Choice choice(const Request& request) const override {
    refuse_algorithm(request);
    return {Algorithm::automatic, "the MPI library decides"};
  }

  void run(const Request& r) override {
    if (!is_one_call(r)) {
      run_in_parts(r);
      return;
    }
    const int count = static_cast<int>(r.count);
    const MPI_Datatype type = mpi_type(r.type);
    const MPI_Comm comm = group_.get();
    const void* const in = input(r);
    void* const out = output(r);
    switch (r.collective) {
      case Collective::all_reduce:
        return check_mpi(MPI_Allreduce(in, out, count, type, ops_.get(r.type, r.op), comm), "MPI_Allreduce");
      case Collective::reduce_scatter:
        return check_mpi(MPI_Reduce_scatter_block(in, out, count, type, ops_.get(r.type, r.op), comm),
                         "MPI_Reduce_scatter_block");
      case Collective::all_gather:
        return check_mpi(MPI_Allgather(in, count, type, out, count, type, comm), "MPI_Allgather");
      case Collective::broadcast: return check_mpi(MPI_Bcast(out, count, type, r.peer, comm), "MPI_Bcast");
      case Collective::reduce:
        return check_mpi(MPI_Reduce(in, out, count, type, ops_.get(r.type, r.op), r.peer, comm), "MPI_Reduce");
      case Collective::gather:
        return check_mpi(MPI_Gather(in, count, type, out, count, type, r.peer, comm), "MPI_Gather");
      case Collective::scatter:
        return check_mpi(MPI_Scatter(in, count, type, out, count, type, r.peer, comm), "MPI_Scatter");
      case Collective::all_to_all:
        return check_mpi(MPI_Alltoall(in, count, type, out, count, type, comm), "MPI_Alltoall");
      case Collective::send: return check_mpi(MPI_Send(in, count, type, r.peer, tag(r), comm), "MPI_Send");
      case Collective::recv: {
        MPI_Status status;
        check_mpi(MPI_Recv(out, count, type, r.peer, MPI_ANY_TAG, comm, &status), "MPI_Recv");
        return check_receive(status, count, r.type);
      }
      case Collective::barrier: return check_mpi(MPI_Barrier(comm), "MPI_Barrier");
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
  bool exceeds(std::size_t count, int parts) const { return count > largest_ / static_cast<std::size_t>(parts); }
  /// Ranks whose chunks one MPI call over all elements covers.
  int parts(const Request& r) const { return r.spreads_in() || r.spreads_out() ? size() : 1; }

  /// What MPI is to be told of the input and output: in place on the ranks where MPI knows it.
  const void* input(const Request& r) const {
    switch (r.collective) {
      case Collective::all_reduce: return r.in == r.out ? MPI_IN_PLACE : r.in;
      case Collective::reduce: return rank() == r.peer && r.in == r.out ? MPI_IN_PLACE : r.in;
      case Collective::all_gather: return gathered_in_place(r, rank()) ? MPI_IN_PLACE : r.in;
      case Collective::gather: return rank() == r.peer && gathered_in_place(r, rank()) ? MPI_IN_PLACE : r.in;
      default: return r.in;
    }
  }
  void* output(const Request& r) const {
    const bool scatters = r.collective == Collective::scatter && rank() == r.peer;
    return scatters && scattered_in_place(r, rank()) ? MPI_IN_PLACE : r.out;
  }

  bool is_one_call(const Request& r) const {
    if (r.algorithm != Algorithm::automatic || exceeds(r.count, parts(r))) return false;
    if (r.is_message() || r.collective == Collective::barrier) return true;
    if (r.count == 0 || (r.reduces() && r.op == ReduceOp::avg)) return false;
    return r.collective != Collective::reduce_scatter || !scattered_in_place(r, rank());
  }

  void refuse_algorithm(const Request& r) const {
    if (r.algorithm == Algorithm::automatic) return;
    throw Error(ErrorCode::unsupported, fmt::format("rank {}: {} by algorithm {} was asked of the mpi backend, whose "
                                                    "algorithms are the MPI library's choice: use auto, or native",
                                                    rank(), name_of(r.collective), name_of(r.algorithm)));
  }

  void run_in_parts(const Request& r) {
    if (r.reduces() && r.count > 0) {
      refuse_algorithm(r);
      MpiOperation around;
      if (const Request sum = prepare_reduction(around, r, rank(), size()); is_one_call(sum)) {
        run(sum);
        around.wait();
        return;
      }
    }
    start(r)->wait();
  }

  /// Starts `request` as part of `operation`.
  void add(MpiOperation& operation, const Request& request) {
    if (request.count == 0 && !request.is_message() && request.collective != Collective::barrier) return;
    const Request r = request.reduces() ? prepare_reduction(operation, request, rank(), size()) : request;
    const MPI_Comm comm = group_.get();
    const MPI_Datatype type = mpi_type(r.type);
    const void* const in = input(r);
    void* const out = output(r);
    const auto next = [&] { return operation.next_request(); };
    switch (r.collective) {
      case Collective::reduce_scatter: return start_reduce_scatter(operation, r);
      case Collective::all_gather:
      case Collective::gather:
      case Collective::scatter:
      case Collective::all_to_all: return start_chunks(operation, r);
      case Collective::barrier: return check_mpi(MPI_Ibarrier(comm, next()), "MPI_Ibarrier");
      default: break;
    }
    in_pieces(r.count, largest_, [&](std::size_t from, int count) {
      const void* const piece_in = in == MPI_IN_PLACE ? in : at(in, r.type, from);
      void* const piece_out = at(out, r.type, from);
      switch (r.collective) {
        case Collective::all_reduce:
          return check_mpi(MPI_Iallreduce(piece_in, piece_out, count, type, ops_.get(r.type, r.op), comm, next()),
                           "MPI_Iallreduce");
        case Collective::reduce:
          return check_mpi(MPI_Ireduce(piece_in, piece_out, count, type, ops_.get(r.type, r.op), r.peer, comm, next()),
                           "MPI_Ireduce");
        case Collective::broadcast:
          return check_mpi(MPI_Ibcast(piece_out, count, type, r.peer, comm, next()), "MPI_Ibcast");
        case Collective::send:
          return check_mpi(MPI_Isend(piece_in, count, type, r.peer, tag(r), comm, next()), "MPI_Isend");
        default:
          check_mpi(MPI_Irecv(piece_out, count, type, r.peer, MPI_ANY_TAG, comm, next()), "MPI_Irecv");
          return operation.expect(count, r.type);
      }
    });
  }

  void start_reduce_scatter(MpiOperation& operation, const Request& r) {
    const MPI_Datatype type = mpi_type(r.type);
    const MPI_Op op = ops_.get(r.type, r.op);
    if (!exceeds(r.count, size())) {
      return check_mpi(MPI_Ireduce_scatter_block(r.in, r.out, static_cast<int>(r.count), type, op, group_.get(),
                                                 operation.next_request()),
                       "MPI_Ireduce_scatter_block");
    }
    // A piece of every rank's chunk is not contiguous, and MPI's operators take no derived types: chunk by chunk then.
    for (int root = 0; root < size(); ++root) {
      in_pieces(r.count, largest_, [&](std::size_t from, int count) {
        check_mpi(MPI_Ireduce(at(r.in, r.type, static_cast<std::size_t>(root) * r.count + from),
                              at(r.out, r.type, from), count, type, op, root, group_.get(), operation.next_request()),
                  "MPI_Ireduce");
      });
    }
  }

  /// What moves chunks of all ranks: a piece of each of them at a time, as one element of a type that is as long as a
  /// chunk and has the piece at its front.
  void start_chunks(MpiOperation& operation, const Request& r) {
    const MPI_Comm comm = group_.get();
    const MPI_Datatype type = mpi_type(r.type);
    const void* const in = input(r);
    void* const out = output(r);
    const bool whole = !exceeds(r.count, size());
    in_pieces(r.count, largest_ / static_cast<std::size_t>(size()), [&](std::size_t from, int count) {
      const MPI_Datatype chunk = whole ? type : front_of_chunk(operation, r, count);
      const int chunks = whole ? count : 1;
      const void* const piece_in = in == MPI_IN_PLACE ? in : at(in, r.type, from);
      void* const piece_out = out == MPI_IN_PLACE ? out : at(out, r.type, from);
      MPI_Request* const request = operation.next_request();
      switch (r.collective) {
        case Collective::all_gather:
          return check_mpi(MPI_Iallgather(piece_in, count, type, piece_out, chunks, chunk, comm, request),
                           "MPI_Iallgather");
        case Collective::gather:
          return check_mpi(MPI_Igather(piece_in, count, type, piece_out, chunks, chunk, r.peer, comm, request),
                           "MPI_Igather");
        case Collective::scatter:
          return check_mpi(MPI_Iscatter(piece_in, chunks, chunk, piece_out, count, type, r.peer, comm, request),
                           "MPI_Iscatter");
        default:
          return check_mpi(MPI_Ialltoall(piece_in, chunks, chunk, piece_out, chunks, chunk, comm, request),
                           "MPI_Ialltoall");
      }
    });
  }

  static MPI_Datatype front_of_chunk(MpiOperation& operation, const Request& r, int count) {
    MPI_Datatype piece = MPI_DATATYPE_NULL, chunk = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(count, mpi_type(r.type), &piece), "MPI_Type_contiguous");
    const int resized = MPI_Type_create_resized(piece, 0, static_cast<MPI_Aint>(r.bytes()), &chunk);
    MPI_Type_free(&piece);
    check_mpi(resized, "MPI_Type_create_resized");
    operation.keep(chunk);
    check_mpi(MPI_Type_commit(&chunk), "MPI_Type_commit");
    return chunk;
  }

  /// start(first element, elements) for pieces of at most `most`; once for a count of 0.
  template <class F>
  static void in_pieces(std::size_t count, std::size_t most, F&& start) {
    std::size_t from = 0;
    do {
      const std::size_t piece = std::min(count - from, most);
      start(from, static_cast<int>(piece));
      from += piece;
    } while (from < count);
  }

  const std::size_t largest_;
  MpiGroup group_;
  MpiOps ops_;
};

}  // namespace

std::unique_ptr<Backend> mpi_backend_in_pieces(Bootstrap& bootstrap, std::size_t largest_count) {
  return std::make_unique<MpiBackend>(bootstrap, largest_count);
}

std::unique_ptr<Backend> mpi_backend(Bootstrap& bootstrap) { return mpi_backend_in_pieces(bootstrap, INT_MAX); }

}  // namespace tutti

// The interface behind Communicator that native, MPI and NCCL implement.
#pragma once
#include <memory>
#include <span>

#include "collectives/bootstrap.hpp"
#include "collectives/tutti.hpp"

namespace tutti {

/// One call, with its arguments already validated.
struct Request {
  Collective collective = Collective::barrier;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  ///< per rank, as the public functions define it
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int peer = -1;  ///< root, or the other end of a send or receive
  Algorithm algorithm = Algorithm::automatic;
  void* stream = nullptr;

  bool is_message() const { return collective == Collective::send || collective == Collective::recv; }
  bool is_rooted() const {
    return collective == Collective::broadcast || collective == Collective::reduce ||
           collective == Collective::gather || collective == Collective::scatter;
  }
  bool reduces() const {
    return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
           collective == Collective::reduce;
  }
  /// Whether the input, or the output, of a rank that has one holds `count` elements of each rank.
  bool spreads_in() const {
    return collective == Collective::reduce_scatter || collective == Collective::scatter ||
           collective == Collective::all_to_all;
  }
  bool spreads_out() const {
    return collective == Collective::all_gather || collective == Collective::gather ||
           collective == Collective::all_to_all;
  }
  /// Whether `rank` has an input, or an output.
  bool has_in(int rank) const {
    if (collective == Collective::recv || collective == Collective::barrier) return false;
    return (collective != Collective::scatter && collective != Collective::broadcast) || rank == peer;
  }
  bool has_out(int rank) const {
    if (collective == Collective::send || collective == Collective::barrier) return false;
    if (collective == Collective::broadcast) return rank != peer;
    return (collective != Collective::reduce && collective != Collective::gather) || rank == peer;
  }
  std::size_t bytes() const { return count * size_of(type); }
  /// Of the input or output of a rank that has one.
  std::size_t bytes_in(std::size_t ranks) const { return spreads_in() ? bytes() * ranks : bytes(); }
  std::size_t bytes_out(std::size_t ranks) const { return spreads_out() ? bytes() * ranks : bytes(); }
};

namespace detail {
/// Keeps memory from `allocate` alive.
struct SegmentOwner {
  virtual ~SegmentOwner() = default;
};

/// An asynchronous call in flight. The destructor is called only after wait() or a true test().
struct Operation {
  virtual ~Operation() = default;
  virtual bool test() = 0;
  virtual void wait() = 0;
};
}  // namespace detail

/// The backend of sessions that name none: TUTTI_BACKEND if set, else native. Throws ErrorCode::invalid_argument if
/// that names none of this version's.
BackendKind default_backend();

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const = 0;
  /// Runs `request` to its end.
  virtual void run(const Request& request) = 0;
  virtual std::shared_ptr<detail::Operation> start(const Request& request) = 0;
  /// Sends and receives that make progress together.
  virtual void run_group(std::span<const Request> requests) = 0;
  virtual std::shared_ptr<detail::Operation> start_group(std::span<const Request> requests) = 0;
  virtual Choice choice(const Request& request) const = 0;
  virtual std::size_t arena_bytes() const { return 0; }
  /// `bytes` zeroed bytes, 2 MiB-aligned, that calls of this backend reach best, and their owner: here memory of this
  /// process alone. Collective; throws on all ranks alike.
  virtual std::pair<std::shared_ptr<detail::SegmentOwner>, void*> allocate(Bootstrap& bootstrap, std::size_t bytes);
  /// Maps memory of the caller for the peers; a null owner where that cannot be: here always. Collective; throws on all
  /// ranks alike.
  virtual std::shared_ptr<detail::SegmentOwner> register_memory(Bootstrap& bootstrap, void* memory, std::size_t bytes);
  /// Copies between memory of this rank, and waits for it: here host memory.
  virtual void copy(void* to, const void* from, std::size_t bytes);
};

/// The MPI library's own collectives over the processes of `bootstrap`. Collective; throws if they are not processes of
/// MPI_COMM_WORLD.
std::unique_ptr<Backend> mpi_backend(Bootstrap& bootstrap);

}  // namespace tutti

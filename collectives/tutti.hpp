// tutti's public interface: sessions, communicators and their collectives.
//
//   tutti::Session session;                            // under mpirun: this process's rank
//   tutti::Communicator comm = session.communicator();
//   auto x = comm.allocate<float>(1 << 20);            // memory that every peer can reach
//   comm.all_reduce(x.data(), x.data(), x.size(), tutti::ReduceOp::sum);
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/environment.hpp"
#include "collectives/error.hpp"
#include "kernels/types.hpp"

namespace tutti {

enum class BackendKind {
  automatic,  ///< TUTTI_BACKEND if set, else native
  native,     ///< tutti's own kernels: on the CPU, or on GPUs if every rank can have one (see Session)
  mpi,        ///< the MPI library's collectives, for comparison (CPU memory; ranks must be MPI processes)
  nccl,       ///< NCCL's collectives, for comparison (GPU memory; the library is opened when asked for)
};

enum class Algorithm : std::uint8_t {
  automatic,           ///< the least expected time; from what is equal on all ranks: collective, bytes, world size
  ring,                ///< each rank talks to its two neighbours
  one_shot,            ///< everyone reads everyone's input and reduces all of it
  two_shot,            ///< reduce-scatter, then all-gather, each in one direct exchange
  direct,              ///< one exchange between all pairs, or between the root and all
  packets,             ///< one exchange in which data and flag travel together; small messages only
  tree,                ///< along trees: all_reduce a double binary one, gather and scatter a binomial one
  recursive_doubling,  ///< all_reduce: log2 n exchanges of everything, with partners 1, 2, 4, ... away
  halving_doubling,    ///< all_reduce: log2 n exchanges of halves and back (Rabenseifner)
  bruck,               ///< all_gather: log2 n steps, each of which doubles what a rank has
  pairwise,            ///< all_to_all: n-1 steps, one partner each
  dissemination,       ///< barrier: log2 n steps
  multicast,           ///< the NVSwitch reduces and replicates memory of `allocate`: see docs/gpus.md
};
inline constexpr int kAlgorithms = 13;

/// Per-call options. All but `stream` must be equal on all ranks.
struct Options {
  Algorithm algorithm = Algorithm::automatic;
  /// A cudaStream_t of the session's GPU; the CPU accepts only nullptr. With one, a call returns once it is enqueued
  /// and runs in the stream's order: "on return" then means "next in the stream", and what goes wrong later is thrown
  /// by a later call of the communicator. With nullptr on a GPU, a call comes after what the legacy default stream
  /// holds, and has ended on return.
  void* stream = nullptr;
};

struct SessionOptions {
  BackendKind backend = BackendKind::automatic;
  /// Bound of every wait in a call; 0: TUTTI_TIMEOUT (seconds) if set, else 600. Where ranks meet to set something up
  /// (a session, a communicator, memory) they wait twice as long for one that comes from a wait of its own.
  double timeout_s = 0;
  /// Threads that run one large call on the CPU, 1 to 4; the least of all ranks holds. 0: TUTTI_THREADS if set, else as
  /// many as there are cores for each rank.
  int threads = 0;
  /// The GPU of this rank by its number in this process; the rank then must have a GPU. -1: tutti places the ranks, so
  /// that as few as can be share one.
  int gpu = -1;
  /// The JSON file with the constants by which algorithms are chosen, written by `tutti tune`. Rank 0's holds for all
  /// ranks and is read by rank 0 alone. Empty: TUTTI_TUNING if set, else the defaults that are compiled in.
  std::string tuning = {};
};

/// Properties of a communicator that its creator may fix; rank 0's values hold for all ranks.
struct CommunicatorOptions {
  /// Blocks per call on the CPU, 1 to 4, on as many threads, or as fibers if the session has fewer. 0: one, or for
  /// large collectives as many as the session has threads.
  int blocks = 0;
  bool deterministic =
      false;  ///< only algorithms that reduce in rank order; a forced ring, tree or doubling is refused
  std::uint64_t first_packet_use = 0;  ///< where the packet tags start; for tests of their wrap-around
};

/// Which algorithm a call would use, and why.
struct Choice {
  Algorithm algorithm;
  std::string reason;
  int steps = 0;          ///< native: the longest chain of messages, by the kernel's formula for mapped buffers
  double wire_bytes = 0;  ///< native: the most that one rank sends or receives, by the same formula
  double seconds = 0;     ///< native: what a call is expected to take, by the formula that choosing compares
  /// Native: the fastest, by the same formulas, of the others that could serve the call.
  std::optional<Algorithm> runner_up = std::nullopt;
  /// How many times as long it is expected to take; below 1 only if the algorithm was asked for. 0: there is no other.
  double margin = 0;
  std::string constants = {};  ///< native: where those of the formulas come from: the defaults, or a file
};

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  send,
  recv,
  barrier
};
inline constexpr int kCollectives = 11;

const char* name_of(Collective collective);
const char* name_of(Algorithm algorithm);
const char* name_of(BackendKind backend);
/// Parses the names that name_of prints ("auto" for automatic); nullopt if there is no such name.
std::optional<Collective> parse_collective(std::string_view name);
std::optional<Algorithm> parse_algorithm(std::string_view name);
std::optional<BackendKind> parse_backend(std::string_view name);
std::optional<DataType> parse_data_type(std::string_view name);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);

namespace detail {
struct SessionState;
struct CommunicatorState;
struct SegmentOwner;
struct Operation;
}  // namespace detail

/// A job that is still to form, named out of band: made by one process, handed to every rank by any means.
struct UniqueId {
  std::array<char, 128> bytes{};
};
/// A new id. The process that makes it stays alive until the job's sessions exist.
UniqueId unique_id();

/// An asynchronous call in flight. Destroying it waits for the call to end (errors are then dropped).
class [[nodiscard]] Handle {
 public:
  Handle() = default;
  explicit Handle(std::shared_ptr<detail::Operation> operation);
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&& other);
  ~Handle();
  /// Returns when the call has ended; throws its error. Buffers may be reused afterwards. A second wait returns at
  /// once.
  void wait();
  /// True if the call has ended; makes progress, does not block; throws the call's error once.
  bool test();

 private:
  std::shared_ptr<detail::Operation> operation_;
};

/// Memory that every rank of the session can reach: `count` elements of T, zeroed, 2 MiB-aligned on the CPU.
/// On a GPU it is device memory: its pointers are for kernels and cudaMemcpy, operator[] and iteration are not for the
/// host. Destroying it is local: calls in flight keep what they need of the peers' shares, a peer's later call that
/// needs this one's fails with an error that says so.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<detail::SegmentOwner> owner, T* data, std::size_t count)
      : owner_(std::move(owner)), data_(data), count_(count) {}
  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + count_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() const { return {data_, count_}; }

 private:
  std::shared_ptr<detail::SegmentOwner> owner_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Memory of the caller that peers reach directly while this lives. Destroy it before freeing the memory.
class Registration {
 public:
  Registration() = default;
  Registration(std::shared_ptr<detail::SegmentOwner> owner, bool mapped) : owner_(std::move(owner)), mapped_(mapped) {}
  /// False where such memory cannot be mapped (on CPUs, never): calls then stage it as if it were not registered.
  bool mapped() const { return mapped_; }

 private:
  std::shared_ptr<detail::SegmentOwner> owner_;
  bool mapped_ = false;
};

/// One send or receive of a group.
struct PointToPoint {
  Collective kind;  ///< send or recv
  const void* in;
  void* out;
  std::size_t count;
  DataType type;
  int peer;
};

class Communicator;

/// Sends and receives that make progress together, in any order among peers: no order of them can deadlock.
class Group {
 public:
  explicit Group(Communicator& communicator) : communicator_(&communicator) {}
  template <class T>
  Group& send(const T* data, std::size_t count, int peer) {
    operations_.push_back({Collective::send, data, nullptr, count, data_type_v<T>, peer});
    return *this;
  }
  template <class T>
  Group& recv(T* data, std::size_t count, int peer) {
    operations_.push_back({Collective::recv, nullptr, data, count, data_type_v<T>, peer});
    return *this;
  }
  Group& add(const PointToPoint& operation) {
    operations_.push_back(operation);
    return *this;
  }
  /// Runs all of them and returns when each has ended; the group is then empty again.
  void run(const Options& options = {});
  /// Starts all of them; the handle ends when each has ended.
  Handle start(const Options& options = {});

 private:
  Communicator* communicator_;
  std::vector<PointToPoint> operations_;
};

/// All ranks of a session, ready for collectives.
///
/// Collectives are called by every rank, in the same order, with equal collective, count, type, op, root and algorithm;
/// a mismatch or an absent rank ends in tutti::Error on every rank within the session's timeout, and the communicator
/// stays failed. `in` and `out` may be any memory, any alignment, of 0 elements (then null is legal); memory from
/// `allocate` is reached by the peers directly, other memory goes through staging. `in` may equal `out`
/// where stated; other overlaps are refused. On return no peer touches the buffers any more. Calls of one communicator
/// run in the order issued; sends and receives are ordered per peer and direction. One thread at a time uses a session.
/// The _async variants return at once; the buffers belong to the call until its handle has ended.
///
/// On a GPU `in` and `out` are device memory, and those of calls that reduce are aligned to their elements. Streams
/// order calls (Options::stream). Calls by packets carry no description there: ranks whose counts, types, operators or
/// roots differ may get wrong results instead of an error.
///
/// An empty communicator (default-constructed or moved from) throws ErrorCode::invalid_argument from every call.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state) : state_(std::move(state)) {}
  Communicator(Communicator&&) noexcept = default;
  Communicator& operator=(Communicator&&) noexcept = default;

  int rank() const;
  int size() const;
  BackendKind backend() const;

  /// `count` elements of T on every rank, reachable by all. Collective; `count` may differ between ranks.
  /// Throws on all ranks alike if one cannot have its memory, and on a GPU if a call of the session is in flight on
  /// one of them: to map or free memory could wait for it.
  template <class T>
  Buffer<T> allocate(std::size_t count) {
    auto [owner, data] = allocate_bytes(count, sizeof(T));
    return Buffer<T>(std::move(owner), static_cast<T*>(data), count);
  }

  /// Lets peers reach `bytes` bytes at `memory`, which may differ between ranks (null and 0 are legal). Collective. On
  /// GPUs: memory of cudaMalloc, or virtual memory whose handles can be exported; throws as allocate does.
  Registration register_memory(void* memory, std::size_t bytes);

  /// A communicator over the ranks that give the same color, ordered by key, then by rank here. Collective over this
  /// communicator. kNoColor: an empty communicator. A color below 0 or above 2^31-1 is refused on all ranks alike. The
  /// new one lives on its own: either may be destroyed first.
  Communicator split(std::int64_t color, int key, const CommunicatorOptions& options = {});
  static constexpr std::int64_t kNoColor = -1;

  /// Copies bytes between memory of this rank: host memory, or, on a GPU, its memory. Returns when it is done.
  void copy(void* to, const void* from, std::size_t bytes) const;

  /// out[i] = op over all ranks of in[i]; count elements in and out on every rank. in == out is legal.
  void all_reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, const Options& = {});
  Handle all_reduce_async(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                          const Options& = {});

  /// Rank r gets out[0..count) = op over all ranks of in[r*count .. (r+1)*count). `in` has size()*count elements, `out`
  /// has count. In place: out == in + rank()*count.
  void reduce_scatter(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, const Options& = {});
  Handle reduce_scatter_async(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                              const Options& = {});

  /// out[r*count .. (r+1)*count) = rank r's in[0..count), on every rank. In place: in == out + rank()*count.
  void all_gather(const void* in, void* out, std::size_t count, DataType type, const Options& = {});
  Handle all_gather_async(const void* in, void* out, std::size_t count, DataType type, const Options& = {});

  /// Every rank's `data` becomes root's: count elements.
  void broadcast(void* data, std::size_t count, DataType type, int root, const Options& = {});
  Handle broadcast_async(void* data, std::size_t count, DataType type, int root, const Options& = {});

  /// out[i] = op over all ranks of in[i], on `root`; count elements. `out` is ignored elsewhere and may be null there.
  /// in == out is legal.
  void reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root, const Options& = {});
  Handle reduce_async(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root,
                      const Options& = {});

  /// out[r*count .. (r+1)*count) = rank r's in[0..count), on `root`; `out` is ignored elsewhere and may be null there.
  /// In place on the root: in == out + root*count.
  void gather(const void* in, void* out, std::size_t count, DataType type, int root, const Options& = {});
  Handle gather_async(const void* in, void* out, std::size_t count, DataType type, int root, const Options& = {});

  /// Rank r gets out[0..count) = root's in[r*count .. (r+1)*count); `in` is ignored elsewhere and may be null there.
  /// In place on the root: out == in + root*count.
  void scatter(const void* in, void* out, std::size_t count, DataType type, int root, const Options& = {});
  Handle scatter_async(const void* in, void* out, std::size_t count, DataType type, int root, const Options& = {});

  /// out[r*count .. (r+1)*count) = rank r's in[rank()*count .. (rank()+1)*count): size()*count elements in and out.
  /// In place is refused.
  void all_to_all(const void* in, void* out, std::size_t count, DataType type, const Options& = {});
  Handle all_to_all_async(const void* in, void* out, std::size_t count, DataType type, const Options& = {});

  /// Returns when every rank has called it.
  void barrier(const Options& = {});
  Handle barrier_async(const Options& = {});

  /// Sends count elements to `peer`, which receives as many of the same type. Returns when `data` may be reused, which
  /// may be before or after the receive was called. Messages between one pair arrive in order.
  void send(const void* data, std::size_t count, DataType type, int peer, const Options& = {});
  Handle isend(const void* data, std::size_t count, DataType type, int peer, const Options& = {});
  /// Receives the next message of `peer`; a message of another count or type is an error at the receiver. The sender
  /// learns of it at once if both are long, else in its next call that needs a peer.
  void recv(void* data, std::size_t count, DataType type, int peer, const Options& = {});
  Handle irecv(void* data, std::size_t count, DataType type, int peer, const Options& = {});
  Group group() { return Group(*this); }

  // The same with the element type taken from the pointers.
  template <class T>
  void all_reduce(const T* in, T* out, std::size_t count, ReduceOp op, const Options& options = {}) {
    all_reduce(in, out, count, data_type_v<T>, op, options);
  }
  template <class T>
  Handle all_reduce_async(const T* in, T* out, std::size_t count, ReduceOp op, const Options& options = {}) {
    return all_reduce_async(in, out, count, data_type_v<T>, op, options);
  }
  template <class T>
  void reduce_scatter(const T* in, T* out, std::size_t count, ReduceOp op, const Options& options = {}) {
    reduce_scatter(in, out, count, data_type_v<T>, op, options);
  }
  template <class T>
  Handle reduce_scatter_async(const T* in, T* out, std::size_t count, ReduceOp op, const Options& options = {}) {
    return reduce_scatter_async(in, out, count, data_type_v<T>, op, options);
  }
  template <class T>
  void all_gather(const T* in, T* out, std::size_t count, const Options& options = {}) {
    all_gather(in, out, count, data_type_v<T>, options);
  }
  template <class T>
  Handle all_gather_async(const T* in, T* out, std::size_t count, const Options& options = {}) {
    return all_gather_async(in, out, count, data_type_v<T>, options);
  }
  template <class T>
  void broadcast(T* data, std::size_t count, int root, const Options& options = {}) {
    broadcast(data, count, data_type_v<T>, root, options);
  }
  template <class T>
  Handle broadcast_async(T* data, std::size_t count, int root, const Options& options = {}) {
    return broadcast_async(data, count, data_type_v<T>, root, options);
  }
  template <class T>
  void reduce(const T* in, T* out, std::size_t count, ReduceOp op, int root, const Options& options = {}) {
    reduce(in, out, count, data_type_v<T>, op, root, options);
  }
  template <class T>
  Handle reduce_async(const T* in, T* out, std::size_t count, ReduceOp op, int root, const Options& options = {}) {
    return reduce_async(in, out, count, data_type_v<T>, op, root, options);
  }
  template <class T>
  void gather(const T* in, T* out, std::size_t count, int root, const Options& options = {}) {
    gather(in, out, count, data_type_v<T>, root, options);
  }
  template <class T>
  Handle gather_async(const T* in, T* out, std::size_t count, int root, const Options& options = {}) {
    return gather_async(in, out, count, data_type_v<T>, root, options);
  }
  template <class T>
  void scatter(const T* in, T* out, std::size_t count, int root, const Options& options = {}) {
    scatter(in, out, count, data_type_v<T>, root, options);
  }
  template <class T>
  Handle scatter_async(const T* in, T* out, std::size_t count, int root, const Options& options = {}) {
    return scatter_async(in, out, count, data_type_v<T>, root, options);
  }
  template <class T>
  void all_to_all(const T* in, T* out, std::size_t count, const Options& options = {}) {
    all_to_all(in, out, count, data_type_v<T>, options);
  }
  template <class T>
  Handle all_to_all_async(const T* in, T* out, std::size_t count, const Options& options = {}) {
    return all_to_all_async(in, out, count, data_type_v<T>, options);
  }
  template <class T>
  void send(const T* data, std::size_t count, int peer, const Options& options = {}) {
    send(data, count, data_type_v<T>, peer, options);
  }
  template <class T>
  Handle isend(const T* data, std::size_t count, int peer, const Options& options = {}) {
    return isend(data, count, data_type_v<T>, peer, options);
  }
  template <class T>
  void recv(T* data, std::size_t count, int peer, const Options& options = {}) {
    recv(data, count, data_type_v<T>, peer, options);
  }
  template <class T>
  Handle irecv(T* data, std::size_t count, int peer, const Options& options = {}) {
    return irecv(data, count, data_type_v<T>, peer, options);
  }

  /// The algorithm that a call of `bytes` bytes per rank's largest buffer would use, why, what it costs by the kernel's
  /// formula, what it is expected to take, and by how much it beats the next. Local.
  Choice choice(Collective collective, std::size_t bytes, DataType type, ReduceOp op, const Options& = {}) const;
  /// Bytes of the arena that this communicator holds on each rank.
  std::size_t arena_bytes() const;

 private:
  friend class Group;
  std::pair<std::shared_ptr<detail::SegmentOwner>, void*> allocate_bytes(std::size_t count, std::size_t element_bytes);
  void run_group(std::span<const PointToPoint> operations, const Options& options);
  Handle start_group(std::span<const PointToPoint> operations, const Options& options);

  std::shared_ptr<detail::CommunicatorState> state_;
};

/// One rank of a job: the process's rank under mpirun or `./tutti --no-mpi` (a job of one without either), rank `rank`
/// of those that share a UniqueId, or a thread of run_threads.
///
/// TUTTI_DEVICE chooses where the native backend's collectives run: cpu; gpu (an error on all ranks alike if a rank
/// cannot have a GPU that reaches all others); auto, which is also what unset means (GPUs if every rank can have one,
/// else the CPU). On a GPU a program keeps its data in device memory: see Communicator::allocate and copy.
class Session {
 public:
  /// Collective over the job. Throws tutti::Error on all ranks alike if the job cannot work.
  explicit Session(const SessionOptions& options = {});
  /// The same for `size` ranks that share `id`, through sockets and without MPI: processes or threads. Each rank gives
  /// another `rank`. An id serves once: a second use fails within the timeout.
  Session(const UniqueId& id, int rank, int size, const SessionOptions& options = {});
  explicit Session(std::shared_ptr<detail::SessionState> state) : state_(std::move(state)) {}
  int rank() const;
  int size() const;
  /// A new communicator over all ranks. Collective.
  Communicator communicator(const CommunicatorOptions& options = {});
  /// True if collectives of the native backend run on a GPU.
  bool on_gpu() const;
  /// Bytes this rank has sent through the bootstrap: constant while data moves.
  std::uint64_t bootstrap_bytes() const;
  /// Where the job's barrier-like exchanges outside communicators happen (printing in rank order, tests). Collective.
  void bootstrap_barrier();
  /// Gathers a trivially copyable value of every rank, in rank order, through the bootstrap. Collective.
  template <class T>
  std::vector<T> bootstrap_all_gather(const T& mine) {
    std::vector<T> all(static_cast<std::size_t>(size()));
    bootstrap_all_gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }

 private:
  void bootstrap_all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all);
  std::shared_ptr<detail::SessionState> state_;
};

/// Runs `body` on `ranks` threads of this process, each with its own session; returns when all have returned and throws
/// the error of the lowest rank that threw. For tests, debuggers and sanitizers.
void run_threads(int ranks, const std::function<void(Session&)>& body, const SessionOptions& options = {});

}  // namespace tutti

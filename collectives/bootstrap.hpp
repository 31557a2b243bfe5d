// What tutti needs to find its peers: small exchanges at creation time. Data never travels here; bytes() proves it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace tutti {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return fd_; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

/// Rank, size and a few collective exchanges among all ranks of a job. Every member but rank, size, shares_memory,
/// alive and bytes is collective: all ranks call it in the same order. Errors throw tutti::Error on every rank that
/// sees them.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// True if the ranks are threads of one process: segments are then handed over as pointers, one mapping for all.
  virtual bool shares_memory() const = 0;
  /// Gathers `mine` (same length on every rank) into `all` (size() * mine.size() bytes), in rank order.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual void barrier() = 0;
  /// Hands a descriptor of each rank to every rank; the result holds size() descriptors in rank order, the own one
  /// duplicated. `fd` stays the caller's. A rank that has none passes -1 and everyone gets -1 for it.
  virtual std::vector<Descriptor> share(int fd) = 0;
  /// A bootstrap of some of the ranks: each rank passes the ranks of its own group in their new order, itself among
  /// them and the same list on all of them, or nothing to be in no group, and then gets null. Groups have no rank in
  /// common. The result lives on its own: it and this one may end in any order, on each rank another, without a word to
  /// the other ranks. Throws alike on all ranks if the lists are at odds; this bootstrap then stays as it was.
  virtual std::unique_ptr<Bootstrap> subgroup(std::span<const int> members) = 0;
  /// False once `peer` is known to have ended. May answer true for a rank that is gone but not yet noticed.
  virtual bool alive(int peer) const = 0;
  /// Bytes this rank has sent through the bootstrap so far.
  virtual std::uint64_t bytes() const = 0;

  template <class T>
  std::vector<T> all_gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size()));
    all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }
};

/// Ranks are the processes of MPI_COMM_WORLD. Initialises MPI if nobody has, and then finalises it when the process
/// exits, since MPI cannot be initialised twice. Without a launcher (no variable of mpirun, srun or PMI) and without
/// MPI initialised by the caller it is a job of one that does not touch MPI. No wait lasts longer than `timeout_s` (0:
/// TUTTI_TIMEOUT if set, else 600). Collective over MPI_COMM_WORLD.
std::unique_ptr<Bootstrap> mpi_bootstrap(double timeout_s = 0);

struct UniqueId;

/// Rank `rank` of the `size` ranks that share `id`, through sockets and without MPI: processes, or threads of one or
/// more of them. An id serves once. No wait lasts longer than `timeout_s` (0: TUTTI_TIMEOUT if set, else 600).
/// Collective over these ranks. What keeps the job from forming (a rank twice, sizes that differ, a rank that never
/// comes) is one and the same Error on all that came.
std::unique_ptr<Bootstrap> sockets_bootstrap(const UniqueId& id, int rank, int size, double timeout_s = 0);

/// The job that this process was started in: `./tutti --no-mpi`'s if TUTTI_RENDEZVOUS, TUTTI_RANK and TUTTI_SIZE are
/// set (MPI is then left alone), else mpi_bootstrap's. May be called again and again. Collective over the job.
std::unique_ptr<Bootstrap> process_bootstrap(double timeout_s = 0);

/// Ranks are threads of this process: returns one bootstrap per rank; each is used by one thread. A rank whose
/// bootstrap is destroyed has ended: the others' exchanges then throw ErrorCode::peer_failed.
std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int ranks, double timeout_s = 0);

}  // namespace tutti

// Exchanges of a sockets bootstrap: every rank has a connection to the centre, rank 0, which gathers and answers.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/bootstrap.hpp"
#include "collectives/error.hpp"
#include "collectives/socket_frames.hpp"

namespace tutti {

/// One rank's side. A star that has failed stays failed, and its other ranks hear of it as soon as they look.
class Star {
 public:
  /// Ranks whose processes are known to have ended.
  using EndedRanks = std::function<std::vector<int>()>;

  virtual ~Star() = default;
  /// Gathers everyone's `mine` into `all` (size times as long), in rank order. `name` says what it is for.
  virtual void exchange(const char* name, std::span<const std::byte> mine, std::span<std::byte> all,
                        double timeout_s) = 0;
  /// True if `peer` is known to have ended: its connection to this rank is closed, or another rank said so.
  bool has_left(int peer) const { return ended_[static_cast<std::size_t>(peer)] || hung_up(peer); }
  /// A connection of this star; -1 if there is none, since there is one rank.
  virtual int connection() const = 0;
  void look_for_the_ended(EndedRanks ended) { ended_ranks_ = std::move(ended); }

 protected:
  Star(int rank, int size) : rank_(rank), size_(size), ended_(static_cast<std::size_t>(size)) {}
  virtual bool hung_up(int peer) const = 0;
  /// From here on they have left; returns them as an error names them.
  std::string note_the_ended(const std::vector<int>& ranks);
  void throw_if_failed() const {
    if (failure_ != nullptr) throw Error(*failure_);
  }
  std::string title(const char* name) const;
  std::vector<int> ended_ranks() const { return ended_ranks_ ? ended_ranks_() : std::vector<int>(); }

  const int rank_, size_;
  std::uint64_t exchanges_ = 0;
  std::unique_ptr<Error> failure_;

 private:
  EndedRanks ended_ranks_;
  std::vector<std::atomic<bool>> ended_;  // another thread may ask whether a peer is alive
};

/// Rank 0's side; `connections` are to ranks 1 and on, in this order.
std::unique_ptr<Star> star_centre(std::vector<Descriptor> connections);
/// Another rank's side.
std::unique_ptr<Star> star_ray(int rank, int size, Descriptor connection);

}  // namespace tutti

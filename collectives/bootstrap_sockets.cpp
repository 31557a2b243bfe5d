#include "collectives/bootstrap_sockets.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "collectives/agree.hpp"
#include "collectives/bootstrap_subgroup.hpp"
#include "collectives/share_descriptors.hpp"
#include "collectives/unique_id.hpp"

namespace tutti {
namespace {

constexpr double kForming = 10;          // seconds for ranks that have all come to connect to their rank 0
constexpr double kYear = 366.0 * 86400;  // keeps the sum with a time point representable

/// Rank 0 receives the others at `listener`.
std::unique_ptr<Star> form_centre(Descriptor listener, const SocketAddress& address, const Arrival& arrival) {
  Rendezvous rendezvous(std::move(listener), address, arrival.token, 1, arrival.size);
  return star_centre(rendezvous.gather(arrival.timeout_s, -1));
}

/// The others go to rank 0. Whether somebody listens there already is for `comes_later` to say.
std::unique_ptr<Star> form_ray(const SocketAddress& centre, const Arrival& arrival, bool comes_later) {
  const Deadline deadline(arrival.timeout_s);
  const auto it_ended = [&] {
    return Error(ErrorCode::peer_failed, fmt::format("rank {} of {}: rank 0 at {} has ended before the job existed",
                                                     arrival.rank, arrival.size, in_words(centre)));
  };
  Descriptor connection;
  for (auto pause = 200u; (connection = connect_to(centre, deadline)).get() < 0; pause = std::min(2 * pause, 10'000u)) {
    if (!comes_later) throw it_ended();
    if (deadline.passed()) {
      throw Error(ErrorCode::timeout, fmt::format("rank {} of {}: waited {} s for rank 0 to listen at {}", arrival.rank,
                                                  arrival.size, arrival.timeout_s, in_words(centre)));
    }
    ::usleep(pause);
  }
  if (!arrive(connection.get(), centre, arrival)) throw it_ended();
  return star_ray(arrival.rank, arrival.size, std::move(connection));
}

}  // namespace

SocketsBootstrap::SocketsBootstrap(std::unique_ptr<Star> star, int rank, int size, double timeout_s)
    : rank_(rank), size_(size), timeout_s_(timeout_s), star_(std::move(star)) {
  processes_ = all_gather(identify_this_process());
  star_->look_for_the_ended([this] { return ended_ranks(); });
}

SocketsBootstrap::SocketsBootstrap(std::unique_ptr<Star> star, int rank, std::vector<ProcessIdentity> processes,
                                   double timeout_s)
    : rank_(rank),
      size_(static_cast<int>(processes.size())),
      timeout_s_(timeout_s),
      star_(std::move(star)),
      processes_(std::move(processes)) {
  star_->look_for_the_ended([this] { return ended_ranks(); });
}

bool SocketsBootstrap::shares_memory() const {
  return std::all_of(processes_.begin(), processes_.end(),
                     [&](const ProcessIdentity& process) { return same_process(process, processes_.front()); });
}

void SocketsBootstrap::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (all.size() != mine.size() * static_cast<std::size_t>(size_)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("bootstrap all_gather on rank {}: {} bytes do not hold {} x {} "
                            "bytes",
                            rank_, all.size(), size_, mine.size()));
  }
  star_->exchange("all_gather", mine, all, timeout_s_);
  bytes_ += mine.size();
}

void SocketsBootstrap::barrier() { star_->exchange("barrier", {}, {}, timeout_s_); }

std::vector<Descriptor> SocketsBootstrap::share(int fd) {
  require_one_host(processes_);
  return share_descriptors(*this, fd, timeout_s_);
}

std::unique_ptr<Bootstrap> SocketsBootstrap::subgroup(std::span<const int> members, double timeout_s) {
  const int place = place_in_subgroup(*this, members);
  struct Offer {
    Token token{};
    SocketAddress centre{};
  };
  Offer mine;
  Descriptor listener;
  std::string trouble;
  ErrorCode code = ErrorCode::system;
  try {
    if (place == 0) {
      mine = {random_token(), size_ > 1 ? address_beside(star_->connection()) : fresh_unix_address()};
      if (members.size() > 1) listener = listen_at(mine.centre);
    }
  } catch (const Error& error) {
    trouble = error.what();
    code = error.code();
  }
  agree(*this, code, trouble);
  const std::vector<Offer> offers = all_gather(mine);

  std::unique_ptr<Star> star;
  try {
    if (place >= 0) {
      const Offer& offer = offers[static_cast<std::size_t>(members.front())];
      // All have come already.
      const Arrival arrival{offer.token,
                            place,
                            static_cast<int>(members.size()),
                            std::min(timeout_s_, kForming),
                            {},
                            processes_[static_cast<std::size_t>(rank_)]};
      if (members.size() == 1) {
        star = star_centre({});
      } else if (place == 0) {
        star = form_centre(std::move(listener), offer.centre, arrival);
      } else {
        star = form_ray(offer.centre, arrival, false);
      }
    }
  } catch (const Error& error) {
    trouble = error.what();
    code = error.code();
  }
  agree(*this, code, trouble);
  if (members.empty()) return nullptr;
  std::vector<ProcessIdentity> processes;
  for (int member : members) processes.push_back(processes_[static_cast<std::size_t>(member)]);
  return std::unique_ptr<Bootstrap>(new SocketsBootstrap(std::move(star), place, std::move(processes), timeout_s));
}

bool SocketsBootstrap::alive(int peer) const {
  return !star_->has_left(peer) && still_running(processes_[static_cast<std::size_t>(peer)]);
}

std::vector<int> SocketsBootstrap::ended_ranks() const {
  std::vector<int> ended;
  for (int peer = 0; peer < size_; ++peer) {
    if (!still_running(processes_[static_cast<std::size_t>(peer)])) ended.push_back(peer);
  }
  return ended;
}

std::unique_ptr<SocketsBootstrap> sockets_bootstrap_at(const SocketAddress& host, const Arrival& arrival) {
  std::unique_ptr<Star> star;
  if (arrival.rank == 0) {
    SocketAddress address = host;
    Descriptor listener = listen_at(address);
    star = form_centre(std::move(listener), address, arrival);
  } else {
    star = form_ray(host, arrival, true);
  }
  return std::make_unique<SocketsBootstrap>(std::move(star), arrival.rank, arrival.size, arrival.timeout_s);
}

std::unique_ptr<Bootstrap> sockets_bootstrap(const UniqueId& id, int rank, int size, double timeout_s) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rank {} of {} of a unique id: sizes are 1 and on, ranks 0 to size - 1", rank, size));
  }
  timeout_s = timeout_s > 0 ? std::min(timeout_s, kYear) : default_timeout_s();
  const Invitation invitation = read_invitation(id);
  const auto used = [&] {
    return Error(
        ErrorCode::invalid_argument,
        fmt::format("rank {} of {}: nobody answers at {}: the unique id has been used (each serves one job), or "
                    "the process that made it has ended; make a new one",
                    rank, size, in_words(invitation.host)));
  };
  Arrival arrival{invitation.token, rank, size, timeout_s, {}, identify_this_process()};
  Descriptor guest = connect_to(invitation.host, Deadline(timeout_s));
  if (guest.get() < 0) throw used();
  Descriptor listener;
  if (rank == 0) {
    arrival.centre = address_beside(guest.get());
    listener = listen_at(arrival.centre);
  }
  const auto centre = arrive(guest.get(), invitation.host, arrival);
  if (!centre) throw used();
  arrival.timeout_s = std::min(timeout_s, kForming);
  auto star = rank == 0 ? form_centre(std::move(listener), *centre, arrival)
                        : form_ray(*centre, arrival, /*comes_later=*/false);
  return std::make_unique<SocketsBootstrap>(std::move(star), rank, size, timeout_s);
}

}  // namespace tutti

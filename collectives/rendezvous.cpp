#include "collectives/rendezvous.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace tutti {
namespace {

constexpr char kHello[8] = "tutti-1";  // also tells two versions, or machines of another kind, apart

struct ArrivalMessage {
  char hello[8];
  Arrival arrival;
};

struct Verdict {
  char hello[8];
  std::int32_t welcome;
  ErrorCode code;
  SocketAddress centre;
  char text[512];
};
static_assert(std::is_trivially_copyable_v<ArrivalMessage> && std::is_trivially_copyable_v<Verdict>);

constexpr std::size_t kMostStrangers = 256;
constexpr double kStrangersTime = 10;  // seconds to say who one is
constexpr double kForTheVerdict = 2;   // seconds that an arrival waits beyond what it asked for

void tell(int connection, const Verdict& verdict) {
  // A new connection has room for it, so that nobody need wait.
  if (::send(connection, &verdict, sizeof verdict, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

Verdict refusal(ErrorCode code, const std::string& text) {
  Verdict verdict{{}, 0, code, {}, {}};
  std::memcpy(verdict.hello, kHello, sizeof kHello);
  std::memcpy(verdict.text, text.data(), std::min(text.size(), sizeof verdict.text - 1));
  return verdict;
}

std::string owner_of(const Arrival& arrival) {
  return fmt::format("process {} on {}", arrival.process.pid, arrival.process.host);
}

/// Other users of this host can connect to an abstract Unix socket too. Over TCP only the token tells.
bool may_be_one_of_us(int connection) {
  int domain = 0;
  socklen_t length = sizeof domain;
  if (::getsockopt(connection, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX) return true;
  ucred peer{};
  length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Rendezvous::Rendezvous(Descriptor listener, const SocketAddress& address, const Token& token, int first, int size)
    : listener_(std::move(listener)), address_(address), token_(token), first_(first), size_(size) {}

Rendezvous::~Rendezvous() { end_socket(listener_); }

std::vector<Descriptor> Rendezvous::gather(double timeout_s, int stop) {
  if (timeout_s > 0) shorten(timeout_s);
  while (!complete()) {
    if (wait(stop)) return {};
    notice_who_ended();
    if (deadline_ && deadline_->passed()) {
      give_up(ErrorCode::timeout, fmt::format("waited {} s for ranks {} of {}{}", timeout_s_, absent(), size_,
                                              refusal_.empty() ? "" : "; " + refusal_));
    }
  }
  std::sort(guests_.begin(), guests_.end(),
            [](const Guest& a, const Guest& b) { return a.arrival.rank < b.arrival.rank; });
  end_socket(listener_);  // before anybody can know that it is over
  Verdict verdict = refusal(ErrorCode::system, "");
  verdict.welcome = 1;
  if (first_ == 0) verdict.centre = guests_.front().arrival.centre;
  std::vector<Descriptor> connections;
  for (Guest& guest : guests_) {
    tell(guest.connection.get(), verdict);
    connections.push_back(std::move(guest.connection));
  }
  return connections;
}

/// Hears whoever says something within a moment. True if it is to stop.
bool Rendezvous::wait(int stop) {
  std::vector<pollfd> watched{{stop, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const Stranger& stranger : strangers_) watched.push_back({stranger.connection.get(), POLLIN, 0});
  for (const Guest& guest : guests_) watched.push_back({guest.connection.get(), POLLRDHUP, 0});
  if (::poll(watched.data(), watched.size(), 50) > 0) {
    if (watched[0].revents != 0) return true;
    for (std::size_t i = strangers_.size(); i-- > 0;) {
      if (watched[i + 2].revents == 0 || !hear_out(strangers_[i])) continue;
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (watched[1].revents != 0) accept();
  }
  std::erase_if(strangers_, [](const Stranger& stranger) { return stranger.patience.passed(); });
  return false;
}

void Rendezvous::accept() {
  Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.get() < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    refusal_ = fmt::format("cannot accept a connection: {} (ulimit -n)", std::strerror(errno));
    ::usleep(10'000);  // it may pass, and poll would say at once that there is something to accept
    return;
  }
  if (!may_be_one_of_us(connection.get())) return;
  tune_connection(connection.get());
  if (strangers_.size() == kMostStrangers) strangers_.erase(strangers_.begin());
  strangers_.push_back({std::move(connection), Deadline(kStrangersTime), {}});
}

/// True if it is no stranger any more: it is a guest now, or has been turned away.
bool Rendezvous::hear_out(Stranger& stranger) {
  char text[sizeof(ArrivalMessage)];
  const ssize_t length = ::recv(stranger.connection.get(), text, sizeof text - stranger.said.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (length <= 0) return true;
  stranger.said.insert(stranger.said.end(), text, text + length);
  const std::size_t begun = std::min(stranger.said.size(), sizeof kHello);
  if (std::memcmp(stranger.said.data(), kHello, begun) != 0) return true;
  if (stranger.said.size() < sizeof(ArrivalMessage)) return false;
  ArrivalMessage message;
  std::memcpy(&message, stranger.said.data(), sizeof message);
  message.arrival.process.host[sizeof message.arrival.process.host - 1] = '\0';
  if (message.arrival.token != token_) {
    tell(stranger.connection.get(),
         refusal(ErrorCode::invalid_argument,
                 fmt::format("rendezvous {}: the token is wrong: the id is of another job", in_words(address_))));
    return true;
  }
  admit({std::move(stranger.connection), message.arrival});
  return true;
}

void Rendezvous::admit(Guest guest) {
  const Arrival came = guest.arrival;
  guests_.push_back(std::move(guest));  // whatever is wrong with it, it is told
  if (size_ == 0) size_ = came.size;
  if (came.size != size_) {
    const std::string others = first_ > 0 ? "rank 0" : fmt::format("rank {}", guests_.front().arrival.rank);
    give_up(ErrorCode::mismatch, fmt::format("rank {} ({}) says there are {} ranks, {} said {}: give all the same size",
                                             came.rank, owner_of(came), came.size, others, size_));
  }
  for (std::size_t i = 0; i + 1 < guests_.size(); ++i) {
    if (guests_[i].arrival.rank != came.rank) continue;
    give_up(ErrorCode::mismatch, fmt::format("two came as rank {} of {} ({}, and {}): give each its own rank",
                                             came.rank, size_, owner_of(guests_[i].arrival), owner_of(came)));
  }
  if (came.rank < first_ || came.rank >= size_) {
    give_up(ErrorCode::mismatch, fmt::format("{} came as rank {} of {}, which is not expected: ranks are 0 to {}, and "
                                             "each comes once",
                                             owner_of(came), came.rank, size_, size_ - 1));
  }
  shorten(came.timeout_s);
}

void Rendezvous::shorten(double timeout_s) {
  const Deadline theirs(timeout_s);
  if (deadline_ && deadline_->end() <= theirs.end()) return;
  deadline_ = theirs;
  timeout_s_ = timeout_s;
}

bool Rendezvous::complete() const { return size_ > 0 && guests_.size() == static_cast<std::size_t>(size_ - first_); }

std::string Rendezvous::absent() const {
  std::string ranks;
  for (int rank = first_; rank < size_; ++rank) {
    const auto is_it = [&](const Guest& guest) { return guest.arrival.rank == rank; };
    if (std::none_of(guests_.begin(), guests_.end(), is_it))
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  return ranks;
}

void Rendezvous::notice_who_ended() {
  for (const Guest& guest : guests_) {
    pollfd end{guest.connection.get(), POLLRDHUP, 0};
    if (::poll(&end, 1, 0) <= 0) continue;
    give_up(ErrorCode::peer_failed, fmt::format("rank {} ({}) has ended while it waited for ranks {}",
                                                guest.arrival.rank, owner_of(guest.arrival), absent()));
  }
}

void Rendezvous::give_up(ErrorCode code, const std::string& text) {
  end_socket(listener_);
  const std::string message = fmt::format("rendezvous {}: {}", in_words(address_), text);
  for (const Guest& guest : guests_) tell(guest.connection.get(), refusal(code, message));
  throw Error(code, message);
}

std::optional<SocketAddress> arrive(int connection, const SocketAddress& host, const Arrival& arrival) {
  ArrivalMessage message{};
  std::memcpy(message.hello, kHello, sizeof kHello);
  message.arrival = arrival;
  if (::send(connection, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof message) return std::nullopt;
  const Deadline deadline(arrival.timeout_s + kForTheVerdict);
  Verdict verdict{};
  std::size_t heard = 0;
  while (heard < sizeof verdict) {
    pollfd readable{connection, POLLIN, 0};
    ::poll(&readable, 1, 50);
    const ssize_t length =
        ::recv(connection, reinterpret_cast<char*>(&verdict) + heard, sizeof verdict - heard, MSG_DONTWAIT);
    if (length > 0) {
      heard += static_cast<std::size_t>(length);
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
      return std::nullopt;
    } else if (deadline.passed()) {
      throw Error(ErrorCode::timeout, fmt::format("rank {} of {}: the rendezvous {} said nothing for {} s",
                                                  arrival.rank, arrival.size, in_words(host), arrival.timeout_s));
    }
  }
  if (std::memcmp(verdict.hello, kHello, sizeof kHello) != 0) {
    throw Error(ErrorCode::system,
                fmt::format("rank {} of {}: {} is no rendezvous of tutti", arrival.rank, arrival.size, in_words(host)));
  }
  verdict.text[sizeof verdict.text - 1] = '\0';
  if (verdict.welcome != 1) throw Error(verdict.code, verdict.text);
  return verdict.centre;
}

}  // namespace tutti

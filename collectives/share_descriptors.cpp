#include "collectives/share_descriptors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "collectives/agree.hpp"
#include "collectives/deadline.hpp"
#include "collectives/error.hpp"
#include "collectives/token.hpp"

namespace tutti {
namespace {

/// Where a rank listens, and what a message to it must hold.
struct Address {
  Token token;
  sockaddr_un name;
  socklen_t length;
};

struct Message {
  Token token;
  std::int32_t sender;
  std::int32_t has_descriptor;
};

std::string because(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

/// One rank's side of one exchange. Members return a text if something went wrong for good.
class Exchange {
 public:
  Exchange(Bootstrap& bootstrap, int fd)
      : bootstrap_(bootstrap),
        fd_(fd),
        received_(static_cast<std::size_t>(bootstrap.size())),
        heard_(received_.size()) {}

  std::string listen(Address& mine) {
    try {
      token_ = mine.token = random_token();
    } catch (const Error& error) {
      return error.what();
    }
    listener_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listener_.get() < 0) return because("cannot make a Unix socket (ulimit -n)");
    sockaddr_un any{};
    any.sun_family = AF_UNIX;  // a name of this length only: the kernel picks an abstract one, nothing to unlink
    mine.length = sizeof mine.name;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any.sun_family) != 0 ||
        ::listen(listener_.get(), bootstrap_.size()) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&mine.name), &mine.length) != 0) {
      return because("cannot listen on an abstract Unix socket");
    }
    return reserve_room();
  }

  std::string run(const std::vector<Address>& addresses, double timeout_s) {
    const int size = bootstrap_.size();
    const int rank = bootstrap_.rank();
    const Deadline deadline(std::min(timeout_s / 3, 10.0));
    heard_[static_cast<std::size_t>(rank)] = true;
    if (fd_ >= 0) {
      received_[static_cast<std::size_t>(rank)] = Descriptor(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
      if (received_[static_cast<std::size_t>(rank)].get() < 0)
        return because("cannot duplicate a descriptor (ulimit -n)");
    }
    // Sending never waits for a peer to receive, and whoever cannot send receives meanwhile: no order of arrival,
    // backlog or limit on descriptors in flight can make ranks wait for each other in a circle.
    int sent = 1;
    while (sent < size || std::find(heard_.begin(), heard_.end(), false) != heard_.end()) {
      bool moved = false;
      if (sent < size) {
        const int peer = (rank + sent) % size;
        bool again = false;
        if (std::string trouble = send(peer, addresses[static_cast<std::size_t>(peer)], again); !trouble.empty()) {
          return trouble;
        }
        if (!again) {
          ++sent;
          moved = true;
        }
      }
      if (std::string trouble = receive(moved ? 0 : sent < size ? 1 : 20); !trouble.empty()) return trouble;
      if (!moved && deadline.passed()) return missing("said nothing in time");
      if (!moved && sent == size) {
        for (int peer = 0; peer < size; ++peer) {
          if (!heard_[static_cast<std::size_t>(peer)] && !bootstrap_.alive(peer)) return missing("have ended");
        }
      }
    }
    return {};
  }

  std::vector<Descriptor> take() { return std::move(received_); }

 private:
  /// Finds out before any peer counts on this rank whether it may open what the exchange needs.
  std::string reserve_room() const {
    std::vector<Descriptor> room;  // one of each rank, one socket to send by, one accepted, and those not yet read
    for (std::size_t i = 0; i < 2 * received_.size() + 1; ++i) {
      room.emplace_back(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0));
      if (room.back().get() < 0) {
        return fmt::format("cannot open the {} files that sharing memory needs: {} (ulimit -n)",
                           2 * received_.size() + 1, std::strerror(errno));
      }
    }
    return {};
  }

  std::string send(int peer, const Address& to, bool& again) {
    const auto peer_is_out_of_reach = [&](const char* call) {
      again = errno == EAGAIN || errno == ETOOMANYREFS || errno == EINTR || errno == ENOBUFS;
      if (again) return std::string();
      return fmt::format("{} to rank {}'s Unix socket: {} (do the ranks run in different containers?)", call, peer,
                         std::strerror(errno));
    };
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) return because("cannot make a Unix socket (ulimit -n)");
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.name), to.length) != 0) {
      return peer_is_out_of_reach("connect");
    }
    Message message{to.token, bootstrap_.rank(), fd_ >= 0};
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (fd_ >= 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &fd_, sizeof fd_);
    }
    // The message stays in the peer's queue when this end closes.
    if (::sendmsg(socket.get(), &header, MSG_NOSIGNAL) != sizeof message) return peer_is_out_of_reach("sendmsg");
    return {};
  }

  /// Takes what has arrived, and waits at most `wait_ms` for it.
  std::string receive(int wait_ms) {
    std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
    for (const Descriptor& connection : connections_) watched.push_back({connection.get(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), wait_ms) <= 0) return {};
    for (std::size_t i = watched.size(); i-- > 1;) {
      if (watched[i].revents == 0) continue;
      const Descriptor connection = std::move(connections_[i - 1]);
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
      if (std::string trouble = take_message(connection.get()); !trouble.empty()) return trouble;
    }
    if (watched[0].revents != 0) {
      Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (connection.get() >= 0) {
        if (from_same_user(connection.get())) connections_.push_back(std::move(connection));
      } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        return because("cannot accept a connection (ulimit -n)");
      }
    }
    return {};
  }

  bool from_same_user(int connection) {
    ucred peer{};
    socklen_t length = sizeof peer;
    const bool same = ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
    if (!same) ++refused_;
    return same;
  }

  std::string take_message(int connection) {
    Message message{};
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t length = ::recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
    Descriptor descriptor;
    for (cmsghdr* part_of = length < 0 ? nullptr : CMSG_FIRSTHDR(&header); part_of != nullptr;
         part_of = CMSG_NXTHDR(&header, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part_of), sizeof fd);
      descriptor = Descriptor(fd);
    }
    const auto sender = static_cast<std::size_t>(message.sender);
    if (length != sizeof message || message.token != token_ || message.sender < 0 || sender >= heard_.size() ||
        heard_[sender]) {
      ++refused_;  // not one of us
      return {};
    }
    if (message.has_descriptor != 0 && descriptor.get() < 0) {
      return fmt::format("no room for the descriptor of rank {}: raise the limit on open files (ulimit -n)", sender);
    }
    heard_[sender] = true;
    received_[sender] = std::move(descriptor);
    return {};
  }

  std::string missing(const char* what) const {
    std::string ranks;
    for (std::size_t rank = 0; rank < heard_.size(); ++rank) {
      if (!heard_[rank]) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
    }
    return fmt::format("descriptors of ranks {} did not arrive, they {}; {} connections of others were refused", ranks,
                       what, refused_);
  }

  Bootstrap& bootstrap_;
  const int fd_;
  Token token_{};
  Descriptor listener_;
  std::vector<Descriptor> connections_;  // accepted, message not yet read
  std::vector<Descriptor> received_;
  std::vector<bool> heard_;
  int refused_ = 0;
};

}  // namespace

std::vector<Descriptor> share_descriptors(Bootstrap& bootstrap, int fd, double timeout_s) {
  Exchange exchange(bootstrap, fd);
  Address mine{};
  const std::string no_socket = exchange.listen(mine);
  const std::vector<Address> addresses = bootstrap.all_gather(mine);
  agree(bootstrap, ErrorCode::system, no_socket);
  agree(bootstrap, ErrorCode::system, exchange.run(addresses, timeout_s));
  return exchange.take();
}

}  // namespace tutti

#include "collectives/socket_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

#include "collectives/error.hpp"
#include "collectives/token.hpp"

namespace tutti {
namespace {

/// As the socket calls want it.
struct Native {
  Native() = default;
  explicit Native(const SocketAddress& address) : length(std::min<socklen_t>(address.length, sizeof address.bytes)) {
    std::memcpy(&storage, address.bytes, length);
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }

  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
};

SocketAddress portable(const Native& native) {
  SocketAddress address;
  if (native.length > sizeof address.bytes) {
    throw Error(ErrorCode::system, fmt::format("socket: an address of {} bytes is too long", native.length));
  }
  address.length = static_cast<std::uint16_t>(native.length);
  std::memcpy(address.bytes, &native.storage, native.length);
  return address;
}

Native without_port(Native native) {
  if (native.storage.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(native.storage).sin_port = 0;
  if (native.storage.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(native.storage).sin6_port = 0;
  return native;
}

std::string host_in_words(const Native& native) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (native.storage.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(native.storage).sin_addr, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(native.storage).sin6_addr, text, sizeof text);
  }
  return text;
}

[[noreturn]] void refuse(const char* call, const SocketAddress& address) {
  const int error = errno;
  const char* advice = "";
  if (error == EMFILE || error == ENFILE) advice = " (ulimit -n)";
  if (error == EADDRINUSE) advice = " (is there a second rank 0?)";
  throw Error(ErrorCode::system, fmt::format("{} {}: {}{}", call, in_words(address), std::strerror(error), advice));
}

Descriptor socket_for(const Native& native, const SocketAddress& address) {
  Descriptor made(::socket(native.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) refuse("socket", address);
  return made;
}

}  // namespace

std::string in_words(const SocketAddress& address) {
  const Native native(address);
  switch (native.storage.ss_family) {
    case AF_UNIX: {
      const char* const name = reinterpret_cast<const sockaddr_un&>(native.storage).sun_path + 1;
      constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path) + 1;
      return fmt::format("@{}", std::string_view(name, native.length > kBefore ? native.length - kBefore : 0));
    }
    case AF_INET:
      return fmt::format("{}:{}", host_in_words(native),
                         ntohs(reinterpret_cast<const sockaddr_in&>(native.storage).sin_port));
    case AF_INET6:
      return fmt::format("[{}]:{}", host_in_words(native),
                         ntohs(reinterpret_cast<const sockaddr_in6&>(native.storage).sin6_port));
    default: return "an unknown address";
  }
}

SocketAddress unix_address(std::string_view name) {
  Native native;
  auto& where = reinterpret_cast<sockaddr_un&>(native.storage);
  where.sun_family = AF_UNIX;  // a name that begins with a zero byte is no file
  std::memcpy(where.sun_path + 1, name.data(), std::min(name.size(), sizeof where.sun_path - 1));
  native.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return portable(native);
}

SocketAddress fresh_unix_address() {
  return unix_address(fmt::format("tutti-{}", to_hex(std::span<const std::uint8_t>(random_token()).first(8))));
}

SocketAddress public_address() {
  const char* const wanted = std::getenv("TUTTI_SOCKET_INTERFACE");
  if (wanted == nullptr || *wanted == '\0') return fresh_unix_address();
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) throw Error(ErrorCode::system, fmt::format("getifaddrs: {}", std::strerror(errno)));
  std::string names;
  Native found;
  found.length = 0;
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Native native;
    native.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&native.storage, at->ifa_addr, native.length);
    const std::string host = host_in_words(native);
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", at->ifa_name, host);
    const bool better = found.length == 0 || (family == AF_INET && found.storage.ss_family == AF_INET6);
    if (better && (wanted == host || std::strcmp(wanted, at->ifa_name) == 0)) found = native;
  }
  ::freeifaddrs(all);
  if (found.length == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("TUTTI_SOCKET_INTERFACE is '{}': give one of {}, or unset it for ranks on one host", wanted,
                            names));
  }
  return portable(without_port(found));
}

SocketAddress address_beside(int connection) {
  Native native;
  if (::getsockname(connection, native.get(), &native.length) != 0) {
    throw Error(ErrorCode::system, fmt::format("getsockname: {}", std::strerror(errno)));
  }
  return native.storage.ss_family == AF_UNIX ? fresh_unix_address() : portable(without_port(native));
}

Descriptor listen_at(SocketAddress& address) {
  Native native(address);
  Descriptor listener = socket_for(native, address);
  if (::bind(listener.get(), native.get(), native.length) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) {
    refuse("cannot listen at", address);
  }
  native.length = sizeof native.storage;
  if (::getsockname(listener.get(), native.get(), &native.length) != 0) refuse("getsockname", address);
  address = portable(native);
  return listener;
}

Descriptor connect_to(const SocketAddress& address, const Deadline& deadline) {
  const Native native(address);
  for (;;) {
    Descriptor connection = socket_for(native, address);
    int error = ::connect(connection.get(), native.get(), native.length) == 0 ? 0 : errno;
    while (error == EINPROGRESS && !deadline.passed()) {
      pollfd writable{connection.get(), POLLOUT, 0};
      if (::poll(&writable, 1, 50) <= 0) continue;
      socklen_t length = sizeof error;
      ::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error == 0) {
      tune_connection(connection.get());
      return connection;
    }
    if (error == ECONNREFUSED) return Descriptor();
    // A Unix socket whose queue is full says EAGAIN; a half-made TCP connection may also be reset.
    if (error != EAGAIN && error != EINTR && error != EINPROGRESS && error != ECONNRESET) {
      errno = error;
      refuse("cannot connect to", address);
    }
    if (deadline.passed()) {
      throw Error(ErrorCode::timeout, fmt::format("cannot connect to {} in time", in_words(address)));
    }
    ::usleep(2000);
  }
}

void tune_connection(int connection) {
  // A Unix socket refuses these, and needs none of them.
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(connection, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void end_socket(Descriptor& socket) {
  if (socket.get() >= 0) ::shutdown(socket.get(), SHUT_RDWR);
  socket = Descriptor();
}

}  // namespace tutti

// Where ranks listen for each other: abstract Unix sockets, which leave no file behind, or TCP.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/bootstrap.hpp"
#include "collectives/deadline.hpp"

namespace tutti {

/// A socket address as bytes, the same in every process.
struct SocketAddress {
  std::uint16_t length = 0;
  char bytes[62] = {};
};

/// "@name" for a Unix socket, "host:port" for TCP.
std::string in_words(const SocketAddress& address);

/// The abstract Unix socket of this name; a name nobody else has.
SocketAddress unix_address(std::string_view name);
SocketAddress fresh_unix_address();

/// Where a process listens for ranks that it does not know yet: an abstract Unix socket, which this host's processes
/// reach; if TUTTI_SOCKET_INTERFACE names a network interface (such as eth0 or lo) or one of its addresses, a free TCP
/// port there. Throws ErrorCode::invalid_argument if there is none of that name.
SocketAddress public_address();

/// Where ranks that can reach this end of `connection` can reach a new listener of this process.
SocketAddress address_beside(int connection);

/// A listener whose accepts do not block; `address` gets its port if it had none. Throws ErrorCode::system.
Descriptor listen_at(SocketAddress& address);

/// A connection whose reads and writes do not block; none if nobody listens there. Throws ErrorCode::timeout or system.
Descriptor connect_to(const SocketAddress& address, const Deadline& deadline);

/// Prepares an accepted or made connection: small messages leave at once, and a host that vanished is noticed.
void tune_connection(int connection);

/// Ends a connection or a listener for everyone, also for the processes that inherited a copy of it.
void end_socket(Descriptor& socket);

}  // namespace tutti

// What a unique id says.
#pragma once
#include "collectives/bootstrap.hpp"
#include "collectives/socket_address.hpp"
#include "collectives/token.hpp"
#include "collectives/tutti.hpp"

namespace tutti {

struct Invitation {
  Token token{};
  SocketAddress host{};
};

/// Throws ErrorCode::invalid_argument if unique_id made no such id.
Invitation read_invitation(const UniqueId& id);

}  // namespace tutti

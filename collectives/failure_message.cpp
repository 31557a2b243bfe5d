#include "collectives/failure_message.hpp"

#include <fmt/format.h>

#include "collectives/choose.hpp"

namespace tutti {
namespace {

const char* name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::data:
    case Purpose::p2p_data: return "data";
    case Purpose::credit:
    case Purpose::p2p_credit: return "credit";
    case Purpose::enter: return "arrival";
    default: return "departure";
  }
}

bool is_message(const Call& call) { return call.number == 0; }

std::string last_said(const Connections& arenas, int peer) {
  const Board board = seen_board(arenas, peer);
  if (board.number == 0) return fmt::format("rank {} has not called any collective of this communicator", peer);
  return fmt::format("rank {} was last in call {} ({})", peer, board.number,
                     to_string(board.description, board.elements));
}

}  // namespace

Error explain(const Failure& failure, const Call& call, int rank, std::chrono::nanoseconds timeout,
              const Connections& arenas) {
  const std::string mine = to_string(call.description, call.count);
  const std::string where = is_message(call) ? fmt::format("rank {}, message with rank {} ({})", rank, call.peer, mine)
                                             : fmt::format("rank {}, call {} ({})", rank, call.number, mine);
  switch (failure.kind) {
    case Failure::Kind::mismatch:
      return Error(
          ErrorCode::mismatch,
          fmt::format("{}: rank {} {} {} instead; every rank must make the same calls in the same order", where,
                      failure.peer, is_message(call) ? "has" : fmt::format("called (its call {})", failure.number),
                      to_string(failure.theirs, failure.elements)));
    case Failure::Kind::peer_failed:
      if (failure.peer == rank)
        return Error(ErrorCode::peer_failed,
                     fmt::format("{}: another call of this rank's communicator failed first", where));
      return Error(ErrorCode::peer_failed, fmt::format("{}: rank {} failed first, its own message says why; {}", where,
                                                       failure.peer, last_said(arenas, failure.peer)));
    case Failure::Kind::unmapped:
      return Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: rank {} uses a buffer of `allocate` that this rank has destroyed; keep it alive on all "
                      "ranks while any uses it",
                      where, failure.peer));
    default:
      return Error(
          ErrorCode::timeout,
          fmt::format(
              "{}: rank {}'s {} did not come within {:g} s (count {} wanted, {} seen); {}. Is the rank alive, and "
              "does it make the same calls? TUTTI_TIMEOUT sets the limit in seconds",
              where, failure.peer, failure.packet ? "packet" : name_of(failure.purpose),
              std::chrono::duration<double>(timeout).count(), failure.wanted, failure.seen,
              last_said(arenas, failure.peer)));
  }
}

}  // namespace tutti

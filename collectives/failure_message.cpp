#include "collectives/failure_message.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

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

std::string last_said(const LastSaid& said, int peer) {
  const Board board = said(peer);
  if (board.number == 0) return fmt::format("rank {} has not called any collective of this communicator", peer);
  return fmt::format("rank {} was last in collective call {} ({})", peer, board.number,
                     to_string(board.description, board.elements));
}

/// The ranks of a wait that ran out, lowest first.
std::vector<int> absent_ranks(const Failure& failure) {
  std::vector<int> ranks;
  for (int r = 0; r < kMaxRanks; ++r)
    if (failure.absent >> r & 1) ranks.push_back(r);
  if (ranks.empty()) ranks.push_back(failure.peer);  // it came while its absence was noted
  return ranks;
}

/// "rank 3", "ranks 2 and 3", "ranks 1, 2 and 3".
std::string to_string(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "), ranks.back());
}

std::string timed_out(const Failure& failure, std::chrono::nanoseconds timeout, const LastSaid& said) {
  const std::vector<int> ranks = absent_ranks(failure);
  std::string text = fmt::format("{}'s {} did not come within {:g} s (count {} wanted, {} seen", to_string(ranks),
                                 failure.packet ? "packet" : name_of(failure.purpose),
                                 std::chrono::duration<double>(timeout).count(), failure.wanted, failure.seen);
  if (ranks.size() > 1) text += fmt::format(" of rank {}", failure.peer);
  text += ")";
  constexpr std::size_t kMostQuoted = 4;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostQuoted); ++i) text += "; " + last_said(said, ranks[i]);
  return text + (ranks.size() == 1 ? ". Is the rank alive, and does it make the same calls?"
                                   : ". Are the ranks alive, and do they make the same calls?");
}

}  // namespace

Error explain(const Failure& failure, const Call& call, int rank, std::chrono::nanoseconds timeout,
              const LastSaid& said) {
  const std::string mine = to_string(call.description, call.count);
  // Both ends of a message are described as a send; only its sender waits for credit.
  const char* const direction = failure.purpose == Purpose::p2p_credit ? "send to" : "receive from";
  const std::string where = is_message(call) ? fmt::format("rank {}, {} rank {} ({})", rank, direction, call.peer,
                                                           mine.substr(mine.find(' ') + 1))
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
                                                       failure.peer, last_said(said, failure.peer)));
    case Failure::Kind::unmapped:
      return Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: rank {} uses a buffer of `allocate` that this rank has destroyed; keep it alive on all "
                      "ranks while any uses it",
                      where, failure.peer));
    default:
      return Error(ErrorCode::timeout, fmt::format("{}: {} TUTTI_TIMEOUT sets the limit in seconds", where,
                                                   timed_out(failure, timeout, said)));
  }
}

}  // namespace tutti

#include "collectives/failure_message_cuda.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "collectives/choose.hpp"

namespace tutti {
namespace {

const char* name_of_purpose(std::uint64_t purpose) {
  constexpr std::array<const char*, kPurposes + 1> names = {"data", "credit", "arrival", "departure",
                                                            "data", "credit", "packet"};
  return purpose < names.size() ? names[purpose] : "signal";
}

std::string last_said(const FailureRecord& record, int peer) {
  if (record.their_number == 0) return fmt::format("rank {} has not called any collective of this communicator", peer);
  return fmt::format("rank {} was last in call {} ({})", peer, record.their_number,
                     to_string(record.their_description, record.their_elements));
}

std::string list(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "));
}

/// Seen from a rank's call; `peers` are all for which a wait ended so.
Error explain(WaitFailure kind, const FailureRecord& record, const std::vector<int>& peers, int rank,
              std::chrono::nanoseconds timeout) {
  const bool message = record.number == 0;
  const int peer = peers[0];
  const std::string mine = to_string(record.description, record.elements);
  const std::string where = message ? fmt::format("rank {}, message with rank {} ({})", rank, peer, mine)
                                    : fmt::format("rank {}, call {} ({})", rank, record.number, mine);
  switch (kind) {
    case WaitFailure::mismatch:
      return Error(
          ErrorCode::mismatch,
          fmt::format("{}: rank {} {} {} instead; every rank must make the same calls in the same order", where, peer,
                      message ? std::string("has") : fmt::format("called (its call {})", record.their_number),
                      to_string(record.their_description, record.their_elements)));
    case WaitFailure::unmapped:
      return Error(ErrorCode::invalid_argument,
                   fmt::format("{}: rank {} uses a buffer of `allocate` that this rank has destroyed; keep it alive on "
                               "all ranks while any uses it",
                               where, peer));
    case WaitFailure::peer_failed:
      return Error(ErrorCode::peer_failed, fmt::format("{}: {} or another call of this rank failed first; {}", where,
                                                       list(peers), last_said(record, peer)));
    default:
      return Error(
          ErrorCode::timeout,
          fmt::format("{}: the {} of {} did not come within {:g} s (count {} wanted, {} seen of rank {}); {}. Is "
                      "the rank alive, and does it make the same calls? TUTTI_TIMEOUT sets the limit in seconds",
                      where, name_of_purpose(record.purpose), list(peers),
                      std::chrono::duration<double>(timeout).count(), record.wanted, record.seen, peer,
                      last_said(record, peer)));
  }
}

}  // namespace

Error explain(std::span<const FailureRecord> records, int rank, int ranks, std::chrono::nanoseconds timeout) {
  for (const WaitFailure kind :
       {WaitFailure::mismatch, WaitFailure::unmapped, WaitFailure::timeout, WaitFailure::peer_failed}) {
    const FailureRecord* first = nullptr;
    std::vector<int> peers;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].kind != static_cast<std::uint64_t>(kind)) continue;
      if (!first) first = &records[i];
      const int peer = static_cast<int>(i) % ranks;
      // Peers for which waits of one and the same block ended so; other blocks tell the same again.
      if (&records[i] - first < ranks &&
          i / static_cast<std::size_t>(ranks) ==
              static_cast<std::size_t>(first - records.data()) / static_cast<std::size_t>(ranks))
        peers.push_back(peer);
    }
    if (first) return explain(kind, *first, peers, rank, timeout);
  }
  return Error(ErrorCode::system, fmt::format("rank {}: a kernel failed without saying why", rank));
}

}  // namespace tutti

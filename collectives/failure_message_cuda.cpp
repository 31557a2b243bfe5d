#include "collectives/failure_message_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/failure_message.hpp"

namespace tutti {
namespace {

Failure::Kind kind_of(WaitFailure end) {
  switch (end) {
    case WaitFailure::none: return Failure::Kind::none;
    case WaitFailure::mismatch: return Failure::Kind::mismatch;
    case WaitFailure::unmapped: return Failure::Kind::unmapped;
    case WaitFailure::peer_failed:
    case WaitFailure::failed_here: return Failure::Kind::peer_failed;
    default: return Failure::Kind::timeout;
  }
}

}  // namespace

Error explain(std::span<const FailureRecord> records, int rank, int ranks, std::chrono::nanoseconds timeout) {
  for (const WaitFailure end : {WaitFailure::mismatch, WaitFailure::unmapped, WaitFailure::timeout,
                                WaitFailure::peer_failed, WaitFailure::failed_here}) {
    const auto is_such = [end](const FailureRecord& r) { return r.kind == static_cast<std::uint64_t>(end); };
    const auto found = std::find_if(records.begin(), records.end(), is_such);
    if (found == records.end()) continue;

    // The waits of one block tell all: other blocks wait for the same peers.
    const auto n = static_cast<std::size_t>(ranks);
    const auto row = records.subspan(static_cast<std::size_t>(found - records.begin()) / n * n, n);
    const auto peer = static_cast<int>(&*found - row.data());
    Failure failure;
    failure.kind = kind_of(end);
    failure.packet = found->purpose == kPacketPurpose;
    if (!failure.packet) failure.purpose = static_cast<Purpose>(found->purpose);
    failure.peer = end == WaitFailure::failed_here ? rank : peer;
    failure.wanted = static_cast<Count>(found->wanted);
    failure.seen = static_cast<Count>(found->seen);
    for (std::size_t r = 0; r < n; ++r)
      if (is_such(row[r])) failure.absent |= std::uint64_t{1} << r;
    failure.theirs = found->their_description;
    failure.elements = found->their_elements;
    failure.number = found->their_number;
    Call call;
    call.peer = peer;
    call.number = found->number;
    call.description = found->description;
    call.count = found->elements;
    return explain(failure, call, rank, timeout, [row](int of) {
      const FailureRecord& record = row[static_cast<std::size_t>(of)];
      Board board{};
      board.number = record.their_number;
      board.description = record.their_description;
      board.elements = record.their_elements;
      return board;
    });
  }
  return Error(ErrorCode::system, fmt::format("rank {}: a kernel failed without saying why", rank));
}

}  // namespace tutti

// How a GPU block bounds its waits, and what it leaves for the host's message when one ends badly.
#pragma once
#include "kernels/connection.hpp"

namespace tutti {

/// Why a wait of a block ended without what it waited for.
enum class WaitFailure : std::uint64_t {
  none,
  timeout,
  peer_failed,  ///< the communicator has failed on the peer
  failed_here,  ///< it has failed on this rank, in another block or call
  mismatch,     ///< the peer entered another call, or sent another message
  unmapped,     ///< the peer uses a segment that is not mapped here any more
};

/// What awaits a packet rather than a flag; beside the purposes of connections.
inline constexpr std::uint64_t kPacketPurpose = kPurposes;

/// One wait's end, in pinned host memory; written by the lane that waited for that peer.
struct alignas(kLine) FailureRecord {
  std::uint64_t kind;  ///< a WaitFailure; written last
  std::uint64_t purpose;
  std::uint64_t wanted;  ///< counts, relative to the call; of a packet 1 and 0
  std::uint64_t seen;
  std::uint64_t number;  ///< of this rank's call, with its fingerprint
  Description description;
  std::uint64_t elements;
  std::uint64_t their_number;  ///< the same of the peer: what it entered or sent (mismatch), or last said it was doing
  Description their_description;
  std::uint64_t their_elements;
};

/// Pinned host memory that a communicator's kernels report to.
struct Reports {
  std::uint64_t* failed = nullptr;   ///< not 0: some record is written
  FailureRecord* records = nullptr;  ///< [block][peer]
  std::uint64_t timeout_ns = 0;      ///< bound of every wait
};

}  // namespace tutti

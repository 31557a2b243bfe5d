// Memory that every rank of a job can reach.
#pragma once
#include <cstddef>
#include <memory>

#include "collectives/bootstrap.hpp"

namespace tutti {

/// One collective allocation: every rank's share of it, mapped into this process. Destruction is local: a rank's memory
/// lives until the last rank that maps it lets go.
class SharedSegment {
 public:
  virtual ~SharedSegment() = default;
  /// Where rank's share is mapped here; 2 MiB-aligned, zero-filled at creation. Null if it has 0 bytes.
  virtual char* base(int rank) const = 0;
  virtual std::size_t bytes(int rank) const = 0;
  /// Where a switch reaches every rank's share at once; null if none does.
  virtual char* multicast() const { return nullptr; }
};

/// When a segment's pages are made.
enum class Pages {
  reserved,     ///< at once: no use of them can fail later
  when_touched  ///< of memory of which most may never be needed, such as an arena's slots
};

/// CPU memory: a memfd (fallback: shm_open 0600, unlinked at once, its pages always reserved) per rank, handed over by
/// Bootstrap::share, advised as huge pages; with threads, one anonymous mapping per rank for all of them. `bytes` may
/// differ between ranks; 0 is legal. Collective. If one rank cannot have its memory, throws ErrorCode::system on all
/// ranks, naming the rank, the bytes needed and what is free.
std::shared_ptr<SharedSegment> allocate_host_segment(Bootstrap& bootstrap, std::size_t bytes,
                                                     Pages pages = Pages::reserved);

}  // namespace tutti

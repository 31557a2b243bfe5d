// Everything that stands ready before the first race: sessions, contenders, memory, the harness's meeting point.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/contender.hpp"
#include "bench/meeting_point.hpp"
#include "bench/rows.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Memory that only this process has, aligned like memory of Communicator::allocate, on huge pages if large enough.
class OwnMemory {
 public:
  explicit OwnMemory(std::size_t bytes);
  ~OwnMemory();
  OwnMemory(OwnMemory&& other) noexcept;
  OwnMemory& operator=(OwnMemory&&) = delete;
  std::byte* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
};

/// Where in a rank's two buffers `c` has its input and output.
Buffers place_buffers(const Case& c, int rank, std::byte* in, std::byte* out);

class Lineup {
 public:
  /// `session` is native and outlives the lineup. Contenders: each backend, native once per algorithm; `bytes` of
  /// buffers for each kind of memory. Collective. Throws tutti::Error on all ranks alike.
  Lineup(Session& session, const std::vector<BackendKind>& backends, const std::vector<Algorithm>& algorithms,
         const std::vector<MemoryKind>& memories, const BufferBytes& bytes);

  MeetingPoint& meeting() { return meeting_; }
  /// Of native's communicator, on each rank.
  std::size_t arena_bytes() const;
  /// Every contender on every kind of memory, with the buffers as `c` needs them.
  std::vector<Lane> lanes(const Case& c) const;

 private:
  struct Memory {
    MemoryKind kind;
    std::vector<Buffer<std::uint8_t>> shared;
    std::vector<OwnMemory> own;
    std::byte* in;
    std::byte* out;
  };

  int rank_;
  std::unique_ptr<Bootstrap> bootstrap_;
  MeetingPoint meeting_;
  std::optional<Session> mpi_session_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::vector<Memory> memories_;
};

}  // namespace tutti::bench

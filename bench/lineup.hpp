// Everything that stands ready before the first race: sessions, contenders, memory, the harness's meeting point.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bench/buffers.hpp"
#include "bench/cases.hpp"
#include "bench/contender.hpp"
#include "bench/limits.hpp"
#include "bench/meeting_point.hpp"
#include "bench/rows.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Why these backends cannot run where native does, on GPUs or not, and what to do; empty if they can.
std::string misfit(const std::vector<BackendKind>& backends, bool on_gpu);

class Lineup {
 public:
  /// `session` is native and outlives the lineup. Contenders: each backend that `arguments` name, native once per
  /// algorithm, on buffers of `bytes` in each kind of memory. Collective. Throws on all ranks alike: ArgumentError if a
  /// backend that was named cannot be had, else tutti::Error.
  Lineup(Session& session, const BenchArguments& arguments, const BufferBytes& bytes);

  MeetingPoint& meeting() { return meeting_; }
  /// What measures bounds; null where native runs on GPUs, or nobody asked for them.
  Limits* limits() { return limits_.get(); }
  /// Of native's communicator, on each rank.
  std::size_t arena_bytes() const;
  /// A communicator on the GPU, if the buffers are its memory.
  const Communicator* device() const { return on_gpu_ ? communicators_.front().get() : nullptr; }
  /// The backend that native is compared with; empty if there is none.
  std::string peer() const;
  bool has_several_peers() const;
  /// Backends that nobody asked for by name and that cannot be had, and why.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Every contender that plays `c` on every kind of memory, with the buffers as `c` needs them.
  std::vector<Lane> lanes(const Case& c) const;

 private:
  void add_backend(BackendKind backend);
  std::unique_ptr<Contender> contender_of(Communicator& communicator, Algorithm algorithm) const;
  void add_peer(const peers::Setting& peer, std::size_t in, std::size_t out);
  Memory memory_of(MemoryKind kind, std::size_t in, std::size_t out);

  int rank_;
  bool on_gpu_;
  int graph_;
  std::unique_ptr<Bootstrap> bootstrap_;
  MeetingPoint meeting_;
  std::vector<std::unique_ptr<Session>> others_;
  std::vector<std::unique_ptr<Communicator>> communicators_;  // native's first
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::vector<Buffer<std::uint8_t>> shared_;
  std::vector<OwnMemory> own_;
  std::vector<std::shared_ptr<std::byte>> device_;
  std::vector<Memory> memories_;
  std::unique_ptr<Limits> limits_;
  std::vector<std::string> notes_;
};

}  // namespace tutti::bench

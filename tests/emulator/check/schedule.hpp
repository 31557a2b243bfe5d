// Runs the blocks of several ranks to their end, in an order drawn from a seed.
//
// Threads are switched at strong accesses, fences, barriers and sleeps only. That is enough: let two runs differ only
// in where, between two such points of a thread, other threads ran. If no race is reported, every weak access in
// between is ordered, by happens-before, with every access of other threads that conflicts with it; so moving it to the
// thread's next point changes neither what it reads nor what anybody reads from it, and the runs are the same. And a
// race does not hide: it is found from happens-before, which asks whether anything orders two accesses, not which came
// first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/emulator/check/memory.hpp"
#include "tests/emulator/machine/block.hpp"

namespace tutti::emulator {

/// What a stream does next: a kernel, or something of the host's (if `host` is set).
struct Work {
  Launch launch{};
  /// Called when all work before it in the stream is done. May read and write host memory; what it touches it tells
  /// CheckedMemory::host_access with the number of the stream, if that is to be checked.
  std::function<void(int stream)> host{};
};

/// Work in order. Each piece happens before the next; streams run beside each other.
struct Stream {
  int rank = 0;
  int device = 0;
  std::vector<Work> work;
};

struct ScheduleSettings {
  /// Blocks that a device holds at once; 0: any number. Fewer than a launch has begin in an order of the seed's.
  std::uint32_t resident = 0;
  /// Instructions of one thread without a strong access after which it is said to loop for ever.
  std::uint32_t endless = 50'000'000;
  /// How often everybody who polls is let go once more when nobody else can run, before that is called a hang. Above
  /// the number of polls after which a kernel looks at something else.
  std::uint32_t patience = 300;
};

struct ScheduleResult {
  std::uint64_t instructions = 0;
  std::uint64_t switches = 0;  ///< times a thread was picked
  std::string policy;          ///< how threads were picked
};

/// The streams and the memory must outlive it; launches may change between runs (parameters, counts).
class Schedule {
 public:
  Schedule(CheckedMemory& memory, std::span<const Stream> streams, ScheduleSettings settings = {});
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// Runs everything once. The same seed gives the same run, if host memory is the same. Throws Found for a defect;
  /// those that the machine finds itself (misaligned, trap, ...) are Defect::fault. What lies in host memory is the
  /// caller's to set before each run; the memory is ready for a new run whatever happened.
  ScheduleResult run(std::uint64_t seed);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::emulator

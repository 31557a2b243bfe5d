// What the model keeps of a run: who runs, who waits for what, and which clock came with which signal.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/fiber.hpp"
#include "kernels/model_races.hpp"

namespace tutti::model {

class Communicator;
struct Launch;
struct Strand;

/// Those who wait for the same word of memory.
using Waiters = std::vector<Strand*>;

/// What a strand waits for.
struct Wait {
  const std::uint64_t* flag = nullptr;  ///< null: for nothing
  std::uint64_t wanted = 0;
  bool tag = false;       ///< its low 32 bits are to equal `wanted`; else it is to reach `wanted`
  const char* what = "";  ///< for reports, like the rest
  int peer = -1;          ///< of the communicator; nobody: a program waits for its blocks
  std::uint64_t base = 0;

  std::uint64_t seen() const { return tag ? static_cast<std::uint32_t>(*flag) : *flag; }
  bool satisfied() const { return !flag || (tag ? seen() == wanted : *flag >= wanted); }
};

/// What happens in order: a block of a chain of a rank's calls on a communicator, or a rank's program (block -1).
struct Strand {
  int number = 0;
  Communicator* communicator = nullptr;  ///< of a block
  int rank = 0;                          ///< in it
  int session_rank = 0;
  int block = 0;
  const char* kernel = "";
  std::uint32_t ordinal = 0;
  Word word = Word::caller;  ///< its latest, and where it stands
  Line line;
  std::size_t call = 0;          ///< of its rank on its communicator, from 0
  std::uint32_t generation = 0;  ///< see Mark
  int steps = 0;                 ///< the longest chain of messages of this call that it has heard the end of
  Clock clock;
  std::uint32_t accessed = 1;  ///< when it touched memory last, by its own clock
  Wait wait;
  Launch* launch = nullptr;  ///< that a block is of
  bool given_up = false;
  std::uint64_t priority = 0;
  std::size_t ready_at = kNotReady;  ///< among the strands that can go on
  std::unique_ptr<Fiber> fiber;      ///< null: idle

  static constexpr std::size_t kNotReady = static_cast<std::size_t>(-1);
};

/// A flag's or tag's past: which clock came with which count.
struct Published {
  static constexpr std::size_t kSignals = 64;  ///< of the past; waits look back by less than the slots
  struct Signal {
    std::uint64_t count = 0;
    int steps = 0;  ///< of its sender
    Clock clock;
  };
  Mark latest;                  ///< of its writer
  std::vector<Signal> signals;  ///< a ring
  std::size_t sent = 0;         ///< the next goes to signals[sent % kSignals]
  Waiters waiters;
};

}  // namespace tutti::model

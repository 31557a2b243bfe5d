// Small PTX programs of two ranks under the checker, for its tests.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/check/memory.hpp"
#include "tests/emulator/check/report.hpp"
#include "tests/emulator/check/schedule.hpp"

namespace tutti::emulator {

/// Rank r runs the r-th body, on a device of its own. In a body %a0 to %a3 are the addresses of four buffers that all
/// ranks map, %a0 and %a1 of rank 0, %a2 and %a3 of rank 1, each of 256 bytes, %t is the thread's index, and %r0 to
/// %r9, %l0 to %l9, %p0 to %p9, %q0 and %q1 are registers (32, 64 bits, predicates, 128 bits). `shared` is 256 bytes of
/// shared memory. Buffers are zero when a run begins.
class Trial {
 public:
  static constexpr std::size_t kBytes = 256;

  explicit Trial(std::vector<std::string> bodies, std::uint32_t threads = 1, std::uint32_t blocks = 1,
                 CheckedMemory::Settings settings = {});

  CheckedMemory& memory() { return memory_; }
  std::byte* buffer(std::size_t index) { return buffers_.at(index)->data(); }
  std::uint64_t word(std::size_t buffer, std::size_t index) const;
  std::vector<Stream>& streams() { return streams_; }
  Launch launch(int rank) const { return launches_.at(static_cast<std::size_t>(rank)); }
  ScheduleSettings& settings() { return settings_; }

  /// Runs once, from zeroed buffers. Throws Found.
  ScheduleResult run(std::uint64_t seed);

  struct Outcome {
    int clean = 0;
    std::vector<std::pair<Defect, std::string>> found;
    /// How often a defect was found.
    int count(Defect defect) const;
    /// All that was found, each name once, with a first message; for failures of tests.
    std::string summary() const;
  };
  /// Runs seeds 0 to count - 1; `after_each` after each clean run.
  template <class F>
  Outcome run_seeds(int count, F after_each) {
    Outcome outcome;
    for (int seed = 0; seed < count; ++seed) {
      try {
        run(static_cast<std::uint64_t>(seed));
        ++outcome.clean;
        after_each();
      } catch (const Found& found) {
        outcome.found.emplace_back(found.defect(), found.what());
      }
    }
    return outcome;
  }
  Outcome run_seeds(int count) {
    return run_seeds(count, [] {});
  }

 private:
  using Buffer = std::array<std::byte, kBytes>;
  std::unique_ptr<Module> module_;
  Image image_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  CheckedMemory memory_;
  std::vector<Launch> launches_;
  std::vector<Stream> streams_;
  ScheduleSettings settings_;
};

}  // namespace tutti::emulator

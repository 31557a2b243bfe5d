// Runs a litmus test on the emulated GPU, under many schedules.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/emulator/litmus/program.hpp"

namespace tutti::emulator::litmus {

/// One program, made ready for the machine with its checking memory.
class MachineRuns {
 public:
  /// Throws std::runtime_error if the program cannot be run (see to_ptx), or if the machine does not take its PTX.
  explicit MachineRuns(const Program& program);
  ~MachineRuns();
  MachineRuns(const MachineRuns&) = delete;
  MachineRuns& operator=(const MachineRuns&) = delete;

  struct Result {
    Outcome outcome;                  ///< if the run came to its end
    std::optional<std::string> race;  ///< what the checking memory says: a data race, by whatever name
    bool stuck = false;               ///< a poll did not end, which is no execution to the axioms
  };
  /// Throws std::runtime_error for a defect that is neither.
  Result run(std::uint64_t seed);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::emulator::litmus

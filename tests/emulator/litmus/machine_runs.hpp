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
    bool endless = false;             ///< a poll by weak loads, between which other threads do not run, does not end
  };
  /// Throws std::runtime_error for a defect that is no race, such as a hang.
  Result run(std::uint64_t seed);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::emulator::litmus

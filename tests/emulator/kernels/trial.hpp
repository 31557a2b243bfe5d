// Calls that all ranks make one after the other, with the code that nvcc made, in schedules drawn from seeds.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/check/report.hpp"
#include "tests/emulator/check/schedule.hpp"
#include "tests/emulator/kernels/kernel_code.hpp"
#include "tests/emulator/kernels/plant.hpp"
#include "tests/emulator/kernels/world.hpp"
#include "tests/kernel_cases.hpp"

namespace tutti::emulator {

struct TrialSetting {
  std::vector<cases::Case> calls;
  Geometry geometry;
  int threads = 64;               ///< of a block; one for each peer at least
  std::uint64_t packet_uses = 0;  ///< calls by packets that the communicator has behind it
  std::uint32_t resident = 0;     ///< blocks that a GPU holds at once; 0: any number
  Plant plant;                    ///< a defect; none: the kernels that ship
};

/// How one schedule ended.
struct Outcome {
  std::string text;              ///< what is wrong, or nothing
  std::optional<Defect> defect;  ///< its name, if the checker found it
  std::uint64_t instructions = 0;

  bool clean() const { return text.empty(); }
};

class KernelTrial {
 public:
  KernelTrial(const KernelCode& code, const TrialSetting& setting);
  ~KernelTrial();

  /// Runs the calls in the schedule of the seed, and compares every rank's results bit for bit.
  Outcome run(std::uint64_t seed);

  /// The defects that the plant's rank came by in the last run: its own, or all there are if it observes.
  std::vector<Plant> planted() const;

  /// From now on the calls run `by` where they ran `original`.
  void replace(const Function* original, const Function* by);
  /// The functions that the calls run.
  std::set<const Function*> functions() const;
  /// The instructions of `function` that touch memory or order it and are executed, in some order of the threads.
  std::set<std::size_t> executed(const Function* function);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::emulator

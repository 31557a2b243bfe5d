// The table of predictions as people read it.
#pragma once
#include <span>

#include "bench/predict/machine_file.hpp"
#include "bench/predict/rows.hpp"

namespace tutti::predict {

class PredictTable {
 public:
  PredictTable(const PredictArguments& arguments, const MachineFile& machine, int ranks);

  /// The lines above: that nothing was measured, of which machine, and where its numbers come from.
  std::string header() const;
  /// The rows of a call; the lines that open a collective first, if this is its first call.
  std::string lines(const Group& group);
  /// The lines below: what `auto` chooses, and where another algorithm would be faster.
  std::string footer(const std::vector<Group>& groups) const;

 private:
  std::string opening(const Question& question) const;
  std::string line(const Row& row) const;
  std::string remarks(std::span<const Group> groups) const;

  const PredictArguments& arguments_;
  const MachineFile& machine_;
  int ranks_;
  int algorithm_width_;
  const Group* last_ = nullptr;
};

/// The machines that the program carries, one line each.
std::string list_of_machines();

/// Every number of a machine, and where it comes from.
std::string list_of_sources(const MachineFile& machine);

}  // namespace tutti::predict

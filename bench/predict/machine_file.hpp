// Machines as files: JSON in which every number says where it comes from.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/machine.hpp"

namespace tutti::predict {

/// What is wrong with a file, in one line: file, key, what to do.
struct MachineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A machine, and by key where its numbers come from: "data sheet: ...", "published: ..." (both with an address),
/// "measured: ..." (with the date) or "estimate: ...".
struct MachineFile {
  timed::Machine machine;
  std::map<std::string, std::string> sources;
};

/// `file` is for messages. Throws MachineError if a key is missing, unknown or twice there, if a number has no source
/// or another unit, or makes no sense.
MachineFile read_machine(std::string_view text, const std::string& file);

/// What read_machine reads back. Throws MachineError if a number lacks its source.
std::string write_machine(const MachineFile& machine);

/// The machines that the program carries, by name.
std::vector<std::string> shipped_machines();

/// One of those by its name, or what a file holds whose name ends in .json or has a slash. Throws MachineError.
MachineFile machine_for(const std::string& name);

}  // namespace tutti::predict

// Which word of a block, and which line of a kernel, an instruction comes from.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

/// The sources of the kernels, as lines.
class Words {
 public:
  /// `root`: the folder of the tree.
  explicit Words(std::string root) : root_(std::move(root)) {}

  /// "signal of `block.signal(credit(prev), k + 1);`": the function of block_cuda.cuh that the kernel calls, and the
  /// line that calls it. "unknown" without line information.
  std::string text_of(const Module& module, const Function& function, const Instruction& instruction);

 private:
  const std::vector<std::string>& lines(const std::string& file);

  std::string root_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace tutti::emulator

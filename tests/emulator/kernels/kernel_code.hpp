// tutti's kernels as nvcc compiled them: the PTX that the library embeds, the very text that ptxas compiles.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "tests/emulator/machine/block.hpp"

namespace tutti::emulator {

/// A kernel in its module.
struct Entry {
  const Module* module = nullptr;
  const Function* function = nullptr;
};

class KernelCode {
 public:
  /// The kernels in a library, object or program for `architecture` (such as 90), or in PTX files. Throws
  /// std::runtime_error if a file cannot be read or has no PTX for it.
  KernelCode(const std::vector<std::string>& files, int architecture);

  /// A collective's kernel, or for send and recv the one that runs groups of up to 8 messages. Throws
  /// std::runtime_error if there is none.
  Entry collective(Kernel kernel) const;
  /// The kernel with room for a planted defect (defective_cuda.cu).
  Entry defective(Kernel kernel) const;

 private:
  Entry find(const std::string& part) const;

  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace tutti::emulator

// A litmus test as a PTX module, so that a machine can run it.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tests/emulator/litmus/program.hpp"

namespace tutti::emulator::litmus {

/// The threads of one GPU that may run beside each other, as one launch. An entry takes two addresses: of the memory
/// and of the results, which is 8 bytes for each register of an outcome.
struct Kernel {
  std::string entry;
  int gpu = 0;
  int blocks = 0, threads = 0;  ///< of a block; those that no thread of the program stands for end at once
};

struct PtxModule {
  std::string text;
  std::vector<Kernel> kernels;       ///< those of one GPU follow one another
  std::vector<std::size_t> offsets;  ///< of the locations in the memory, each on a line of its own
  std::size_t memory_bytes = 0;
  std::size_t results_bytes = 0;
};

/// Threads of a CTA are threads of a block; barriers are barrier.sync of all threads of the block. Throws
/// std::runtime_error if the program cannot be said so: a barrier that some threads of the CTA do not come to,
/// bar.arrive, or `after` that leaves out a thread of an earlier kernel on that GPU.
PtxModule to_ptx(const Program& program);

}  // namespace tutti::emulator::litmus

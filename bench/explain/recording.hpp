// A call of a collective, run in virtual time on real memory, and everything that its kernel did.
#pragma once
#include <cstddef>
#include <vector>

#include "bench/bandwidth.hpp"
#include "collectives/choose.hpp"
#include "kernels/machine.hpp"
#include "kernels/trace.hpp"

namespace tutti::explain {

/// What is to be explained. Elements are f32.
struct Subject {
  bench::Operation operation = bench::Operation::all_reduce;
  Algorithm algorithm = Algorithm::automatic;  ///< the one that the library takes beyond packets
  int ranks = 4;
  int root = 0;    ///< where there is one; the sender of a message, which goes to the rank after it
  int blocks = 0;  ///< 0: as many as the algorithm needs
  int cells = 0;   ///< of call.count elements; 0: one for each rank if the algorithm cuts them into chunks
  std::size_t cell_bytes = kLine;
  ReduceOp op = ReduceOp::sum;
  bool mapped = true;
  timed::Machine machine;
};

/// One of a rank's two buffers.
struct Buffer {
  bool used = false;  ///< whether the rank has an input, or an output
  std::vector<float> before, after;
};

struct Recording {
  Subject subject;  ///< with nothing left open
  Request request;
  Plan plan;
  timed::Trace trace;
  std::vector<Buffer> in, out;  ///< [rank]
  double end = 0;               ///< ns, when the last rank has returned

  std::size_t cell_elements() const { return subject.cell_bytes / sizeof(float); }
  /// What rank's cell `c` holds before the call.
  float input(int rank, int c) const;
};

/// Runs the kernel. Throws Error if the algorithm does not exist or cannot serve it, bench::ArgumentError if its slots
/// would not fit the memory that this may take.
Recording record(const Subject& subject);

/// A machine of round figures on which a cell takes about as long as a flag: for pictures, not for predictions.
timed::Machine plain_machine(int ranks);

/// "cell c of rank r holds c + r"
std::string values_text(const Subject& subject);

}  // namespace tutti::explain

// The smallest job: starts, makes a communicator, adds 8 bytes, ends. With tutti.
#include "collectives/tutti.hpp"

#include <cstdint>

#include "bench/startup/footprint.hpp"

int main() {
  using namespace tutti::bench::startup;
  const long long began = now();
  tutti::Session session;
  tutti::Communicator comm = session.communicator();
  std::int64_t sum = comm.rank() + 1;
  comm.all_reduce(&sum, &sum, 1, tutti::ReduceOp::sum);
  const long long reduced = now();
  comm.barrier();  // before it, a rank may not have touched all that it will
  report(comm.rank(), began, reduced);
  comm.barrier();
  return sum == comm.size() * (comm.size() + 1) / 2 ? 0 : 1;
}

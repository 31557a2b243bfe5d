#include <cstdio>

#include "collectives/tutti.hpp"

int main() {
  tutti::Session session;
  tutti::Communicator comm = session.communicator();
  auto x = comm.allocate<float>(4);
  for (int i = 0; i < 4; ++i) x[i] = float(i + comm.rank());
  comm.all_reduce(x.data(), x.data(), x.size(), tutti::ReduceOp::sum);
  std::printf("rank %d of %d: %g %g %g %g\n", comm.rank(), comm.size(), x[0], x[1], x[2], x[3]);
}

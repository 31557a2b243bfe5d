#include <cstdio>

#include "collectives/tutti.hpp"

int main() {
  tutti::Session session;  // this process's rank, under mpirun or alone
  tutti::Communicator comm = session.communicator();
  auto x = comm.allocate<float>(4);  // memory that every peer reaches
  for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(i + comm.rank());
  comm.all_reduce(x.data(), x.data(), x.size(), tutti::ReduceOp::sum);
  if (comm.rank() == 0) std::printf("%g %g %g %g\n", x[0], x[1], x[2], x[3]);
}

// The smallest job: starts, makes a communicator, adds 8 bytes, ends. With the MPI that it is compiled for.
#include <mpi.h>

#include <cstdint>

#include "bench/startup/footprint.hpp"

int main(int argc, char** argv) {
  using namespace tutti::bench::startup;
  const long long began = now();
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::int64_t sum = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
  const long long reduced = now();
  MPI_Barrier(comm);  // before it, a rank may not have touched all that it will
  report(rank, began, reduced);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return sum == size * (size + 1) / 2 ? 0 : 1;
}

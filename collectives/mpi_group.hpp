// An MPI communicator over a bootstrap's ranks.
#pragma once
#include <mpi.h>

#include "collectives/bootstrap.hpp"

namespace tutti {

/// A communicator over the processes of `bootstrap`, any of MPI_COMM_WORLD's in any order, whose errors are returned.
/// Its destructor is local and harmless after MPI was finalised.
class MpiGroup {
 public:
  /// Collective over `bootstrap`; throws ErrorCode::unsupported on all ranks alike if they are not processes of one MPI
  /// job.
  explicit MpiGroup(Bootstrap& bootstrap);
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;
  ~MpiGroup();
  MPI_Comm get() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  const int rank_;
  const int size_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace tutti

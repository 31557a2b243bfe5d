// MPI's one life per process.
#pragma once
#include <mpi.h>

#include <string>

namespace tutti {

/// True if a launcher (mpirun, srun, anything that speaks PMI) started this process, or MPI is initialised already.
bool mpi_is_present();

/// Initialises MPI if nobody has, and then sees to it that it is finalised at exit. Collective over the job on its
/// first call. Throws ErrorCode::unsupported if MPI is finalised already.
void require_mpi();

/// Unless `result` is MPI_SUCCESS, throws ErrorCode::mismatch for a message too long, else ErrorCode::system with MPI's
/// own words.
void check_mpi(int result, const char* call);

/// A communicator of its own over all processes of MPI_COMM_WORLD or some of another, whose errors are returned. Its
/// destructor is local and harmless after MPI was finalised.
class MpiWorld {
 public:
  MpiWorld();
  /// The processes of `whole` that give the same `group`, in the order of their `place`. Collective over `whole`, whose
  /// processes have all arrived. A negative group belongs to no world: get() is then MPI_COMM_NULL.
  MpiWorld(const MpiWorld& whole, int group, int place);
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;
  ~MpiWorld();
  MPI_Comm get() const { return world_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The communicator has operations that will never end: it is left alone from now on, and at exit nobody waits long
  /// for the other processes.
  void abandon();

 private:
  void describe();

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool abandoned_ = false;
};

}  // namespace tutti

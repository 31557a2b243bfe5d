#include "collectives/mpi_environment.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectives/deadline.hpp"
#include "collectives/error.hpp"

namespace tutti {
namespace {

bool initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}
bool finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

MPI_Comm farewell = MPI_COMM_NULL;
pid_t initializer = 0;
bool job_is_broken = false;

/// MPI_Finalize waits for every process. One that failed must not wait for others that wait for it, so it finalises
/// only if the others come as well, and else leaves it to the launcher to end the job.
void finalize(int status, void*) {
  if (finalized() || ::getpid() != initializer) return;
  constexpr double kPatience = 2;  // seconds
  const Deadline deadline(kPatience);
  MPI_Request everyone = MPI_REQUEST_NULL;
  MPI_Ibarrier(farewell, &everyone);
  for (int here = 0; here == 0;) {
    MPI_Test(&everyone, &here, MPI_STATUS_IGNORE);
    if (here == 0 && (status != 0 || job_is_broken) && deadline.passed()) return;
    if (here == 0) ::usleep(100);
  }
  MPI_Comm_free(&farewell);
  MPI_Finalize();
}

}  // namespace

bool mpi_is_present() {
  if (initialized()) return true;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS",
                               "MV2_COMM_WORLD_SIZE", "SLURM_PROCID"}) {
    if (::getenv(variable) != nullptr) return true;
  }
  return false;
}

void require_mpi() {
  if (finalized()) {
    throw Error(ErrorCode::unsupported,
                "MPI is finalised already and cannot be started twice in a process: make every tutti::Session before "
                "MPI_Finalize");
  }
  if (initialized()) return;
  int provided = MPI_THREAD_SINGLE;
  // The session's worker calls MPI too, never at the same time as another thread.
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &farewell), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(farewell, MPI_ERRORS_RETURN);
  initializer = ::getpid();
  ::on_exit(finalize, nullptr);
}

void check_mpi(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  int kind = MPI_SUCCESS;
  MPI_Error_class(result, &kind);
  if (kind == MPI_ERR_TRUNCATE) {
    throw Error(
        ErrorCode::mismatch,
        fmt::format("{}: a peer sent more than this rank expects: give equal counts and types on both ends", call));
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(ErrorCode::system, fmt::format("{} failed: {}", call, text));
}

MpiWorld::MpiWorld() {
  require_mpi();
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
  describe();
}

MpiWorld::MpiWorld(const MpiWorld& whole, int group, int place) {
  check_mpi(MPI_Comm_split(whole.world_, group < 0 ? MPI_UNDEFINED : group, place, &world_), "MPI_Comm_split");
  if (world_ != MPI_COMM_NULL) describe();
}

void MpiWorld::describe() {
  MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &size_);
}

void MpiWorld::abandon() {
  abandoned_ = true;
  job_is_broken = true;
}

MpiWorld::~MpiWorld() {
  if (world_ != MPI_COMM_NULL && !abandoned_ && !finalized()) MPI_Comm_free(&world_);
}

}  // namespace tutti

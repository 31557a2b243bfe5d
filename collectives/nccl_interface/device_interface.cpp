// NCCL's interface for kernels: who the ranks are can be told, the rest is refused.
#include "collectives/nccl_interface/communicator.hpp"
// clang-format off
#include <nccl_device/core.h>
#include <nccl_device/gin_barrier.h>
#include <nccl_device/ll_a2a.h>
#include <nccl_device/lsa_barrier.h>
// clang-format on

using namespace tutti::nccl_interface;

namespace {

ncclResult_t refuse(const char* function) {
  return report(function, ncclInvalidUsage, "tutti has no interface for kernels; call collectives from the host");
}

/// `count` ranks, of which a communicator's is number `rank`; nobody for what is no communicator.
ncclTeam_t everyone(ncclComm_t comm) {
  const CommunicatorPointer its = communicator_if_alive(comm);
  return its ? ncclTeam_t{its->size(), its->rank(), 1} : ncclTeam_t{0, 0, 1};
}

}  // namespace

extern "C" {

ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements_t*, ncclDevComm_t*) {
  return refuse(__func__);
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm_t*) { return refuse(__func__); }
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t, int, ncclLsaBarrierHandle_t*, ncclDevResourceRequirements_t*) {
  return refuse(__func__);
}
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int, ncclGinBarrierHandle_t*,
                                             ncclDevResourceRequirements_t*) {
  return refuse(__func__);
}
int ncclLLA2ACalcSlots(int, int) {
  refuse(__func__);
  return 0;
}
ncclResult_t ncclLLA2ACreateRequirement(int, int, ncclLLA2AHandle_t*, ncclDevResourceRequirements_t*) {
  return refuse(__func__);
}

/// All ranks reach each other's memory, so the team of those that do is everyone, and a rail is one rank.
ncclTeam_t ncclTeamWorld(ncclComm_t comm) { return everyone(comm); }
ncclTeam_t ncclTeamLsa(ncclComm_t comm) { return everyone(comm); }
ncclTeam_t ncclTeamRail(ncclComm_t comm) { return {1, 0, everyone(comm).nRanks}; }
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return everyone(comm).rank + (rank - team.rank) * team.stride;
}
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank) { return ncclTeamRankToWorld(comm, team, rank); }

}  // extern "C"

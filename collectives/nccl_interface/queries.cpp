// What a communicator knows of itself.
#include "collectives/nccl_interface/communicator.hpp"

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer(__func__, [&] {
    require(count, "count");
    *count = communicator(comm)->known_size();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return answer(__func__, [&] {
    require(device, "device");
    *device = communicator(comm)->device;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer(__func__, [&] {
    require(rank, "rank");
    communicator(comm)->known_size();
    *rank = communicator(comm)->rank();
    return ncclSuccess;
  });
}

}  // extern "C"

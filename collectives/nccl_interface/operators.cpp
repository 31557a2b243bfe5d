// The operators that programs make.
#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "collectives/nccl_interface/communicator.hpp"
#include "collectives/nccl_interface/types.hpp"

namespace tutti::nccl_interface {

int Scalings::add(const Scaling& scaling) {
  static std::atomic<unsigned> made = 0;
  constexpr unsigned kNumbers = static_cast<unsigned>(ncclMaxRedOp) - ncclNumOps;
  const std::lock_guard lock(mutex_);
  for (;;) {
    const int op = ncclNumOps + static_cast<int>(made++ % kNumbers);
    if (scalings_.try_emplace(op, scaling).second) return op;
  }
}

void Scalings::remove(int op) {
  const std::lock_guard lock(mutex_);
  if (scalings_.erase(op) == 0)
    throw Refusal(ncclInvalidArgument,
                  fmt::format("operator {} was not made on this communicator, or is destroyed", op));
}

std::optional<Scaling> Scalings::find(int op) {
  const std::lock_guard lock(mutex_);
  const auto found = scalings_.find(op);
  if (found == scalings_.end()) return {};
  return found->second;
}

}  // namespace tutti::nccl_interface

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return answer(__func__, [&] {
    const auto its = communicator(comm);
    its->require_ready();
    require(op, "op");
    require(scalar, "scalar");
    moved_type(datatype);
    Scaling scaling{datatype};
    if (residence == ncclScalarHostImmediate)
      std::memcpy(&scaling.bits, scalar, tutti::size_of(moved_type(datatype)));
    else if (residence == ncclScalarDevice)
      scaling.in_memory = scalar;
    else
      throw Refusal(ncclInvalidArgument, fmt::format("residence {} does not exist", static_cast<int>(residence)));
    *op = static_cast<ncclRedOp_t>(its->scalings.add(scaling));
    return ncclSuccess;
  });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return answer(__func__, [&] {
    const auto its = communicator(comm);
    if (op >= 0 && op < ncclNumOps)
      throw Refusal(ncclInvalidArgument, fmt::format("operator {} is one of nccl.h's own", static_cast<int>(op)));
    its->scalings.remove(op);
    return ncclSuccess;
  });
}

}  // extern "C"

// tutti's element types and operators in MPI's terms.
#pragma once
#include <mpi.h>

#include "kernels/types.hpp"

namespace tutti {

/// The MPI type that elements of `type` travel as; f16 and bf16 travel as MPI_UINT16_T.
MPI_Datatype mpi_type(DataType type);

/// The operators of the MPI backend: MPI's own, and user-defined ones for f16 and bf16, which MPI does not know. Those
/// compute like tutti's own kernels; MPI's own MIN and MAX promise nothing about NaN and signed zeros.
class MpiOps {
 public:
  MpiOps();
  MpiOps(const MpiOps&) = delete;
  MpiOps& operator=(const MpiOps&) = delete;
  ~MpiOps();
  /// `op` is not avg.
  MPI_Op get(DataType type, ReduceOp op) const { return ops_[static_cast<int>(type)][static_cast<int>(op)]; }

 private:
  MPI_Op ops_[kDataTypes][kReduceOps];
};

}  // namespace tutti

#include "collectives/mpi_operation.hpp"

#include <fmt/format.h>

#include "collectives/error.hpp"
#include "collectives/mpi_environment.hpp"
#include "collectives/mpi_types.hpp"

namespace tutti {

void check_receive(const MPI_Status& status, int count, DataType type) {
  const auto sent_type = static_cast<DataType>(status.MPI_TAG);
  int sent_count = 0;
  MPI_Get_count(&status, mpi_type(sent_type), &sent_count);
  if (sent_type == type && sent_count == count) return;
  throw Error(ErrorCode::mismatch,
              fmt::format("receive from rank {}: expected {} {}, got {} {}: send and receive equal counts of one type",
                          status.MPI_SOURCE, count, name_of(type), sent_count, name_of(sent_type)));
}

bool MpiOperation::test() {
  if (over_) return true;
  int over = 0;
  statuses_.resize(requests_.size());
  const int result = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &over, statuses_.data());
  if (result == MPI_SUCCESS && over == 0) return false;
  end(result);
  return true;
}

void MpiOperation::wait() {
  if (over_) return;
  statuses_.resize(requests_.size());
  end(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data()));
}

void MpiOperation::end(int result) {
  over_ = true;  // an error is thrown once
  if (result == MPI_ERR_IN_STATUS) {
    for (const MPI_Status& status : statuses_) {
      if (status.MPI_ERROR != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, "an asynchronous MPI call");
    }
  }
  check_mpi(result, "an asynchronous MPI call");
  for (const Receive& receive : receives_) check_receive(statuses_[receive.request], receive.count, receive.type);
  if (finish_) finish_();
}

}  // namespace tutti

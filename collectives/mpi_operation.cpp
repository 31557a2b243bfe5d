#include "collectives/mpi_operation.hpp"

#include <fmt/format.h>

#include <utility>

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

MpiOperation::~MpiOperation() {
  int finalized = 0;
  if (!types_.empty()) MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
}

bool MpiOperation::test() {
  for (int over = 0; ended_ < requests_.size(); ++ended_) {
    const int result = MPI_Test(&requests_[ended_], &over, &status_);
    if (result == MPI_SUCCESS && over == 0) return false;
    end_one(result);
  }
  finish();
  return true;
}

// One by one: Open MPI 4.1's MPI_Waitall never returns if a message was too long for its receive.
void MpiOperation::wait() {
  for (; ended_ < requests_.size(); ++ended_) end_one(MPI_Wait(&requests_[ended_], &status_));
  finish();
}

void MpiOperation::end_one(int result) {
  try {
    check_mpi(result, "an asynchronous MPI call");
    for (const Receive& receive : receives_) {
      if (receive.request == ended_) check_receive(status_, receive.count, receive.type);
    }
  } catch (const Error&) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
}

void MpiOperation::finish() {
  const std::function<void()> finish = std::exchange(finish_, nullptr);
  // An error is thrown once, when nothing is under way any more.
  if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  if (finish) finish();
}

}  // namespace tutti

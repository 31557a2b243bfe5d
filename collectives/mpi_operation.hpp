// MPI requests under way, and what has to follow them.
#pragma once
#include <mpi.h>

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "collectives/backend.hpp"
#include "kernels/types.hpp"

namespace tutti {

/// Messages carry their element type as their tag, so that the receiver can compare it.
inline int message_tag(DataType type) { return static_cast<int>(type); }

/// Throws ErrorCode::mismatch unless the received message holds `count` elements of `type`.
void check_receive(const MPI_Status& status, int count, DataType type);

class MpiOperation : public detail::Operation {
 public:
  ~MpiOperation() override;
  bool test() override;
  void wait() override;

  /// Where the next request is to be put; valid until the following call.
  MPI_Request* next_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  /// The latest request is a receive.
  void expect(int count, DataType type) { receives_.push_back({requests_.size() - 1, count, type}); }
  /// Memory that lives as long as the operation, aligned for every element type.
  char* scratch(std::size_t bytes) { return scratch_.emplace_back(new char[bytes]).get(); }
  /// Frees `type` at the operation's end.
  void keep(MPI_Datatype type) { types_.push_back(type); }
  /// What to do once all requests have ended well.
  void then(std::function<void()> finish) { finish_ = std::move(finish); }

 private:
  struct Receive {
    std::size_t request;
    int count;
    DataType type;
  };
  /// Takes note of how the request at `ended_` went.
  void end_one(int result);
  void finish();

  std::vector<MPI_Request> requests_;
  std::size_t ended_ = 0;  // requests before this one are over
  MPI_Status status_;      // of the latest to end
  std::vector<Receive> receives_;
  std::vector<std::unique_ptr<char[]>> scratch_;
  std::vector<MPI_Datatype> types_;
  std::function<void()> finish_;
  std::exception_ptr error_;
};

}  // namespace tutti

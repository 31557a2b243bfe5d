// The one exception of tutti.
#pragma once
#include <stdexcept>
#include <string>

namespace tutti {

enum class ErrorCode {
  invalid_argument,  ///< the caller's mistake, found on this rank before anything was changed
  mismatch,          ///< ranks called different things; the communicator is failed from then on
  timeout,           ///< a bounded wait ran out: a peer is late, missing or dead
  peer_failed,       ///< another rank of the communicator failed first and said so
  unsupported,       ///< a legal request that this backend, machine or build cannot serve
  system,            ///< memory, descriptors, MPI or CUDA refused
};

/// What happened, on which rank, and what to do about it, in one line.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace tutti

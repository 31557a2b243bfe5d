// How the functions of nccl.h answer: a result, and one line of text for ncclGetLastError and NCCL_DEBUG.
#pragma once
#include <nccl.h>

#include <stdexcept>
#include <string>

#include "collectives/error.hpp"

namespace tutti::nccl_interface {

/// What a function of nccl.h fails with.
class Refusal : public std::runtime_error {
 public:
  Refusal(ncclResult_t result, const std::string& why) : std::runtime_error(why), result_(result) {}
  ncclResult_t result() const { return result_; }

 private:
  ncclResult_t result_;
};

/// Throws ncclUnhandledCudaError, saying which call failed and why.
void check(cudaError_t result, const char* call);

/// The result that stands for an error of tutti.
ncclResult_t result_of(const Error& error);

/// Keeps "function: why" as the last error of this thread, and of the process for threads that have none; says it on
/// stderr if NCCL_DEBUG is WARN or more. Returns `result`.
ncclResult_t report(const char* function, ncclResult_t result, const std::string& why);

/// The same for the exception in flight.
ncclResult_t report_exception(const char* function);

/// Runs the body of a function of nccl.h. What it throws becomes the result.
template <class Body>
ncclResult_t answer(const char* function, const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_exception(function);
  }
}

/// Throws ncclInvalidArgument if `pointer`, an argument of that name, is null.
inline void require(const void* pointer, const char* name) {
  if (!pointer) throw Refusal(ncclInvalidArgument, std::string(name) + " is a null pointer");
}

}  // namespace tutti::nccl_interface

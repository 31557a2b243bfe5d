#include "collectives/nccl_interface/results.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>

#include "collectives/nccl_interface/communicator.hpp"

namespace tutti::nccl_interface {
namespace {

/// Warnings are printed for every level of NCCL_DEBUG but VERSION.
bool warns() {
  const char* const level = std::getenv("NCCL_DEBUG");
  if (!level) return false;
  const std::string_view name = level;
  return name == "WARN" || name == "INFO" || name == "ABORT" || name == "TRACE";
}

/// The newest error of any thread. Never destroyed: threads may fail while the process ends.
struct Newest {
  std::mutex mutex;
  std::string text;
};
Newest& newest() {
  static auto* const only = new Newest;
  return *only;
}

thread_local std::string asked_for;  ///< what ncclGetLastError gave this thread

}  // namespace

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  throw Refusal(ncclUnhandledCudaError,
                fmt::format("{}: {} ({})", call, cudaGetErrorString(result), cudaGetErrorName(result)));
}

ncclResult_t result_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument: return ncclInvalidArgument;
    case ErrorCode::mismatch:
    case ErrorCode::unsupported: return ncclInvalidUsage;
    case ErrorCode::timeout:
    case ErrorCode::peer_failed: return ncclRemoteError;
    case ErrorCode::system: return ncclSystemError;
  }
  return ncclInternalError;
}

ncclResult_t report(const char* function, ncclResult_t result, const std::string& why) {
  const std::string text = fmt::format("{}: {}", function, why);
  if (warns()) std::fprintf(stderr, "tutti nccl [%d] WARN %s\n", static_cast<int>(::getpid()), text.c_str());
  const std::lock_guard lock(newest().mutex);
  newest().text = text;
  return result;
}

ncclResult_t report_exception(const char* function) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return report(function, refusal.result(), refusal.what());
  } catch (const Error& error) {
    return report(function, result_of(error), error.what());
  } catch (const std::bad_alloc&) {
    return report(function, ncclSystemError, "no memory");
  } catch (const std::exception& exception) {
    return report(function, ncclInternalError, exception.what());
  }
}

}  // namespace tutti::nccl_interface

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  return answer(__func__, [&] {
    require(version, "version");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "a CUDA call failed (ncclGetLastError or NCCL_DEBUG=WARN says which)";
    case ncclSystemError: return "the system refused something (ncclGetLastError or NCCL_DEBUG=WARN says what)";
    case ncclInternalError: return "internal error: a bug in the library";
    case ncclInvalidArgument: return "invalid argument (ncclGetLastError or NCCL_DEBUG=WARN says which)";
    case ncclInvalidUsage: return "invalid or unsupported use (ncclGetLastError or NCCL_DEBUG=WARN says what)";
    case ncclRemoteError: return "another rank has failed or is missing";
    case ncclInProgress: return "still in progress";
    default: return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  std::string text;
  if (const auto communicator = communicator_if_alive(comm)) text = communicator->trouble();
  if (text.empty()) {
    const std::lock_guard lock(newest().mutex);
    text = newest().text;
  }
  asked_for = text;
  return asked_for.c_str();
}

void ncclResetDebugInit() {}  // NCCL_DEBUG is read anew for every line

}  // extern "C"

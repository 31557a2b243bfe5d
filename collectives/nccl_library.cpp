#include "collectives/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "collectives/error.hpp"

namespace tutti::nccl {
namespace {

constexpr const char* kOtherwise = "use backend native or mpi, or name the file of NCCL's library in TUTTI_NCCL";

/// Opens the first of the names that opens. It stays open: NCCL's threads may run its code until the process ends.
void* open_file(std::string& file) {
  const char* const named = std::getenv("TUTTI_NCCL");
  std::vector<std::string> names{"libnccl.so.2", "libnccl.so"};
  if (named && *named) names = {named};
  std::string tried;
  for (const std::string& name : names) {
    if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      file = name;
      return handle;
    }
    const char* const why = ::dlerror();
    tried += fmt::format("{}{}", tried.empty() ? "" : "; ", why ? why : name.c_str());
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("backend nccl: NCCL's library was not found ({}); {}", tried, kOtherwise));
}

template <class F>
void find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
}

}  // namespace

Library open_library() {
  Library found{};
  void* const handle = open_file(found.file);
  const auto require = [&](const char* name, auto& function) {
    find(handle, name, function);
    if (!function)
      throw Error(ErrorCode::unsupported,
                  fmt::format("backend nccl: {} has no {}; is it NCCL? {}", found.file, name, kOtherwise));
  };
  require("ncclGetVersion", found.get_version);
  if (found.get_version(&found.version) != Result::success || found.version < kLeastVersion)
    throw Error(ErrorCode::unsupported,
                fmt::format("backend nccl: {} is version {}; it must be {} or newer", found.file,
                            version_text(found.version), version_text(kLeastVersion)));
  require("ncclGetUniqueId", found.get_unique_id);
  require("ncclCommInitRankConfig", found.comm_init_rank_config);
  require("ncclCommDestroy", found.comm_destroy);
  require("ncclCommAbort", found.comm_abort);
  require("ncclCommGetAsyncError", found.comm_get_async_error);
  require("ncclGetErrorString", found.get_error_string);
  require("ncclGetLastError", found.get_last_error);
  require("ncclGroupStart", found.group_start);
  require("ncclGroupEnd", found.group_end);
  require("ncclAllReduce", found.all_reduce);
  require("ncclReduceScatter", found.reduce_scatter);
  require("ncclAllGather", found.all_gather);
  require("ncclBroadcast", found.broadcast);
  require("ncclReduce", found.reduce);
  require("ncclSend", found.send);
  require("ncclRecv", found.recv);
  find(handle, "ncclMemAlloc", found.mem_alloc);
  find(handle, "ncclMemFree", found.mem_free);
  find(handle, "ncclCommRegister", found.comm_register);
  find(handle, "ncclCommDeregister", found.comm_deregister);
  find(handle, "ncclGather", found.gather);
  find(handle, "ncclScatter", found.scatter);
  find(handle, "ncclAlltoAll", found.all_to_all);
  return found;
}

const Library& library() {
  static const Library once = open_library();
  return once;
}

std::string version_text(int version) {
  // Up to 2.8 a thousand per major version, then ten thousand.
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int rest = version >= 10000 ? version % 10000 : version % 1000;
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

}  // namespace tutti::nccl

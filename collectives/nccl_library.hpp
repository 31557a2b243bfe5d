// What tutti calls of NCCL, and the library itself, which is opened by name when somebody asks for it: a build needs
// neither its header nor its library. nccl_header.cpp holds these declarations against the header where there is one.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

struct ncclComm;

namespace tutti::nccl {

using Comm = ncclComm*;

/// ncclResult_t, as far as tutti tells results apart.
enum class Result : unsigned { success = 0, invalid_argument = 4, in_progress = 7 };
/// ncclDataType_t.
enum class Type : unsigned { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };
/// ncclRedOp_t.
enum class Op : unsigned { sum, prod, max, min, avg };

/// ncclUniqueId.
struct Id {
  char bytes[128];
};

/// The oldest version that serves: its fields of the configuration are those of Config, which newer ones accept.
inline constexpr int kLeastVersion = 21800;

/// ncclConfig_t as version 2.18 has it. A field of its value here is left to NCCL.
struct Config {
  static constexpr int kUnset = -2147483647 - 1;
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kLeastVersion;
  int blocking = kUnset;
  int cluster_size = kUnset;
  int least_blocks = kUnset;
  int most_blocks = kUnset;
  const char* network = nullptr;
  int split_share = kUnset;
};

/// The functions, by NCCL's names without the prefix. Those of the second part are null if the library is too old.
struct Library {
  int version = 0;
  std::string file;  ///< the name by which it was found

  Result (*get_version)(int*);
  Result (*get_unique_id)(Id*);
  Result (*comm_init_rank_config)(Comm*, int ranks, Id, int rank, Config*);
  Result (*comm_destroy)(Comm);
  Result (*comm_abort)(Comm);
  Result (*comm_get_async_error)(Comm, Result*);
  const char* (*get_error_string)(Result);
  const char* (*get_last_error)(Comm);
  Result (*group_start)();
  Result (*group_end)();
  Result (*all_reduce)(const void*, void*, std::size_t, Type, Op, Comm, cudaStream_t);
  Result (*reduce_scatter)(const void*, void*, std::size_t, Type, Op, Comm, cudaStream_t);
  Result (*all_gather)(const void*, void*, std::size_t, Type, Comm, cudaStream_t);
  Result (*broadcast)(const void*, void*, std::size_t, Type, int root, Comm, cudaStream_t);
  Result (*reduce)(const void*, void*, std::size_t, Type, Op, int root, Comm, cudaStream_t);
  Result (*send)(const void*, std::size_t, Type, int peer, Comm, cudaStream_t);
  Result (*recv)(void*, std::size_t, Type, int peer, Comm, cudaStream_t);

  Result (*mem_alloc)(void**, std::size_t);                                                // 2.19
  Result (*mem_free)(void*);                                                               // 2.19
  Result (*comm_register)(Comm, void*, std::size_t, void** handle);                        // 2.19
  Result (*comm_deregister)(Comm, void* handle);                                           // 2.19
  Result (*gather)(const void*, void*, std::size_t, Type, int root, Comm, cudaStream_t);   // 2.28
  Result (*scatter)(const void*, void*, std::size_t, Type, int root, Comm, cudaStream_t);  // 2.28
  Result (*all_to_all)(const void*, void*, std::size_t, Type, Comm, cudaStream_t);         // 2.28
};

/// Opens the library: TUTTI_NCCL names its file, else it is looked for as the loader does. Throws
/// ErrorCode::unsupported, saying what was tried, if there is none, it is too old, or it lacks a function.
Library open_library();

/// The library that this process uses, opened at the first call that does not throw.
const Library& library();

/// "2.28.9".
std::string version_text(int version);

}  // namespace tutti::nccl

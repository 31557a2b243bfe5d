// Holds nccl_library.hpp against NCCL's own header. Empty where there is none.
#if __has_include(<nccl.h>)
#include <nccl.h>

#include <type_traits>

#include "collectives/nccl_library.hpp"

namespace tutti::nccl {
namespace {

/// Passed alike: pointers, numbers of one size, structures of one size.
template <class Ours, class Theirs>
constexpr bool alike = (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) ||
                       (std::is_class_v<Ours> && std::is_class_v<Theirs> && sizeof(Ours) == sizeof(Theirs)) ||
                       ((std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(std::is_integral_v<Theirs> ||
                                                                             std::is_enum_v<Theirs>)&&sizeof(Ours) ==
                        sizeof(Theirs));

template <class Ours, class Theirs>
struct Calls : std::false_type {};
template <class R, class... Ours, class S, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct Calls<R (*)(Ours...), S (*)(Theirs...)>
    : std::bool_constant<alike<R, S> && (alike<Ours, Theirs> && ...)> {
};

#define TUTTI_SAME_CALL(ours, theirs) static_assert(Calls<decltype(Library::ours), decltype(&theirs)>::value)
TUTTI_SAME_CALL(get_version, ncclGetVersion);
TUTTI_SAME_CALL(get_unique_id, ncclGetUniqueId);
TUTTI_SAME_CALL(comm_init_rank_config, ncclCommInitRankConfig);
TUTTI_SAME_CALL(comm_destroy, ncclCommDestroy);
TUTTI_SAME_CALL(comm_abort, ncclCommAbort);
TUTTI_SAME_CALL(comm_get_async_error, ncclCommGetAsyncError);
TUTTI_SAME_CALL(get_error_string, ncclGetErrorString);
TUTTI_SAME_CALL(get_last_error, ncclGetLastError);
TUTTI_SAME_CALL(group_start, ncclGroupStart);
TUTTI_SAME_CALL(group_end, ncclGroupEnd);
TUTTI_SAME_CALL(all_reduce, ncclAllReduce);
TUTTI_SAME_CALL(reduce_scatter, ncclReduceScatter);
TUTTI_SAME_CALL(all_gather, ncclAllGather);
TUTTI_SAME_CALL(broadcast, ncclBroadcast);
TUTTI_SAME_CALL(reduce, ncclReduce);
TUTTI_SAME_CALL(send, ncclSend);
TUTTI_SAME_CALL(recv, ncclRecv);
#if NCCL_VERSION_CODE >= 21900
TUTTI_SAME_CALL(mem_alloc, ncclMemAlloc);
TUTTI_SAME_CALL(mem_free, ncclMemFree);
TUTTI_SAME_CALL(comm_register, ncclCommRegister);
TUTTI_SAME_CALL(comm_deregister, ncclCommDeregister);
#endif
#if NCCL_VERSION_CODE >= 22800
TUTTI_SAME_CALL(gather, ncclGather);
TUTTI_SAME_CALL(scatter, ncclScatter);
TUTTI_SAME_CALL(all_to_all, ncclAlltoAll);
#endif
#undef TUTTI_SAME_CALL

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return sizeof ours == sizeof theirs && static_cast<long>(ours) == static_cast<long>(theirs);
}
static_assert(same(Result::success, ncclSuccess) && same(Result::in_progress, ncclInProgress) &&
              same(Result::invalid_argument, ncclInvalidArgument));
static_assert(same(Type::i8, ncclInt8) && same(Type::u8, ncclUint8) && same(Type::i32, ncclInt32) &&
              same(Type::u32, ncclUint32) && same(Type::i64, ncclInt64) && same(Type::u64, ncclUint64) &&
              same(Type::f16, ncclFloat16) && same(Type::f32, ncclFloat32) && same(Type::f64, ncclFloat64) &&
              same(Type::bf16, ncclBfloat16));
static_assert(same(Op::sum, ncclSum) && same(Op::prod, ncclProd) && same(Op::max, ncclMax) && same(Op::min, ncclMin) &&
              same(Op::avg, ncclAvg));
static_assert(sizeof(Id) == sizeof(ncclUniqueId) && sizeof(Id) == NCCL_UNIQUE_ID_BYTES);

// Newer configurations begin with the older ones.
static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
static_assert(offsetof(Config, size) == offsetof(ncclConfig_t, size) &&
              offsetof(Config, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(Config, version) == offsetof(ncclConfig_t, version) &&
              offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking) &&
              offsetof(Config, cluster_size) == offsetof(ncclConfig_t, cgaClusterSize) &&
              offsetof(Config, least_blocks) == offsetof(ncclConfig_t, minCTAs) &&
              offsetof(Config, most_blocks) == offsetof(ncclConfig_t, maxCTAs) &&
              offsetof(Config, network) == offsetof(ncclConfig_t, netName) &&
              offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare));
static_assert(Config::kUnset == NCCL_CONFIG_UNDEF_INT);
constexpr ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
static_assert(Config{}.magic == theirs.magic);

}  // namespace
}  // namespace tutti::nccl
#endif

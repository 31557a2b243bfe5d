// Every PTX instruction that tutti writes itself, one per function. Addresses are of global memory: the own GPU's, a
// peer's mapped here, or pinned host memory.
//
// Three kinds of access, never mixed on one word while another thread may touch it (source: PTX ISA, "Memory
// Consistency Model"):
//   weak      payload. Races unless ordered by a barrier of the block or by a flag. Volatile in C++, so that the
//             compiler keeps the order in which several independent loads are put in flight.
//   relaxed   strong at system scope, orders nothing: polls, packets, boards.
//   release,  strong at system scope, on flags: what the block did before the release is seen by the block that
//   acquires acquire   it (each side ties its other threads to the one that signals or waits by a block barrier).
#pragma once
#include <cstdint>

namespace tutti::ptx {

struct Word16 {
  std::uint32_t x, y, z, w;
};

// ---- weak: payload --------------------------------------------------------------------------------------------------
// Inline rather than C++ assignments: nvcc splits a 16-byte assignment into four stores.

__device__ __forceinline__ Word16 load_16(const void* from) {
  Word16 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ void store_16(void* to, Word16 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ std::uint64_t load_8(const void* from) {
  std::uint64_t v;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
  return v;
}
__device__ __forceinline__ void store_8(void* to, std::uint64_t v) {
  asm volatile("st.global.u64 [%0], %1;" ::"l"(to), "l"(v) : "memory");
}
__device__ __forceinline__ std::uint32_t load_4(const void* from) {
  std::uint32_t v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}
__device__ __forceinline__ void store_4(void* to, std::uint32_t v) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}
__device__ __forceinline__ std::uint16_t load_2(const void* from) {
  std::uint16_t v;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(from) : "memory");
  return v;
}
__device__ __forceinline__ void store_2(void* to, std::uint16_t v) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(v) : "memory");
}
__device__ __forceinline__ std::uint8_t load_1(const void* from) {
  std::uint32_t v;  // PTX has no 8-bit registers; the load widens
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return static_cast<std::uint8_t>(v);
}
__device__ __forceinline__ void store_1(void* to, std::uint8_t v) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(to), "r"(static_cast<std::uint32_t>(v)) : "memory");
}

// ---- flags ----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void store_release_sys(std::uint64_t* flag, std::uint64_t v) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(v) : "memory");
}
__device__ __forceinline__ std::uint64_t load_acquire_sys(const std::uint64_t* flag) {
  std::uint64_t v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(flag) : "memory");
  return v;
}
/// For polls: an acquire would empty the L1 cache each time.
__device__ __forceinline__ std::uint64_t load_relaxed_sys(const std::uint64_t* word) {
  std::uint64_t v;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(word) : "memory");
  return v;
}
/// For boards and failure records, on which no synchronisation rests.
__device__ __forceinline__ void store_relaxed_sys(std::uint64_t* word, std::uint64_t v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(v) : "memory");
}

// ---- packets: 4 bytes of data and a 32-bit tag in one 8-byte scalar, the largest that is stored whole ---------------

__device__ __forceinline__ void store_packet(void* packet, std::uint64_t v) {
  asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(packet), "l"(v) : "memory");
}
__device__ __forceinline__ std::uint64_t load_packet(const void* packet) {
  std::uint64_t v;
  asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(v) : "l"(packet) : "memory");
  return v;
}

// ---- multimem: one address for the same place of all ranks, of which the switch reduces loads and replicates stores
// ---- Relaxed at system scope, from sm_90 on. Another address of the same memory is another proxy: fence_alias stands
// between accesses by the one and the other, beside the flags that order them. Sums of 16-bit types accumulate in f32.

#define TUTTI_MULTIMEM_LOAD(name, form)                                                   \
  __device__ __forceinline__ Word16 multimem_##name(const void* from) {                   \
    Word16 v;                                                                             \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." form " {%0, %1, %2, %3}, [%4];" \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                             \
                 : "l"(from)                                                              \
                 : "memory");                                                             \
    return v;                                                                             \
  }
TUTTI_MULTIMEM_LOAD(add_f32, "add.v4.f32")
TUTTI_MULTIMEM_LOAD(add_f16, "add.acc::f32.v4.f16x2")
TUTTI_MULTIMEM_LOAD(add_bf16, "add.acc::f32.v4.bf16x2")
#undef TUTTI_MULTIMEM_LOAD

#define TUTTI_MULTIMEM_LOAD(name, form, type, constraint)                                                            \
  __device__ __forceinline__ type multimem_##name(const void* from) {                                                \
    type v;                                                                                                          \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." form " %0, [%1];" : constraint(v) : "l"(from) : "memory"); \
    return v;                                                                                                        \
  }
TUTTI_MULTIMEM_LOAD(add_f64, "add.f64", double, "=d")
TUTTI_MULTIMEM_LOAD(add_u32, "add.u32", std::uint32_t, "=r")
TUTTI_MULTIMEM_LOAD(min_s32, "min.s32", std::uint32_t, "=r")
TUTTI_MULTIMEM_LOAD(max_s32, "max.s32", std::uint32_t, "=r")
TUTTI_MULTIMEM_LOAD(min_u32, "min.u32", std::uint32_t, "=r")
TUTTI_MULTIMEM_LOAD(max_u32, "max.u32", std::uint32_t, "=r")
TUTTI_MULTIMEM_LOAD(add_u64, "add.u64", std::uint64_t, "=l")
TUTTI_MULTIMEM_LOAD(min_s64, "min.s64", std::uint64_t, "=l")
TUTTI_MULTIMEM_LOAD(max_s64, "max.s64", std::uint64_t, "=l")
TUTTI_MULTIMEM_LOAD(min_u64, "min.u64", std::uint64_t, "=l")
TUTTI_MULTIMEM_LOAD(max_u64, "max.u64", std::uint64_t, "=l")
#undef TUTTI_MULTIMEM_LOAD

__device__ __forceinline__ void multimem_store_16(void* to, Word16 v) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}
__device__ __forceinline__ void fence_alias() { asm volatile("fence.proxy.alias;" ::: "memory"); }

// ---- time -----------------------------------------------------------------------------------------------------------

/// Nanoseconds; steps of up to about 1 us.
__device__ __forceinline__ std::uint64_t global_timer() {
  std::uint64_t v;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(v)::"memory");
  return v;
}
__device__ __forceinline__ void nanosleep(std::uint32_t nanoseconds) {
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds) : "memory");
}

}  // namespace tutti::ptx

// Faults that tests plant from outside, by the environment:
//
//   TUTTI_EMULATED_FAULTS=[RANK/]WHAT:N[,[RANK/]WHAT:N...]
//
// RANK: only in the process of that rank (OMPI_COMM_WORLD_RANK or TUTTI_RANK); without it in every process. WHAT:
//   allocation  the N-th allocation of device or pinned memory fails: out of memory
//   ipc_open    the N-th opening of another process's memory fails
//   launch      the N-th launch of a kernel fails
//   copy        the N-th copy fails
//   vanish      from the N-th on, stores of kernels into the memory of peers are lost, though access is granted
//   die         the process kills itself before the N-th strong store of its kernels into the memory of peers: what
//               went before is there, the flag that tells of it is not
//   slow        N microseconds pass before each such store
// The memory of a peer is another process's, or another device's.
#pragma once

#include <cuda_runtime_api.h>

namespace tutti::emulated {

/// What can be made to fail where it is called.
enum class FaultPoint { allocation, ipc_open, launch, copy };

/// Counts a call of this kind; throws Failure with the planted error if this is the one that must fail.
void count(FaultPoint point);

/// Whether anything is planted that store_into_peer would do.
bool faults_of_stores();

/// To be called before a kernel stores into the memory of a peer; false if the store is to be lost. May not return.
bool store_into_peer(bool strong);

}  // namespace tutti::emulated

// Sums of elements that each rank multiplies by a scalar of its own first: ncclRedOpCreatePreMulSum's operators.
//
// tutti's kernels have no such operator, so a rank multiplies into memory of its own with a small kernel, in the
// stream before the collective.
#pragma once
#include <nccl.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "kernels/types.hpp"

namespace tutti::nccl_interface {

/// What one rank multiplies by.
struct Scaling {
  ncclDataType_t named;             ///< as the caller calls the type
  DataType type;                    ///< of the elements and the scalar
  std::uint64_t bits = 0;           ///< the scalar, in the first bytes
  const void* in_memory = nullptr;  ///< where the kernel finds it instead
};

/// The operators that a communicator has beside nccl.h's own.
class Scalings {
 public:
  /// The number under which the operator is known; no other communicator of the process has it.
  int add(const Scaling& scaling);
  /// Throws ncclInvalidArgument if there is none of that number.
  void remove(int op);
  std::optional<Scaling> find(int op);

 private:
  std::mutex mutex_;
  std::map<int, Scaling> scalings_;
};

/// Loads the kernels on the current device: later, when peers may be waiting inside a kernel, it could not be done.
void load_scaling();

/// to[i] = from[i] * the scalar, for `count` elements; `to` may be `from`. On the current device, in `stream`.
void scale(const Scaling& scaling, const void* from, void* to, std::size_t count, cudaStream_t stream);

}  // namespace tutti::nccl_interface

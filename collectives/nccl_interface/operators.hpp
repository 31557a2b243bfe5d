// Operators that programs make: sums of elements that each rank multiplies by a scalar of its own first.
#pragma once
#include <nccl.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace tutti::nccl_interface {

/// What one rank multiplies by.
struct Scaling {
  ncclDataType_t type;              ///< of the elements and the scalar
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

}  // namespace tutti::nccl_interface

#pragma once

#include <cuda_runtime_api.h>

namespace tutti::emulated {

/// Something of the program that is ended once the last reference to it is given back, by a thread that does nothing
/// else. References are counted in the open, because programs and graphs hand them to one another.
class UserObject {
 public:
  /// With the given number of references.
  static UserObject& make(void* thing, cudaHostFn_t end, unsigned references);

  void retain(unsigned references) { references_ += references; }
  /// Throws Failure(cudaErrorInvalidValue) if there are fewer. May be the end of *this.
  void release(unsigned references);

 private:
  UserObject(void* thing, cudaHostFn_t end, unsigned references) : thing_(thing), end_(end), references_(references) {}

  void* thing_;
  cudaHostFn_t end_;
  unsigned long long references_;
};

/// Throws Failure(cudaErrorInvalidValue) for a handle that is none.
UserObject& user_object_of(cudaUserObject_t handle);

}  // namespace tutti::emulated

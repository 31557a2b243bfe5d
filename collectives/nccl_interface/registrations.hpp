// Memory that a program has registered with a communicator, by handle.
#pragma once
#include <cstddef>
#include <mutex>
#include <set>

namespace tutti::nccl_interface {

class Registrations {
 public:
  Registrations() = default;
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;
  ~Registrations();

  void* add(void* memory, std::size_t bytes);
  /// Throws ncclInvalidArgument if `handle` is none of them.
  void remove(void* handle);

 private:
  struct Memory {
    void* begin;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::set<Memory*> all_;
};

}  // namespace tutti::nccl_interface

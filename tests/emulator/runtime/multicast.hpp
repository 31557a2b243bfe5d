#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tests/emulator/runtime/address_space.hpp"
#include "tests/emulator/runtime/memory_objects.hpp"

namespace tutti::emulated {

/// Memory of several GPUs under one range of addresses, which multimem instructions reach all at once. Who belongs to
/// it and which memory is bound is in a file that every process has that imported it; each maps the memory for itself.
class Multicast {
 public:
  static constexpr std::string_view kFileName = "tutti-emulated-multicast";

  /// Throw Failure.
  static std::shared_ptr<Multicast> create(std::size_t gpus, std::size_t bytes);
  static std::shared_ptr<Multicast> open(std::shared_ptr<MemoryFile> file);
  ~Multicast();
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  const std::shared_ptr<MemoryFile>& file() const { return file_; }
  std::size_t bytes() const;
  /// Throws Failure(cudaErrorInvalidValue, cudaErrorIllegalState): it is in it, or there are as many as there may be.
  void add(int gpu);
  bool has(int gpu) const;
  /// Throw Failure(cudaErrorInvalidValue, cudaErrorIllegalState): not all GPUs were added, or the place is taken.
  void bind(std::size_t offset, const std::shared_ptr<MemoryObject>& memory, std::size_t memory_offset,
            std::size_t bytes);
  void unbind(int gpu, std::size_t offset, std::size_t bytes);

  /// Where this process finds the bytes from `offset` on in the memory of each GPU; fewer than gpus() if not all have
  /// bound memory there.
  std::vector<std::uintptr_t> replicas(std::size_t offset, std::size_t bytes);
  std::size_t gpus() const;

 private:
  struct Binding;
  struct Control;
  struct View {
    const std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::uint64_t serial = 0;
  };
  class Locked;

  explicit Multicast(std::shared_ptr<MemoryFile> file);
  void look_again();
  void drop_view(std::size_t slot);

  std::shared_ptr<MemoryFile> file_;
  Control* control_;
  std::mutex mutex_;
  std::uint64_t seen_ = 0;                                      ///< Control::changes, when views_ were made
  std::map<std::size_t, View> views_;                           ///< by slot of the binding
  std::map<std::size_t, std::shared_ptr<MemoryObject>> bound_;  ///< by this process
};

}  // namespace tutti::emulated

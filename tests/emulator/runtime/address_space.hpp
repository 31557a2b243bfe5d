#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::emulated {

/// Addresses of device memory in this process. Each is mapped twice: where the program sees it nobody may touch it, as
/// on a real machine, and at a constant distance, where the emulator works.
class AddressSpace {
 public:
  static constexpr std::size_t kGranularity = std::size_t{2} << 20;
  static constexpr std::size_t kBytes = std::size_t{1} << 40;

  /// The one of this process, made when first asked for; throws Failure if the system gives no addresses.
  static AddressSpace& instance();

  /// A range of free addresses, a multiple of the granularity long, at a multiple of `alignment`; throws
  /// Failure(cudaErrorMemoryAllocation) if none is left. A given `fixed` is preferred, as cuMemAddressReserve does.
  std::uintptr_t reserve(std::size_t bytes, std::size_t alignment = kGranularity, std::uintptr_t fixed = 0);
  void release(std::uintptr_t address, std::size_t bytes);

  /// Makes a part of a reserved range show a file's bytes, or nothing again.
  void map(std::uintptr_t address, std::size_t bytes, int file, std::size_t offset, bool is_private = false);
  /// Lets the host read there as well, as printf does its format; unmap() before release.
  void show(std::uintptr_t address, std::size_t bytes, int file);
  void unmap(std::uintptr_t address, std::size_t bytes);

  bool contains(std::uintptr_t address) const { return address - base_ < kBytes; }
  std::size_t slot(std::uintptr_t address) const { return (address - base_) / kGranularity; }
  /// Where the emulator finds what the program calls `address`; any other address is itself.
  std::byte* host_view(std::uintptr_t address) const {
    return reinterpret_cast<std::byte*>(contains(address) ? address + kBytes : address);
  }

 private:
  AddressSpace();
  std::uintptr_t base_ = 0;
};

/// A file in memory without a name, which is gone when the last process that has it is. Owns the descriptor.
class MemoryFile {
 public:
  MemoryFile() = default;
  explicit MemoryFile(std::size_t bytes);
  /// Takes over an open descriptor.
  static MemoryFile adopt(int file);
  MemoryFile(MemoryFile&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  ~MemoryFile();

  int file() const { return file_; }

 private:
  int file_ = -1;
};

}  // namespace tutti::emulated

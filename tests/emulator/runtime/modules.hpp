#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/ptx/fatbin.hpp"
#include "tests/emulator/ptx/program.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace tutti::emulated {

class FatBinary;

/// What ptxas says about a kernel in the machine code beside the PTX.
struct MachineCodeFacts {
  int registers = 0;
  std::size_t local_bytes = 0;
};

/// A __global__ function of a registered program.
class Kernel {
 public:
  Kernel(const FatBinary& binary, std::string name) : binary_(binary), name_(std::move(name)) {}

  const FatBinary& binary() const { return binary_; }
  const std::string& name() const { return name_; }
  /// Its code; throws Failure(cudaErrorNoKernelImageForDevice) if the binary has no PTX for the devices, and gives up
  /// with the reason if the PTX has what the emulator does not know.
  const emulator::Function& code() const;
  const emulator::Module& module() const;
  /// Of the machine code if there is any; else a guess, which is then marked as such.
  MachineCodeFacts facts() const;

  // What cudaFuncSetAttribute sets.
  std::atomic<int> most_dynamic_shared{48 << 10};
  std::atomic<int> preferred_carveout{-1};

 private:
  const FatBinary& binary_;
  std::string name_;
};

/// A __device__, __constant__ or __managed__ variable of a registered program.
struct RegisteredVariable {
  const FatBinary* binary = nullptr;
  std::string name;
  std::size_t bytes = 0;
  bool constant = false;
};

/// What __cudaRegisterFatBinary was given, with the kernels and variables that were registered for it.
class FatBinary {
 public:
  explicit FatBinary(const void* container);

  /// The PTX of the newest architecture that the devices can run; throws Failure(cudaErrorNoKernelImageForDevice).
  const emulator::Module& module() const;
  std::optional<MachineCodeFacts> facts(const std::string& kernel) const;

  Kernel& add_kernel(std::string name);

 private:
  const void* container_;
  mutable std::once_flag read_;
  mutable std::vector<emulator::EmbeddedCode> code_;
  mutable std::unique_ptr<emulator::Module> module_;
  mutable std::map<std::string, MachineCodeFacts> facts_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  void read() const;
};

/// The variables of one module in the memory of one device, with their first values.
class ModuleInstance {
 public:
  ModuleInstance(const emulator::Module& module, int device);
  ~ModuleInstance();

  /// Where each of Module::variables() is, as kernels see it.
  const std::vector<std::uintptr_t>& addresses() const { return addresses_; }
  std::uintptr_t address(const std::string& variable) const;

 private:
  std::vector<std::uintptr_t> addresses_;
  std::map<std::string, std::uintptr_t> by_name_;
  std::vector<AllocationPointer> allocations_;
};

/// By the address that the host's code knows them by (or a cudaKernel_t / cudaFunction_t, which is the Kernel itself).
/// Throw Failure(cudaErrorInvalidDeviceFunction), Failure(cudaErrorInvalidSymbol).
Kernel& kernel_of(const void* host_function);
const RegisteredVariable& variable_of(const void* host_variable);

}  // namespace tutti::emulated

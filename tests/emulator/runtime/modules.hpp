#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/emulator/machine/block.hpp"
#include "tests/emulator/ptx/program.hpp"
#include "tests/emulator/runtime/machine_code.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace tutti::emulated {

class FatBinary;

/// A __global__ function of a registered program.
class Kernel {
 public:
  Kernel(const FatBinary& binary, std::string name) : binary_(binary), name_(std::move(name)) {}

  const FatBinary& binary() const { return binary_; }
  const std::string& name() const { return name_; }
  /// Its code; throws Failure(cudaErrorNoKernelImageForDevice) if the binary has no PTX for the devices, and gives up
  /// with the reason if the PTX has what the emulator does not know.
  const emulator::Function& code() const;
  /// Of the machine code if there is any, else kGuessedRegisters.
  MachineCodeFacts facts() const;
  static constexpr int kGuessedRegisters = 40;

  // What cudaFuncSetAttribute sets.
  std::atomic<int> most_dynamic_shared{48 << 10};
  std::atomic<int> preferred_carveout{-1};

 private:
  const FatBinary& binary_;
  const std::string name_;
};

/// What __cudaRegisterFatBinary was given, with the kernels that were registered for it. It is read when first needed.
class FatBinary {
 public:
  /// `container`: what the wrapper that nvcc makes points to.
  explicit FatBinary(const void* container) : container_(container) {}

  /// The PTX of the newest architecture that the devices can run; throws Failure(cudaErrorNoKernelImageForDevice).
  const emulator::Module& module() const;
  int ptx_architecture() const { return read().ptx_architecture; }
  /// Of the machine code that such a device would run; 0 if there is none.
  int machine_code_architecture() const { return read().machine_code_architecture; }
  MachineCodeFacts facts(const std::string& kernel) const;

  Kernel& add_kernel(const std::string& name);

 private:
  struct Contents {
    std::unique_ptr<emulator::Module> module;
    int ptx_architecture = 0, machine_code_architecture = 0;
    std::map<std::string, MachineCodeFacts> facts;
  };
  const Contents& read() const;

  const void* const container_;
  mutable std::once_flag once_;
  mutable Contents contents_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

/// The variables of one module in the memory of one device, with their first values.
class ModuleInstance {
 public:
  ModuleInstance(const emulator::Module& module, int device);
  ~ModuleInstance();
  ModuleInstance(const ModuleInstance&) = delete;
  ModuleInstance& operator=(const ModuleInstance&) = delete;

  const emulator::Image& image() const { return image_; }
  /// Where a variable is, as kernels see it; throws Failure(cudaErrorInvalidSymbol).
  std::uintptr_t address(const std::string& variable) const;

 private:
  void initialize(const emulator::Variable& variable);

  emulator::Image image_;
  std::map<std::string, std::uintptr_t> by_name_;
  AllocationPointer memory_;
};

/// A __device__ or __constant__ variable of a registered program.
struct RegisteredVariable {
  const FatBinary* binary = nullptr;
  std::string name;
  std::size_t bytes = 0;
};

FatBinary& register_binary(const void* container);
void register_kernel(FatBinary& binary, const void* host_function, const std::string& name);
void register_variable(const FatBinary& binary, const void* host_variable, const std::string& name, std::size_t bytes);

/// By the address that the host's code knows them by; a cudaKernel_t or cudaFunction_t is the Kernel itself. They throw
/// Failure(cudaErrorInvalidDeviceFunction), Failure(cudaErrorInvalidSymbol).
Kernel& kernel_of(const void* host_function);
const RegisteredVariable& variable_of(const void* host_variable);

}  // namespace tutti::emulated

#include "tests/emulator/runtime/modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

#include "tests/emulator/ptx/fatbin.hpp"
#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

/// Leaked: programs unregister at exit, while threads of streams may still run.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<FatBinary>> binaries;
  std::map<const void*, Kernel*> kernels;
  std::set<const Kernel*> known;
  std::map<const void*, RegisteredVariable> variables;
};

Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

/// The machine code that a device of the architecture would run: of the same generation, and not newer.
const emulator::EmbeddedCode* best_machine_code(const std::vector<emulator::EmbeddedCode>& code, int architecture) {
  const emulator::EmbeddedCode* best = nullptr;
  for (const auto& one : code)
    if (one.kind == emulator::EmbeddedCode::Kind::cubin && one.architecture <= architecture &&
        one.architecture / 10 == architecture / 10 && (!best || best->architecture < one.architecture))
      best = &one;
  return best;
}

}  // namespace

const FatBinary::Contents& FatBinary::read() const {
  std::call_once(once_, [&] {
    const int architecture = 10 * settings().major + settings().minor;
    try {
      std::vector<emulator::EmbeddedCode> code = emulator::code_in_container(container_);
      if (const emulator::EmbeddedCode* machine_code = best_machine_code(code, architecture)) {
        contents_.machine_code_architecture = machine_code->architecture;
        contents_.facts = facts_in(machine_code->bytes);
      }
      if (const emulator::EmbeddedCode* ptx = emulator::best_ptx(code, architecture)) {
        contents_.ptx_architecture = ptx->architecture;
        contents_.module = std::make_unique<emulator::Module>(
            ptx->bytes, fmt::format("the program's PTX for sm_{}", ptx->architecture));
      }
    } catch (const std::runtime_error& error) {
      give_up(error.what());
    }
  });
  return contents_;
}

const emulator::Module& FatBinary::module() const {
  const Contents& contents = read();
  require(contents.module != nullptr, cudaErrorNoKernelImageForDevice);
  return *contents.module;
}

MachineCodeFacts FatBinary::facts(const std::string& kernel) const {
  const auto& facts = read().facts;
  const auto found = facts.find(kernel);
  if (found != facts.end() && found->second.registers > 0) return found->second;
  return {Kernel::kGuessedRegisters, 0};
}

Kernel& FatBinary::add_kernel(const std::string& name) {
  std::unique_ptr<Kernel>& kernel = kernels_[name];
  if (!kernel) kernel = std::make_unique<Kernel>(*this, name);
  return *kernel;
}

const emulator::Function& Kernel::code() const {
  const emulator::Module& module = binary_.module();
  require(module.contains(name_), cudaErrorInvalidDeviceFunction);
  try {
    return module.function(name_);
  } catch (const std::runtime_error& error) {
    give_up(error.what());
  }
}

MachineCodeFacts Kernel::facts() const { return binary_.facts(name_); }

ModuleInstance::ModuleInstance(const emulator::Module& module, int device) {
  image_.module = &module;
  std::size_t bytes = 0;
  std::vector<std::size_t> offsets;
  for (const emulator::Variable& variable : module.variables()) {
    if (variable.external)
      give_up(fmt::format("{} is declared extern in {}: variables of other modules are not known", variable.name,
                          module.name()));
    const std::size_t alignment = std::max<std::size_t>(variable.alignment, 256);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    offsets.push_back(bytes);
    bytes += variable.bytes;
  }
  if (bytes == 0) return;
  memory_ = allocate_on_device(device, bytes, Allocation::Kind::variable);
  // A kernel's printf, on the host's side, reads its format there.
  AddressSpace::instance().show(memory_->address, bytes, memory_->file->file());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    image_.variables.push_back(memory_->address + offsets[i]);
    by_name_[module.variables()[i].name] = memory_->address + offsets[i];
  }
  for (const emulator::Variable& variable : module.variables()) initialize(variable);
}

ModuleInstance::~ModuleInstance() {
  if (memory_ && AllocationTable::instance().remove(memory_->address)) release(memory_);
}

void ModuleInstance::initialize(const emulator::Variable& variable) {
  std::byte* const at = AddressSpace::instance().host_view(by_name_.at(variable.name));
  std::memset(at, 0, variable.bytes);
  std::memcpy(at, variable.initial.data(), std::min<std::size_t>(variable.initial.size(), variable.bytes));
  for (const auto& reference : variable.references) {
    const auto found = by_name_.find(reference.symbol);
    if (found == by_name_.end())
      give_up(fmt::format("{} holds the address of {}: only addresses of variables are known", variable.name,
                          reference.symbol));
    const std::uint64_t address = found->second + static_cast<std::uint64_t>(reference.addend);
    std::memcpy(at + reference.offset, &address, sizeof address);
  }
}

std::uintptr_t ModuleInstance::address(const std::string& variable) const {
  const auto found = by_name_.find(variable);
  require(found != by_name_.end(), cudaErrorInvalidSymbol);
  return found->second;
}

FatBinary& register_binary(const void* container) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return *all.binaries.emplace_back(std::make_unique<FatBinary>(container));
}

void register_kernel(FatBinary& binary, const void* host_function, const std::string& name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  Kernel& kernel = binary.add_kernel(name);
  all.kernels[host_function] = &kernel;
  all.known.insert(&kernel);
}

void register_variable(const FatBinary& binary, const void* host_variable, const std::string& name, std::size_t bytes) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.variables[host_variable] = {&binary, name, bytes};
}

Kernel& kernel_of(const void* host_function) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find(host_function);
  if (found != all.kernels.end()) return *found->second;
  auto* const itself = static_cast<Kernel*>(const_cast<void*>(host_function));
  require(all.known.count(itself) != 0, cudaErrorInvalidDeviceFunction);
  return *itself;
}

const RegisteredVariable& variable_of(const void* host_variable) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const auto found = all.variables.find(host_variable);
  require(found != all.variables.end(), cudaErrorInvalidSymbol);
  return found->second;
}

}  // namespace tutti::emulated

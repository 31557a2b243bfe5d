#include "tests/emulator/runtime/kernel_memory.hpp"

#include "tests/emulator/runtime/multicast.hpp"

namespace tutti::emulated {
namespace {

bool is_of_peer(const Allocation& allocation, int device) {
  if (allocation.kind == Allocation::Kind::imported) return true;
  if (allocation.kind == Allocation::Kind::virtual_map)
    return !static_cast<const MemoryObject*>(allocation.object.get())->counted_on || allocation.device != device;
  return !allocation.on_host() && allocation.device != device;
}

}  // namespace

std::uint64_t KernelMemory::look_up(const emulator::Thread& t, const emulator::Instruction& i, std::uint64_t address,
                                    std::uint64_t bytes, bool write, std::uint64_t now) {
  // A generic address may be of the block itself, which the machine keeps in the host's memory.
  const auto inside = [&](std::span<const std::byte> space) {
    const auto begin = reinterpret_cast<std::uint64_t>(space.data());
    return address >= begin && address - begin + bytes <= space.size();
  };
  of_peer_ = false;
  if (i.space == emulator::Space::generic) {
    if (inside(t.block->shared()) || inside(t.block->stack())) return address;
    if (!write && inside(t.block->launch().parameters)) return address;
  }
  const AllocationPointer found = AllocationTable::instance().find(address);
  if (found && found->kind == Allocation::Kind::multicast)
    throw IllegalAddress(t, fmt::format("{:#x} is multicast memory, which only multimem may touch", address));
  if (!found || !found->holds(address, bytes) || !may_touch(*found, device_, write))
    throw IllegalAddress(t, fmt::format("{} {} bytes at {:#x}: {}", write ? "writes" : "reads", bytes, address,
                                        why_not(device_, address, bytes, write)));
  if (generation_ != now) known_ = {};
  generation_ = now;
  Known& known = known_[next_known_++ % known_.size()];
  known.begin = found->address;
  known.end = found->address + found->bytes;
  known.distance = reinterpret_cast<std::uint64_t>(AddressSpace::instance().host_view(address)) - address;
  known.may_write = may_touch(*found, device_, true);
  known.of_peer = of_peer_ = is_of_peer(*found, device_);
  return address + known.distance;
}

std::vector<std::uintptr_t> KernelMemory::replicas_at(const emulator::Thread& t, const emulator::Instruction& i,
                                                      std::uint64_t address, int device) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(emulator::bytes_of(i.type)) * i.vector;
  const AllocationPointer found = AllocationTable::instance().find(address);
  if (!found || found->kind != Allocation::Kind::multicast || !found->holds(address, bytes) ||
      !may_touch(*found, device, i.kind != emulator::Kind::multimem_load))
    throw IllegalAddress(t,
                         fmt::format("multimem at {:#x}, which is no multicast memory of device {}", address, device));
  Multicast& multicast = *static_cast<MemoryObject*>(found->object.get())->multicast;
  std::vector<std::uintptr_t> replicas = multicast.replicas(found->file_offset + (address - found->address), bytes);
  if (replicas.size() != multicast.gpus())
    throw IllegalAddress(t, fmt::format("multimem at {:#x}, where {} of {} GPUs have bound memory", address,
                                        replicas.size(), multicast.gpus()));
  return replicas;
}

}  // namespace tutti::emulated

// Accesses to memory: addresses of every space, alignment, and values between registers and the Memory.
#pragma once
#include "tests/emulator/machine/machine.hpp"

namespace tutti::emulator {

template <class Memory>
std::uint64_t Machine<Memory>::address(Thread& t, const Instruction& i) const {
  const std::uint64_t value = t.slots[i.address] + static_cast<std::uint64_t>(i.offset);
  const auto within = [&](std::span<const std::byte> space, const char* name) {
    const std::uint64_t offset = static_cast<std::uint32_t>(value);
    const std::uint64_t bytes = static_cast<std::uint64_t>(bytes_of(i.type)) * i.vector;
    if (offset + bytes > space.size())
      throw Fault(
          t, fmt::format("out of bounds: {} bytes at {} of {} bytes of {} memory", bytes, offset, space.size(), name));
    return reinterpret_cast<std::uint64_t>(space.data()) + offset;
  };
  switch (i.space) {
    case Space::shared: return within(t.block->shared(), "shared");
    case Space::local: return within(t.block->local(t), "local");
    case Space::param: return within(t.block->launch().parameters, "parameter");
    case Space::generic:
    case Space::global:
    case Space::constant: break;
  }
  return value;
}

template <class Memory>
void Machine<Memory>::check_alignment(const Thread& t, const Instruction& i, std::uint64_t address) const {
  const std::uint64_t bytes = static_cast<std::uint64_t>(bytes_of(i.type)) * i.vector;
  if (bytes != 0 && address % bytes != 0)
    throw Fault(t, fmt::format("misaligned: {} bytes at address {:#x}", bytes, address));
}

template <class Memory>
void Machine<Memory>::put(Thread& t, const Instruction& i, const std::uint64_t* values) const {
  if (i.type == Type::b128) {
    for (int k = 0; k < i.vector; ++k) t.slots[i.to[k]] = values[2 * k], t.slots[i.to[k] + 1] = values[2 * k + 1];
    return;
  }
  for (int k = 0; k < i.vector; ++k) t.slots[i.to[k]] = is_signed(i.type) ? extended(values[k], i.type) : values[k];
}

template <class Memory>
void Machine<Memory>::take(const Thread& t, const Instruction& i, std::uint64_t* values) const {
  if (i.type == Type::b128) {
    for (int k = 0; k < i.vector; ++k) values[2 * k] = t.slots[i.from[k]], values[2 * k + 1] = t.slots[i.from[k] + 1];
    return;
  }
  for (int k = 0; k < i.vector; ++k) values[k] = t.slots[i.from[k]];
}

template <class Memory>
void Machine<Memory>::load_parameter(Thread& t, const Instruction& i) {
  const std::span<const std::byte> all = t.frames.empty() ? t.block->launch().parameters : t.parameters;
  const std::uint64_t at = static_cast<std::uint32_t>(t.slots[i.address] + static_cast<std::uint64_t>(i.offset));
  const auto width = static_cast<std::size_t>(bytes_of(i.type));
  if (at + width * i.vector > all.size())
    throw Fault(t, fmt::format("reads {} bytes at {} of {} bytes of parameters", width * i.vector, at, all.size()));
  std::uint64_t values[kMostValues] = {};
  const std::size_t words = i.type == Type::b128 ? 2 : 1;
  for (std::size_t k = 0; k < i.vector; ++k) std::memcpy(values + k * words, all.data() + at + k * width, width);
  put(t, i, values);
}

template <class Memory>
void Machine<Memory>::load(Thread& t, const Instruction& i) {
  if (i.space == Space::param) return load_parameter(t, i);
  const std::uint64_t from = address(t, i);
  check_alignment(t, i, from);
  std::uint64_t values[kMostValues] = {};
  memory_.load(t, i, from, values);
  put(t, i, values);
}

template <class Memory>
void Machine<Memory>::store(Thread& t, const Instruction& i) {
  if (i.space == Space::param) throw Fault(t, "a store to parameters");
  const std::uint64_t to = address(t, i);
  check_alignment(t, i, to);
  std::uint64_t values[kMostValues];
  take(t, i, values);
  memory_.store(t, i, to, values);
}

template <class Memory>
void Machine<Memory>::atomic(Thread& t, const Instruction& i) {
  const std::uint64_t at = address(t, i);
  check_alignment(t, i, at);
  const std::uint64_t old = memory_.atomic(t, i, at, t.slots[i.from[0]], i.from_count > 1 ? t.slots[i.from[1]] : 0);
  if (i.to_count != 0) t.slots[i.to[0]] = extended(old, i.type);
}

template <class Memory>
void Machine<Memory>::multimem(Thread& t, const Instruction& i) {
  const std::uint64_t at = address(t, i);
  check_alignment(t, i, at);
  std::uint64_t values[kMostValues] = {};
  if (i.kind == Kind::multimem_load) {
    memory_.multimem_load(t, i, at, values);
    return put(t, i, values);
  }
  take(t, i, values);
  if (i.kind == Kind::multimem_store) return memory_.multimem_store(t, i, at, values);
  memory_.multimem_reduce(t, i, at, values);
}

template <class Memory>
void Machine<Memory>::convert_address(Thread& t, const Instruction& i) const {
  const std::uint64_t value = t.slots[i.from[0]];
  std::uint64_t base = 0, bytes = 0;
  switch (i.space) {
    case Space::shared:
      base = reinterpret_cast<std::uint64_t>(t.block->shared().data());
      bytes = t.block->shared().size();
      break;
    case Space::local:
      base = reinterpret_cast<std::uint64_t>(t.block->local(t).data());
      bytes = t.block->local(t).size();
      break;
    case Space::param:
      base = reinterpret_cast<std::uint64_t>(t.block->launch().parameters.data());
      bytes = t.block->launch().parameters.size();
      break;
    case Space::generic:
    case Space::global:
    case Space::constant: break;
  }
  if (i.kind == Kind::to_generic) {
    t.slots[i.to[0]] = value + base;
  } else if (i.kind == Kind::from_generic) {
    t.slots[i.to[0]] = value - base;
  } else {
    const auto inside = [value](std::span<const std::byte> space) {
      const auto begin = reinterpret_cast<std::uint64_t>(space.data());
      return value >= begin && value - begin < space.size();
    };
    const bool elsewhere = inside(t.block->shared()) || inside(t.block->stack());
    t.slots[i.to[0]] = i.space == Space::global ? !elsewhere : base != 0 && value >= base && value - base < bytes;
  }
}

}  // namespace tutti::emulator

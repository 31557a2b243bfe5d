// Memory that is the host's: strong accesses are the host's atomics, since other threads and processes take part.
#pragma once
#include <atomic>
#include <concepts>

#include "tests/emulator/machine/machine.hpp"

namespace tutti::emulator {

/// `Bounds` says what a device may touch: void check(thread, instruction, address, bytes, bool write), which throws
/// Fault; it is asked for global addresses only. Replicas of multicast memory are asked of it too: f(address) for each
/// by for_each_replica(thread, instruction, address, f).
template <class Bounds>
class DirectMemory {
 public:
  explicit DirectMemory(Bounds& bounds) : bounds_(bounds) {}

  void load(Thread& t, const Instruction& i, std::uint64_t from, std::uint64_t* values) {
    check(t, i, from, false);
    for_each_element(t, i, [&](std::uint64_t offset, int value, int bytes) {
      values[value] = load_element(from + offset, bytes, i.order);
    });
  }
  void store(Thread& t, const Instruction& i, std::uint64_t to, const std::uint64_t* values) {
    check(t, i, to, true);
    for_each_element(t, i, [&](std::uint64_t offset, int value, int bytes) {
      store_element(to + offset, bytes, i.order, values[value]);
    });
  }
  std::uint64_t atomic(Thread& t, const Instruction& i, std::uint64_t at, std::uint64_t operand, std::uint64_t next) {
    check(t, i, at, true);
    return modify(t, i, at, operand, next);
  }

  void multimem_load(Thread& t, const Instruction& i, std::uint64_t from, std::uint64_t* values) {
    bool first = true;
    bounds_.for_each_replica(t, i, from, [&](std::uint64_t replica) {
      for_each_element(t, i, [&](std::uint64_t offset, int value, int bytes) {
        const std::uint64_t bits = extended(load_element(replica + offset, bytes, i.order), i.type);
        values[value] =
            first ? bits : apply_atomic(static_cast<AtomicOperation>(i.operation), i.type, values[value], bits, 0);
      });
      first = false;
    });
  }
  void multimem_store(Thread& t, const Instruction& i, std::uint64_t to, const std::uint64_t* values) {
    bounds_.for_each_replica(t, i, to, [&](std::uint64_t replica) {
      for_each_element(t, i, [&](std::uint64_t offset, int value, int bytes) {
        store_element(replica + offset, bytes, i.order, values[value]);
      });
    });
  }
  void multimem_reduce(Thread& t, const Instruction& i, std::uint64_t at, const std::uint64_t* values) {
    bounds_.for_each_replica(t, i, at, [&](std::uint64_t replica) {
      for (int k = 0; k < i.vector; ++k)
        modify(t, i, replica + static_cast<std::uint64_t>(k * bytes_of(i.type)), values[k], 0);
    });
  }

  void fence(Thread&, const Instruction&) { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void proxy_fence(Thread&, const Instruction&) { std::atomic_thread_fence(std::memory_order_seq_cst); }
  // The threads of a block run in one thread of the host.
  void barrier_arrive(Thread&, int) {}
  void barrier_complete(Block&, int) {}
  void warp_barrier(std::span<Thread>, std::uint32_t) {}

 private:
  void check(const Thread& t, const Instruction& i, std::uint64_t address, bool write) {
    if (i.space != Space::global && i.space != Space::generic && i.space != Space::constant) return;
    const auto bytes = static_cast<std::uint64_t>(bytes_of(i.type)) * i.vector;
    const auto inside = [&](std::span<const std::byte> space) {
      const auto begin = reinterpret_cast<std::uint64_t>(space.data());
      return address >= begin && address - begin + bytes <= space.size();
    };
    if (i.space == Space::generic && (inside(t.block->shared()) || inside(t.block->stack()))) return;
    if (!write && inside(t.block->launch().parameters)) return;
    bounds_.check(t, i, address, bytes, write);
  }

  /// f(offset, index of the value, bytes) for each word of at most 8 bytes.
  template <class F>
  static void for_each_element(const Thread& t, const Instruction& i, F f) {
    const int bytes = bytes_of(i.type);
    if (bytes <= 8) {
      for (int k = 0; k < i.vector; ++k) f(static_cast<std::uint64_t>(k * bytes), k, bytes);
      return;
    }
    if (i.strong()) throw Fault(t, "a strong access of 128 bits, which the emulator does not have");
    for (int k = 0; k < 2 * i.vector; ++k) f(static_cast<std::uint64_t>(8 * k), k, 8);
  }

  template <class T>
  static std::uint64_t load_as(std::uint64_t from, Order order) {
    if (order == Order::weak) {
      T value;
      std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof value);
      return value;
    }
    const std::atomic_ref<T> word(*reinterpret_cast<T*>(from));
    return word.load(order == Order::relaxed ? std::memory_order_relaxed : std::memory_order_seq_cst);
  }
  static std::uint64_t load_element(std::uint64_t from, int bytes, Order order) {
    switch (bytes) {
      case 1: return load_as<std::uint8_t>(from, order);
      case 2: return load_as<std::uint16_t>(from, order);
      case 4: return load_as<std::uint32_t>(from, order);
      default: return load_as<std::uint64_t>(from, order);
    }
  }
  template <class T>
  static void store_as(std::uint64_t to, Order order, std::uint64_t bits) {
    const T value = static_cast<T>(bits);
    if (order == Order::weak) {
      std::memcpy(reinterpret_cast<void*>(to), &value, sizeof value);
      return;
    }
    const std::atomic_ref<T> word(*reinterpret_cast<T*>(to));
    word.store(value, order == Order::relaxed ? std::memory_order_relaxed : std::memory_order_release);
  }
  static void store_element(std::uint64_t to, int bytes, Order order, std::uint64_t bits) {
    switch (bytes) {
      case 1: return store_as<std::uint8_t>(to, order, bits);
      case 2: return store_as<std::uint16_t>(to, order, bits);
      case 4: return store_as<std::uint32_t>(to, order, bits);
      default: return store_as<std::uint64_t>(to, order, bits);
    }
  }

  template <class T>
  static std::uint64_t modify_as(const Instruction& i, std::uint64_t at, std::uint64_t operand, std::uint64_t next) {
    const std::atomic_ref<T> word(*reinterpret_cast<T*>(at));
    T old = word.load();
    while (!word.compare_exchange_weak(
        old, static_cast<T>(apply_atomic(static_cast<AtomicOperation>(i.operation), i.type, extended(old, i.type),
                                         extended(operand, i.type), extended(next, i.type))))) {
    }
    return old;
  }
  static std::uint64_t modify(const Thread& t, const Instruction& i, std::uint64_t at, std::uint64_t operand,
                              std::uint64_t next) {
    switch (bytes_of(i.type)) {
      case 2: return modify_as<std::uint16_t>(i, at, operand, next);
      case 4: return modify_as<std::uint32_t>(i, at, operand, next);
      case 8: return modify_as<std::uint64_t>(i, at, operand, next);
      default: throw Fault(t, "an atomic of a width that the emulator does not have");
    }
  }

  Bounds& bounds_;
};

}  // namespace tutti::emulator

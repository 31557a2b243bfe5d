// Where a trainer keeps its numbers, and the order in which things happen to them.
//
// A trainer's source is the same for the CPU's memory and a GPU's: it holds pointers that it never follows, has Maths
// work on them, and moves numbers to and from the host with upload and download. On a GPU all of that goes to one
// stream and runs later, in order; download and wait are where the host meets it. On the CPU everything is done on
// return.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "collectives/tutti.hpp"

namespace tutti::trainers {

/// One thread at a time uses a device. Everything throws tutti::Error if the GPU refuses.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual bool on_gpu() const = 0;
  /// What a run says that it is on.
  virtual std::string name() const = 0;
  /// What a collective on this device's memory takes as its options, so that it runs in the device's order.
  virtual Options options() const = 0;

  /// `bytes` zeroed bytes; null for none. It may be released while work that uses it is under way in the device's
  /// order; what a side order uses, only after a join with that. It must not outlive the device.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;
  /// From the host's memory, which may be changed on return.
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  /// To the host's memory. Returns when it is there, and thus when everything before it has ended.
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  /// Returns when everything has ended.
  virtual void wait() = 0;

  // Side orders, of which a message that waits for its receiver holds up only its own. On the CPU a handle does that.

  static constexpr int kSides = 2;
  /// Everything from now on in side order `side` comes after all of the device's order so far. Returns the options of a
  /// collective in that order.
  virtual Options fork(int side) = 0;
  /// A point in a side order.
  using Mark = std::shared_ptr<void>;
  /// Moves `mark`, new if null, to the end of a side order.
  virtual void set(Mark& mark, int side) = 0;
  /// Everything from now on in the device's order comes after `mark`; null: nothing to wait for.
  virtual void join(const Mark& mark) = 0;
};

/// Memory of this rank, or memory that every peer can reach, on a device.
template <class T>
class Memory {
 public:
  Memory() = default;
  Memory(Device& device, std::size_t count)
      : own_(device.allocate(count * sizeof(T))), data_(static_cast<T*>(own_.get())), count_(count) {}
  /// Of the session's device. Collective: every rank of `comm` calls it; `count` may differ.
  Memory(Communicator& comm, std::size_t count)
      : shared_(comm.allocate<T>(count)), data_(shared_.data()), count_(count) {}
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    own_ = std::move(other.own_);
    shared_ = std::move(other.shared_);
    data_ = std::exchange(other.data_, nullptr);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  /// Not for the host to follow, unless it knows that the device is the CPU.
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  std::shared_ptr<void> own_;
  Buffer<T> shared_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Makes `count` numbers in every rank's host memory those of rank 0, through the device's memory. Collective.
template <class T>
void broadcast_host(Communicator& comm, Device& device, T* numbers, std::size_t count) {
  if (!device.on_gpu()) return comm.broadcast(numbers, count, 0);
  const Memory<T> there(device, count);
  device.upload(there.data(), numbers, count * sizeof(T));
  comm.broadcast(there.data(), count, 0, device.options());
  device.download(numbers, there.data(), count * sizeof(T));
}

}  // namespace tutti::trainers

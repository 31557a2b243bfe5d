#include "tests/emulator/runtime/operations.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/events.hpp"
#include "tests/emulator/runtime/launch.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace tutti::emulated {
namespace {

/// A box of bytes in memory: rows and planes of it lie apart.
struct Box {
  std::uintptr_t address;
  std::size_t width, height, depth, pitch, slice;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  /// From the first byte to behind the last.
  std::size_t extent() const { return empty() ? 0 : (depth - 1) * slice + (height - 1) * pitch + width; }
  std::uintptr_t row(std::size_t z, std::size_t y) const { return address + z * slice + y * pitch; }
};

Box target_of(const Copy& copy) {
  return {reinterpret_cast<std::uintptr_t>(copy.to), copy.width, copy.height, copy.depth, copy.to_pitch, copy.to_slice};
}
Box source_of(const Copy& copy) {
  return {reinterpret_cast<std::uintptr_t>(copy.from),
          copy.width,
          copy.height,
          copy.depth,
          copy.from_pitch,
          copy.from_slice};
}
Box target_of(const Fill& fill) {
  return {reinterpret_cast<std::uintptr_t>(fill.to),
          fill.width * fill.element,
          fill.height,
          fill.depth,
          fill.pitch,
          fill.slice};
}

void check_box(const Box& box) {
  if (box.empty()) return;
  require(box.address != 0, cudaErrorInvalidValue);
  require(box.height <= 1 || box.pitch >= box.width, cudaErrorInvalidPitchValue);
  require(reachable(box.address, box.extent()), cudaErrorInvalidValue);
}

/// The end of a copy that `kind` says is a device's, or the host's, must be that.
void check_side(std::uintptr_t address, bool device_claimed) {
  const AllocationPointer found = AllocationTable::instance().find(address);
  if (device_claimed)
    require(found != nullptr, cudaErrorInvalidValue);
  else
    require(!found || found->on_host(), cudaErrorInvalidValue);
}

/// It was in order when the call was made; memory may have been freed since.
void still_there(const Box& box, const char* what) {
  if (!reachable(box.address, box.extent()))
    throw DeviceFault(cudaErrorIllegalAddress, fmt::format("{} of {} bytes at {:#x}, where there is no memory any more",
                                                           what, box.extent(), box.address));
}

void perform(const Copy& copy) {
  const Box to = target_of(copy), from = source_of(copy);
  if (to.empty()) return;
  still_there(to, "a copy to");
  still_there(from, "a copy from");
  const AddressSpace& space = AddressSpace::instance();
  for (std::size_t z = 0; z < copy.depth; ++z)
    for (std::size_t y = 0; y < copy.height; ++y)
      std::memmove(space.host_view(to.row(z, y)), space.host_view(from.row(z, y)), copy.width);
}

template <class Element>
void fill_row(std::byte* row, unsigned value, std::size_t width) {
  const auto element = static_cast<Element>(value);
  for (std::size_t i = 0; i < width; ++i) std::memcpy(row + i * sizeof element, &element, sizeof element);
}

void perform(const Fill& fill) {
  const Box to = target_of(fill);
  if (to.empty()) return;
  still_there(to, "a fill");
  for (std::size_t z = 0; z < fill.depth; ++z)
    for (std::size_t y = 0; y < fill.height; ++y) {
      std::byte* const row = AddressSpace::instance().host_view(to.row(z, y));
      switch (fill.element) {
        case 1: std::memset(row, static_cast<int>(fill.value), fill.width); break;
        case 2: fill_row<std::uint16_t>(row, fill.value, fill.width); break;
        default: fill_row<std::uint32_t>(row, fill.value, fill.width); break;
      }
    }
}

thread_local bool inside_host_function = false;

struct Performer {
  Device& device;
  void operator()(const Copy& copy) const { perform(copy); }
  void operator()(const Fill& fill) const { perform(fill); }
  void operator()(const HostCall& call) const { call_host_function(call.call); }
  void operator()(const KernelLaunch& launch) const { run(launch, device); }
  void operator()(const EventRecord& record) const {
    record.event->complete(record.ticket ? record.ticket : record.event->ask());
  }
  void operator()(const EventWait& wait) const {
    wait.event->wait(wait.ticket ? wait.ticket : wait.event->asked(), &device.failed_flag());
  }
  void operator()(const Task& task) const { task.run(device); }
};

}  // namespace

bool in_host_function() { return inside_host_function; }

void call_host_function(const std::function<void()>& function) {
  inside_host_function = true;
  function();
  inside_host_function = false;
}

void perform(const Operation& operation, Device& device) { std::visit(Performer{device}, operation); }

void check(const Copy& copy) {
  const Box to = target_of(copy), from = source_of(copy);
  if (to.empty()) return;
  require(copy.kind >= cudaMemcpyHostToHost && copy.kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
  check_box(to);
  check_box(from);
  if (copy.kind == cudaMemcpyDefault) return;
  check_side(to.address, copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice);
  check_side(from.address, copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice);
}

void check(const Fill& fill) {
  const Box to = target_of(fill);
  if (to.empty()) return;
  check_box(to);
  require(AllocationTable::instance().find(to.address) != nullptr, cudaErrorInvalidValue);
}

}  // namespace tutti::emulated

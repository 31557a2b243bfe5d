#include "tests/emulator/runtime/pageable.hpp"

#include <cstring>

#include "tests/emulator/runtime/capture.hpp"
#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace tutti::emulated {
namespace {

/// Up to this size the driver keeps the bytes of a copy to a device; a larger one waits until the stream has come to
/// it.
constexpr std::size_t kKept = std::size_t{64} << 10;

bool is_pageable(const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return !AddressSpace::instance().contains(address) && !AllocationTable::instance().find(address);
}

bool is_on_device(const void* memory) {
  return AddressSpace::instance().contains(reinterpret_cast<std::uintptr_t>(memory));
}

/// The copy with a source of its own.
Copy keep_source(Copy copy) {
  auto kept = std::make_shared<std::vector<std::byte>>(copy.width * copy.height * copy.depth);
  std::byte* to = kept->data();
  for (std::size_t z = 0; z < copy.depth; ++z)
    for (std::size_t y = 0; y < copy.height; ++y, to += copy.width)
      std::memcpy(to, static_cast<const std::byte*>(copy.from) + z * copy.from_slice + y * copy.from_pitch, copy.width);
  copy.from = kept->data();
  copy.from_pitch = copy.width;
  copy.from_slice = copy.width * copy.height;
  copy.staged = std::move(kept);
  return copy;
}

}  // namespace

void copy_and_wait(const std::shared_ptr<Stream>& stream, const Copy& copy) {
  count(FaultPoint::copy);
  check(copy);
  if (is_on_device(copy.to) && is_on_device(copy.from))
    submit(stream, copy);
  else
    submit_and_wait(stream, copy);
}

void copy_in_order(const std::shared_ptr<Stream>& stream, Copy copy) {
  count(FaultPoint::copy);
  check(copy);
  const bool moves = copy.width != 0 && copy.height != 0 && copy.depth != 0;
  if (stream->capture() || !moves) return submit(stream, std::move(copy));
  const bool reads = is_pageable(copy.from), writes = is_pageable(copy.to);
  if (writes || (reads && copy.width * copy.height * copy.depth > kKept)) return submit_and_wait(stream, copy);
  submit(stream, reads ? keep_source(std::move(copy)) : std::move(copy));
}

}  // namespace tutti::emulated

#pragma once

#include <memory>

#include "tests/emulator/runtime/operations.hpp"
#include "tests/emulator/runtime/streams.hpp"

namespace tutti::emulated {

// Copies from and to host memory that was never registered: the driver stages them, which a program can tell by when
// it may use its memory again, and by which calls block.

/// A call of the cudaMemcpy kind: over when the host may look at what it can see of it.
void copy_and_wait(const std::shared_ptr<Stream>& stream, const Copy& copy);

/// A call of the cudaMemcpyAsync kind: host memory that nobody registered is read, or has been written, on return.
void copy_in_order(const std::shared_ptr<Stream>& stream, Copy copy);

}  // namespace tutti::emulated

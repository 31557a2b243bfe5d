// How much memory a reservation may take before the kernel starts killing.
#pragma once
#include <cstddef>

namespace tutti {

/// Bytes that can be reserved here: the least of what the kernel calls available and what the control groups of this
/// process still allow. SIZE_MAX if neither can be read.
std::size_t free_memory();

/// Bytes left in /dev/shm; 0 if it cannot be read.
std::size_t free_shared_memory_files();

}  // namespace tutti

// What the checker finds, by name.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tutti::emulator {

enum class Defect : std::uint8_t {
  data_race,          ///< two accesses that nothing orders, and no better name fits
  wrong_scope,        ///< strong accesses, or a release and an acquire, whose scopes do not include each other's thread
  missing_barrier,    ///< between threads of one block, or between a block's access and its signal, or wait and access
  unread_slot,        ///< a write over a slot that its reader has not read: a missing credit
  unfilled_slot,      ///< a read of a slot that nobody waited for
  flag_not_released,  ///< the flag was set by a store that releases nothing
  flag_not_acquired,  ///< the flag was read by loads that acquire nothing
  torn_packet,        ///< a packet moved by an access that may be torn, or that may race
  mixed_sizes,        ///< strong accesses that overlap but are not of the same bytes, and that nothing orders
  out_of_bounds,
  use_after_free,
  not_mapped,      ///< memory of another rank that is not mapped for this one
  foreign_memory,  ///< shared or local memory of another block or thread
  uninitialised,   ///< a read of bytes that nobody wrote
  non_coherent,    ///< a non-coherent read of bytes that are written while the kernel runs, or of a peer's memory
  read_only,       ///< a write to parameters or constants
  fault,           ///< what the machine itself finds: misaligned, trap, divergent barrier, ...
  hang,
  too_few_residents,  ///< a hang, because the launch needs more blocks at once than the device holds
  endless_loop,       ///< a thread that runs on and on without a strong access
};

/// "write over an unread slot (missing credit)" and so on.
std::string_view name_of(Defect defect);

/// A defect of the program that runs. what() begins with its name and tells kernel, rank, block, thread, PTX line and
/// source line of every access that has a part in it.
class Found : public std::runtime_error {
 public:
  Found(Defect defect, const std::string& what) : std::runtime_error(what), defect_(defect) {}
  Defect defect() const { return defect_; }

 private:
  Defect defect_;
};

}  // namespace tutti::emulator

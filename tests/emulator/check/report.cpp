#include "tests/emulator/check/report.hpp"

namespace tutti::emulator {

std::string_view name_of(Defect defect) {
  switch (defect) {
    case Defect::data_race: return "data race";
    case Defect::wrong_scope: return "wrong scope";
    case Defect::missing_barrier: return "missing barrier";
    case Defect::unread_slot: return "write over an unread slot (missing credit)";
    case Defect::unfilled_slot: return "read of a slot that was not waited for";
    case Defect::flag_not_released: return "flag set without release";
    case Defect::flag_not_acquired: return "flag read without acquire";
    case Defect::torn_packet: return "torn packet";
    case Defect::mixed_sizes: return "strong accesses of different sizes";
    case Defect::out_of_bounds: return "out of bounds";
    case Defect::use_after_free: return "use after free";
    case Defect::not_mapped: return "memory of another rank that is not mapped";
    case Defect::foreign_memory: return "memory of another block or thread";
    case Defect::uninitialised: return "uninitialised read";
    case Defect::non_coherent: return "non-coherent read";
    case Defect::read_only: return "write to memory that is only read";
    case Defect::fault: return "fault";
    case Defect::hang: return "hang";
    case Defect::too_few_residents: return "hang for want of resident blocks";
    case Defect::endless_loop: return "endless loop";
  }
  return "";
}

}  // namespace tutti::emulator

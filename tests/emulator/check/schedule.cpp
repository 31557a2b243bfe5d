#include "tests/emulator/check/schedule.hpp"

#include <fmt/format.h>

#include "tests/emulator/check/report.hpp"
#include "tests/emulator/check/schedule_run.hpp"

namespace tutti::emulator {

struct Schedule::Parts {
  CheckedMemory& memory;
  std::span<const Stream> streams;
  ScheduleSettings settings;
};

Schedule::Schedule(CheckedMemory& memory, std::span<const Stream> streams, ScheduleSettings settings)
    : parts_(std::make_unique<Parts>(memory, streams, settings)) {
  if (streams.empty()) throw std::runtime_error("a schedule without streams");
}
Schedule::~Schedule() = default;

ScheduleResult Schedule::run(std::uint64_t seed) {
  try {
    return ScheduleRun(parts_->memory, parts_->streams, parts_->settings, seed).run();
  } catch (const Fault& fault) {
    parts_->memory.tell_pending();
    throw Found(Defect::fault, fmt::format("{}: {}", name_of(Defect::fault), fault.what()));
  }
}

}  // namespace tutti::emulator

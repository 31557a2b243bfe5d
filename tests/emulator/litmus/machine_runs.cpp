#include "tests/emulator/litmus/machine_runs.hpp"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

#include "tests/emulator/check/memory.hpp"
#include "tests/emulator/check/report.hpp"
#include "tests/emulator/check/schedule.hpp"
#include "tests/emulator/litmus/ptx_text.hpp"
#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator::litmus {
namespace {

struct alignas(64) Line {
  std::byte bytes[64] = {};
};
std::vector<Line> lines(std::size_t bytes) { return std::vector<Line>((bytes + sizeof(Line) - 1) / sizeof(Line)); }

bool is_race(Defect defect) {
  switch (defect) {
    case Defect::data_race:
    case Defect::wrong_scope:
    case Defect::missing_barrier:
    case Defect::unread_slot:
    case Defect::unfilled_slot:
    case Defect::flag_not_released:
    case Defect::flag_not_acquired:
    case Defect::torn_packet:
    case Defect::mixed_sizes: return true;
    default: return false;
  }
}

}  // namespace

struct MachineRuns::Parts {
  explicit Parts(const Program& the_program)
      : program(the_program),
        ptx(to_ptx(program)),
        module(ptx.text, "litmus test"),
        image{&module, {}},
        memory(lines(ptx.memory_bytes)),
        results(lines(ptx.results_bytes)) {
    add_memory("memory", memory);
    add_memory("results", results);
    for (const Kernel& kernel : ptx.kernels) add_launch(kernel);
    // No thread has more than a few dozen instructions, but for its polls.
    schedule.emplace(checked, std::span<const Stream>(streams), ScheduleSettings{.endless = 2'000});
  }

  void add_memory(const char* name, const std::vector<Line>& of) {
    const std::size_t bytes = of.size() * sizeof(Line);
    checked.add(Allocation{.name = name, .begin = of.data(), .bytes = bytes, .mapped = ~std::uint64_t{0}});
    checked.initialise(of.data(), bytes);
  }

  void add_launch(const Kernel& kernel) {
    Launch launch;
    launch.image = &image;
    launch.function = &module.function(kernel.entry);
    launch.grid.x = static_cast<std::uint32_t>(kernel.blocks);
    launch.block.x = static_cast<std::uint32_t>(kernel.threads);
    launch.device = kernel.gpu;
    const void* const parameters[2] = {memory.data(), results.data()};
    launch.parameters.resize(sizeof parameters);
    std::memcpy(launch.parameters.data(), parameters, sizeof parameters);
    Stream* stream = nullptr;
    for (Stream& other : streams)
      if (other.device == kernel.gpu) stream = &other;
    if (!stream) stream = &streams.emplace_back(Stream{.rank = kernel.gpu, .device = kernel.gpu, .work = {}});
    stream->work.push_back({.launch = std::move(launch)});
  }

  char* place(std::size_t location, int element) {
    const std::size_t offset =
        ptx.offsets[location] + static_cast<std::size_t>(element * program.locations[location].width);
    return reinterpret_cast<char*>(memory.data()) + offset;
  }

  template <class Visit>
  void for_each_element(Visit visit) {
    for (std::size_t l = 0; l < program.locations.size(); ++l)
      for (int e = 0; e < program.locations[l].elements; ++e) visit(program.locations[l], place(l, e));
  }

  void reset() {
    for_each_element([](const Location& location, char* at) {
      std::memcpy(at, &location.initial, static_cast<std::size_t>(location.width));
    });
    std::fill(results.begin(), results.end(), Line{});
  }

  Outcome outcome() {
    Outcome values(index_of_register(program, static_cast<int>(program.threads.size()), 0));
    std::memcpy(values.data(), results.data(), 8 * values.size());
    for_each_element([&](const Location& location, const char* at) {
      std::uint64_t value = 0;
      std::memcpy(&value, at, static_cast<std::size_t>(location.width));
      values.push_back(value);
    });
    return values;
  }

  const Program program;
  const PtxModule ptx;
  const Module module;
  const Image image;
  std::vector<Line> memory, results;
  CheckedMemory checked{CheckedMemory::Settings{.staleness = 0.5}};
  std::vector<Stream> streams;
  std::optional<Schedule> schedule;
};

MachineRuns::MachineRuns(const Program& program) : parts_(std::make_unique<Parts>(program)) {}
MachineRuns::~MachineRuns() = default;

MachineRuns::Result MachineRuns::run(std::uint64_t seed) {
  parts_->reset();
  try {
    parts_->schedule->run(seed);
  } catch (const Found& found) {
    if (found.defect() == Defect::hang || found.defect() == Defect::endless_loop)
      return {.outcome = {}, .race = {}, .stuck = true};
    if (!is_race(found.defect())) throw;
    return {.outcome = {}, .race = found.what()};
  }
  return {.outcome = parts_->outcome(), .race = {}};
}

}  // namespace tutti::emulator::litmus

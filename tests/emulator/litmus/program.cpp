#include "tests/emulator/litmus/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tutti::emulator::litmus {

bool compare(std::uint64_t left, Comparison comparison, std::uint64_t right) {
  switch (comparison) {
    case Comparison::equal: return left == right;
    case Comparison::not_equal: return left != right;
    case Comparison::less: return left < right;
    case Comparison::less_equal: return left <= right;
    case Comparison::greater: return left > right;
    case Comparison::greater_equal: return left >= right;
  }
  return false;
}

std::uint64_t part_of(std::uint64_t value, Part part) {
  switch (part) {
    case Part::whole: return value;
    case Part::low: return value & 0xffffffffu;
    case Part::high: return value >> 32;
  }
  return value;
}

std::size_t outcome_size(const Program& program) {
  return index_of_memory(program, static_cast<int>(program.locations.size()), 0);
}

std::size_t index_of_register(const Program& program, int thread, int reg) {
  std::size_t index = static_cast<std::size_t>(reg);
  for (int t = 0; t < thread; ++t) index += program.threads[static_cast<std::size_t>(t)].registers.size();
  return index;
}

std::size_t index_of_memory(const Program& program, int location, int element) {
  std::size_t index = index_of_register(program, static_cast<int>(program.threads.size()), 0);
  for (int l = 0; l < location; ++l)
    index += static_cast<std::size_t>(program.locations[static_cast<std::size_t>(l)].elements);
  return index + static_cast<std::size_t>(element);
}

std::string describe(const Program& program, const Outcome& outcome) {
  std::string text;
  std::size_t index = 0;
  const auto show = [&](const std::string& what) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", what, outcome.at(index++));
  };
  for (const Thread& thread : program.threads)
    for (const std::string& reg : thread.registers) show(fmt::format("{}.{}", thread.name, reg));
  for (const Location& location : program.locations)
    for (int e = 0; e < location.elements; ++e)
      show(location.elements == 1 ? fmt::format("[{}]", location.name)
                                  : fmt::format("[{}+{}]", location.name, e * location.width));
  return text;
}

bool Condition::holds(const Outcome& outcome) const {
  const auto value = [&](const Term& term) {
    return term.constant ? term.value : part_of(outcome.at(term.index), term.part);
  };
  const auto one = [&](const Condition& part) { return part.holds(outcome); };
  switch (kind) {
    case Kind::comparison: return compare(value(left), comparison, value(right));
    case Kind::all: return std::all_of(parts.begin(), parts.end(), one);
    case Kind::any: return std::any_of(parts.begin(), parts.end(), one);
    case Kind::negation: return !parts.front().holds(outcome);
  }
  return false;
}

namespace {

/// How often a thread comes to each barrier.
std::map<int, int> arrivals(const Thread& thread) {
  std::map<int, int> times;
  for (const Instruction& instruction : thread.code)
    if (instruction.kind == Kind::barrier || instruction.kind == Kind::barrier_arrive) ++times[instruction.barrier];
  return times;
}

void validate_access(const Program& program, const Instruction& instruction, const std::string& where) {
  const Location& location = program.locations.at(static_cast<std::size_t>(instruction.location));
  const int bytes = instruction.width * instruction.vector;
  if (instruction.offset < 0 || instruction.offset + bytes > location.width * location.elements)
    throw std::runtime_error(
        fmt::format("{}: {} bytes at [{}+{}] reach past its end", where, bytes, location.name, instruction.offset));
  if (instruction.offset % bytes != 0)
    throw std::runtime_error(fmt::format("{}: [{}+{}] is not aligned to the access of {} bytes", where, location.name,
                                         instruction.offset, bytes));
  const bool atomic = instruction.kind == Kind::atomic || instruction.kind == Kind::reduction;
  if (atomic && (instruction.width < 4 || instruction.vector != 1))
    throw std::runtime_error(where + ": atomics are of 4 or 8 bytes here");
}

/// The ISA promises of overlapping atomics of different widths what cannot be said with a read and a write each.
void refuse_overlapping_atomics(const Program& program) {
  std::vector<std::pair<const Instruction*, const Thread*>> atomics;
  for (const Thread& thread : program.threads)
    for (const Instruction& instruction : thread.code)
      if (instruction.kind == Kind::atomic || instruction.kind == Kind::reduction)
        atomics.emplace_back(&instruction, &thread);
  for (const auto& [a, first] : atomics)
    for (const auto& [b, second] : atomics)
      if (a->location == b->location && a->width != b->width && a->offset < b->offset + b->width &&
          b->offset < a->offset + a->width)
        throw std::runtime_error(fmt::format(
            "atomics of threads {} and {} overlap in part: the checker leaves that out", first->name, second->name));
}

}  // namespace

void validate(const Program& program) {
  refuse_overlapping_atomics(program);
  for (const Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.code) {
      const std::string where =
          fmt::format("thread {}, instruction {}", thread.name, &instruction - thread.code.data() + 1);
      if (instruction.location >= 0) validate_access(program, instruction, where);
      if (instruction.until && instruction.kind != Kind::load)
        throw std::runtime_error(where + ": only loads can be repeated");
      const bool barrier = instruction.kind == Kind::barrier || instruction.kind == Kind::barrier_arrive;
      if (barrier && instruction.guard) throw std::runtime_error(where + ": a barrier cannot be guarded");
    }
    const std::map<int, int> mine = arrivals(thread);
    for (const Thread& other : program.threads) {
      if (other.gpu != thread.gpu || other.cta != thread.cta) continue;
      const std::map<int, int> theirs = arrivals(other);
      for (const auto& [barrier, times] : mine)
        if (theirs.contains(barrier) && theirs.at(barrier) != times)
          throw std::runtime_error(fmt::format("threads {} and {} come to barrier {} {} and {} times: it would hang",
                                               thread.name, other.name, barrier, times, theirs.at(barrier)));
    }
    for (const int earlier : thread.after)
      if (const Thread& other = program.threads.at(static_cast<std::size_t>(earlier));
          other.gpu == thread.gpu && other.cta == thread.cta)
        throw std::runtime_error(
            fmt::format("thread {} runs after {}, so must be of another CTA", thread.name, other.name));
  }
}

}  // namespace tutti::emulator::litmus

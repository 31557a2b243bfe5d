#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/emulator/litmus/events.hpp"
#include "tests/emulator/litmus/relation.hpp"

namespace tutti::emulator::litmus {
namespace {

std::uint64_t mask_of(int bytes) { return bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1; }

std::vector<Cell> cells_of(const Program& program) {
  std::vector<std::set<int>> cuts(program.locations.size());
  for (std::size_t l = 0; l < program.locations.size(); ++l)
    for (int e = 0; e <= program.locations[l].elements; ++e) cuts[l].insert(e * program.locations[l].width);
  for (const Thread& thread : program.threads)
    for (const Instruction& instruction : thread.code)
      for (int e = 0; instruction.location >= 0 && e <= instruction.vector; ++e)
        cuts[static_cast<std::size_t>(instruction.location)].insert(instruction.offset + e * instruction.width);
  std::vector<Cell> cells;
  for (std::size_t l = 0; l < cuts.size(); ++l) {
    const Location& location = program.locations[l];
    for (auto cut = cuts[l].begin(); std::next(cut) != cuts[l].end(); ++cut) {
      const int begin = *cut, width = *std::next(cut) - begin;
      const std::uint64_t initial = location.initial >> (8 * (begin % location.width)) & mask_of(width);
      cells.push_back({static_cast<int>(l), begin, width, initial});
    }
  }
  return cells;
}

/// Makes the paths, by walking through the threads one after the other and trying each choice.
class Unfolding {
 public:
  Unfolding(const Program& program, int failing_polls) : program_(program), failing_polls_(failing_polls) {
    path_.cells = cells_of(program);
    awaited_.resize(program.threads.size());
  }

  std::vector<Path> all() {
    begin_thread(0);
    return std::move(paths_);
  }

 private:
  /// What a thread knows at some point.
  struct State {
    std::vector<Symbol> registers;
    std::vector<int> awaited;     ///< reads of polls that ended
    std::map<int, int> meetings;  ///< how often it came to each barrier
    std::vector<int> before;      ///< its events so far
  };

  const Thread& thread() const { return program_.threads[static_cast<std::size_t>(thread_)]; }

  void begin_thread(int t) {
    if (t == static_cast<int>(program_.threads.size())) return finish();
    const int outer = std::exchange(thread_, t);
    State state;
    state.registers.resize(thread().registers.size());
    for (const int earlier : thread().after)  // a kernel begins only if all polls of those before it ended
      state.awaited.insert(state.awaited.end(), awaited_[static_cast<std::size_t>(earlier)].begin(),
                           awaited_[static_cast<std::size_t>(earlier)].end());
    walk(0, std::move(state));
    thread_ = outer;
  }

  void walk(std::size_t next, State state) {
    if (next == thread().code.size()) {
      const std::size_t mark = path_.registers.size();
      path_.registers.insert(path_.registers.end(), state.registers.begin(), state.registers.end());
      awaited_[static_cast<std::size_t>(thread_)] = state.awaited;
      begin_thread(thread_ + 1);
      path_.registers.resize(mark);
      return;
    }
    const Instruction& instruction = thread().code[next];
    const Marks marks = mark();
    if (!instruction.guard) {
      execute(instruction, next, state, {});
    } else {
      const Symbol asked = state.registers[static_cast<std::size_t>(instruction.guard->reg)];
      constrain(*instruction.guard, asked, false);
      walk(next + 1, state);
      rewind(marks);
      constrain(*instruction.guard, asked, true);
      execute(instruction, next, state, asked.read < 0 ? std::vector<int>{} : std::vector<int>{asked.read});
    }
    rewind(marks);
  }

  void execute(const Instruction& instruction, std::size_t at, State state, const std::vector<int>& control) {
    std::vector<int> depends = state.awaited;
    depends.insert(depends.end(), control.begin(), control.end());
    const Event event = start(instruction, at, depends);
    switch (instruction.kind) {
      case Kind::load: return load(instruction, at, std::move(state), event, 0);
      case Kind::store: return store(instruction, at, std::move(state), event);
      case Kind::atomic:
      case Kind::reduction: return atomic(instruction, at, std::move(state), event);
      case Kind::fence: add({event}, state); return walk(at + 1, std::move(state));
      case Kind::barrier:
      case Kind::barrier_arrive: return meet(instruction, at, std::move(state), event);
    }
  }

  Event start(const Instruction& instruction, std::size_t at, const std::vector<int>& depends) const {
    Event event;
    event.thread = thread_;
    event.instruction = static_cast<int>(at);
    event.order = instruction.order;
    event.scope = instruction.scope;
    event.location = instruction.location;
    event.depends = depends;
    event.kind = instruction.kind == Kind::fence ? Event::Kind::fence : Event::Kind::read;
    if (instruction.location >= 0) place(event, instruction.offset, instruction.width);
    return event;
  }

  void place(Event& event, int begin, int width) const {
    event.begin = begin;
    event.width = width;
    event.cells = 0;
    for (std::size_t c = 0; c < path_.cells.size(); ++c) {
      const Cell& cell = path_.cells[c];
      if (cell.location != event.location || cell.begin < begin || cell.begin >= begin + width) continue;
      if (event.cells++ == 0) event.cell = static_cast<int>(c);
    }
  }

  /// Adds events of one instruction, which are not ordered among each other. Returns the first.
  int add(const std::vector<Event>& events, State& state) {
    const int first = static_cast<int>(path_.events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      path_.events.push_back(events[i]);
      for (const int before : state.before) path_.program_order.emplace_back(before, first + static_cast<int>(i));
    }
    for (std::size_t i = 0; i < events.size(); ++i) state.before.push_back(first + static_cast<int>(i));
    return first;
  }

  void load(const Instruction& instruction, std::size_t at, State state, const Event& event, int failed) {
    std::vector<Event> events(static_cast<std::size_t>(instruction.vector), event);
    for (int e = 0; e < instruction.vector; ++e)
      place(events[static_cast<std::size_t>(e)], instruction.offset + e * instruction.width, instruction.width);
    const Marks marks = mark();
    const int first = add(events, state);
    for (int e = 0; e < instruction.vector; ++e)
      state.registers[static_cast<std::size_t>(instruction.to[static_cast<std::size_t>(e)])] = {first + e, 0};
    if (!instruction.until) return walk(at + 1, std::move(state));
    const Symbol asked = state.registers[static_cast<std::size_t>(instruction.until->reg)];
    if (failed < failing_polls_) {
      const Marks here = mark();
      constrain(*instruction.until, asked, false);
      Event again = event;
      if (asked.read >= 0) again.depends.push_back(asked.read);
      load(instruction, at, state, again, failed + 1);
      rewind(here);
    }
    constrain(*instruction.until, asked, true);
    if (asked.read >= 0) state.awaited.push_back(asked.read);
    walk(at + 1, std::move(state));
    rewind(marks);
  }

  Symbol symbol(const State& state, const Operand& operand) const {
    if (operand.reg < 0) return {-1, operand.plus};
    Symbol symbol = state.registers[static_cast<std::size_t>(operand.reg)];
    symbol.plus += operand.plus;
    return symbol;
  }

  void store(const Instruction& instruction, std::size_t at, State state, Event event) {
    event.kind = Event::Kind::write;
    std::vector<Event> events(static_cast<std::size_t>(instruction.vector), event);
    for (int e = 0; e < instruction.vector; ++e) {
      Event& one = events[static_cast<std::size_t>(e)];
      place(one, instruction.offset + e * instruction.width, instruction.width);
      one.value = symbol(state, instruction.from[static_cast<std::size_t>(e)]);
      if (one.value.read >= 0) one.depends.push_back(one.value.read);
    }
    add(events, state);
    walk(at + 1, std::move(state));
  }

  void atomic(const Instruction& instruction, std::size_t at, State state, const Event& event) {
    const bool releases = instruction.order == Order::release || instruction.order == Order::acq_rel;
    const bool acquires = instruction.order == Order::acquire || instruction.order == Order::acq_rel;
    Event read = event;
    read.order = acquires ? Order::acquire : Order::relaxed;
    read.is_atomic = true;
    read.reduction = instruction.kind == Kind::reduction;
    Event write = read;
    write.kind = Event::Kind::write;
    write.order = releases ? Order::release : Order::relaxed;
    write.operation = instruction.operation;
    const int first = static_cast<int>(path_.events.size());
    const bool swap = instruction.operation == AtomicOperation::compare_and_swap;
    write.value = symbol(state, instruction.from[swap ? 1 : 0]);
    write.depends.push_back(first);
    if (write.value.read >= 0) write.depends.push_back(write.value.read);
    write.partner = first;
    if (swap) {
      const Symbol wanted = symbol(state, instruction.from[0]);
      if (wanted.read >= 0) write.depends.push_back(wanted.read);
      const Marks marks = mark();
      State without = state;
      add({read}, without);
      without.registers[static_cast<std::size_t>(instruction.to[0])] = {first, 0};
      path_.constraints.push_back(
          {{first, 0}, narrow(wanted, instruction.width), Part::whole, Comparison::equal, false});
      walk(at + 1, std::move(without));
      rewind(marks);
      path_.constraints.push_back(
          {{first, 0}, narrow(wanted, instruction.width), Part::whole, Comparison::equal, true});
    }
    read.partner = first + 1;
    add({read}, state);
    add({write}, state);
    if (!instruction.to.empty()) state.registers[static_cast<std::size_t>(instruction.to[0])] = {first, 0};
    walk(at + 1, std::move(state));
  }

  /// A compare-and-swap looks at the low bits of what it is given.
  Symbol narrow(Symbol symbol, int width) const {
    if (symbol.read < 0) symbol.plus &= mask_of(width);
    return symbol;
  }

  void meet(const Instruction& instruction, std::size_t at, State state, Event event) {
    const int time = state.meetings[instruction.barrier]++;
    event.kind = Event::Kind::arrive;
    event.barrier = meeting(instruction.barrier, time);
    add({event}, state);
    if (instruction.kind == Kind::barrier) {
      event.kind = Event::Kind::depart;
      add({event}, state);
    }
    walk(at + 1, std::move(state));
  }

  /// One number for the same time at the same barrier of the same CTA.
  int meeting(int barrier, int time) {
    const std::tuple<int, int, int, int> which{thread().gpu, thread().cta, barrier, time};
    return meetings_.try_emplace(which, static_cast<int>(meetings_.size())).first->second;
  }

  void constrain(const RegisterTest& test, const Symbol& asked, bool expected) {
    path_.constraints.push_back({asked, {-1, test.constant}, test.part, test.comparison, expected});
  }

  void finish() {
    if (path_.events.size() > Relation::kMostEvents)
      throw std::runtime_error(
          fmt::format("a path has {} events, at most {} are possible", path_.events.size(), Relation::kMostEvents));
    Path path = path_;
    const int n = static_cast<int>(path.events.size());
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b)
        if (synchronized(path.events[static_cast<std::size_t>(a)], path.events[static_cast<std::size_t>(b)]))
          path.across.emplace_back(a, b);
    paths_.push_back(std::move(path));
  }

  bool synchronized(const Event& a, const Event& b) const {
    if (a.kind == Event::Kind::arrive && b.kind == Event::Kind::depart && a.barrier == b.barrier) return true;
    const std::vector<int>& after = program_.threads[static_cast<std::size_t>(b.thread)].after;
    return std::find(after.begin(), after.end(), a.thread) != after.end();
  }

  struct Marks {
    std::size_t events, constraints, program_order;
  };
  Marks mark() const { return {path_.events.size(), path_.constraints.size(), path_.program_order.size()}; }
  void rewind(const Marks& marks) {
    path_.events.resize(marks.events);
    path_.constraints.resize(marks.constraints);
    path_.program_order.resize(marks.program_order);
  }

  const Program& program_;
  int failing_polls_;
  int thread_ = 0;
  Path path_;
  std::vector<std::vector<int>> awaited_;  ///< of the threads that are walked through: reads of polls that ended
  std::map<std::tuple<int, int, int, int>, int> meetings_;
  std::vector<Path> paths_;
};

}  // namespace

std::vector<Path> unfold(const Program& program, int failing_polls) {
  validate(program);
  return Unfolding(program, failing_polls).all();
}

}  // namespace tutti::emulator::litmus

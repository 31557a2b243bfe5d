#include "tests/emulator/litmus/memory_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tests/emulator/litmus/parse.hpp"

namespace tutti::emulator::litmus {
namespace {

/// All executions of one path.
class Search {
 public:
  Search(const Program& program, const Path& path, const Axioms& axioms, Verdict& verdict)
      : axioms_(axioms), skeleton_(program, path), execution_(skeleton_), verdict_(verdict) {
    for (int read = 0; read < skeleton_.events(); ++read) {
      const Event& event = skeleton_.event(read);
      if (!event.is_read()) continue;
      for (int cell = event.cell; cell < event.cell + event.cells; ++cell)
        choices_.push_back({read, cell, sources(read, cell)});
    }
  }

  void run() { choose_sources(0); }

 private:
  struct Choice {
    int read, cell;
    std::vector<int> writes;
  };

  /// The writes that a cell of a read may come from, without those that are hopeless whatever else is chosen.
  std::vector<int> sources(int read, int cell) const {
    const std::vector<int>& writers = skeleton_.writers[static_cast<std::size_t>(cell)];
    const Relation& before = skeleton_.fixed_causality;
    const bool prune = axioms_.coherence && axioms_.causality;
    std::vector<int> found;
    for (int candidate = Execution::kInitial; candidate < static_cast<int>(writers.size()); ++candidate) {
      const int write = candidate < 0 ? Execution::kInitial : writers[static_cast<std::size_t>(candidate)];
      const auto replaced_by = [&](int other) {
        return other != write && before.has(other, read) && (write == Execution::kInitial || before.has(write, other));
      };
      if (write >= 0 && (skeleton_.program_order.has(read, write) || (prune && before.has(read, write)))) continue;
      if (prune && std::any_of(writers.begin(), writers.end(), replaced_by)) continue;
      if (!contradicts_path(read, cell, write)) found.push_back(write);
    }
    return found;
  }

  /// Whether the value is known now and is not what the path was chosen for: most polls end here.
  bool contradicts_path(int read, int cell, int write) const {
    const Event& event = skeleton_.event(read);
    if (event.cells != 1) return false;
    const Cell& place = skeleton_.path.cells[static_cast<std::size_t>(cell)];
    std::uint64_t value = place.initial;
    if (write >= 0) {
      const Event& from = skeleton_.event(write);
      if (from.is_atomic || from.value.read >= 0) return false;
      value = from.value.plus >> (8 * (place.begin - from.begin));
    }
    if (place.width < 8) value &= (std::uint64_t{1} << (8 * place.width)) - 1;
    const auto contradicts = [&](const Constraint& constraint) {
      return constraint.left.read == read && constraint.right.read < 0 &&
             compare(part_of(value + constraint.left.plus, constraint.part), constraint.comparison,
                     constraint.right.plus) != constraint.expected;
    };
    return std::any_of(skeleton_.path.constraints.begin(), skeleton_.path.constraints.end(), contradicts);
  }

  void choose_sources(std::size_t next) {
    if (next == choices_.size()) {
      if (execution_.evaluate() && execution_.fits_path()) choose_fence_order(0);
      return;
    }
    const Choice& choice = choices_[next];
    for (const int write : choice.writes) {
      if (goes_back(next, write)) continue;
      execution_.read_from(choice.read, choice.cell, write);
      choose_sources(next + 1);
    }
  }

  /// Whether an earlier read of the thread saw a write that surely comes after this one, which SC-per-location forbids.
  /// (All that is found here is found again by the axiom; this saves most of the work where flags are polled.)
  bool goes_back(std::size_t choice, int write) const {
    if (!axioms_.sc_per_location || !axioms_.coherence) return false;
    const auto [read, cell] = std::pair{choices_[choice].read, choices_[choice].cell};
    for (std::size_t c = 0; c < choice; ++c) {
      const int earlier = choices_[c].read;
      if (choices_[c].cell != cell || !skeleton_.program_order.has(earlier, read)) continue;
      const int seen = execution_.source(earlier, cell);
      if (seen == Execution::kInitial || seen == write) continue;
      const bool follows = write == Execution::kInitial || skeleton_.fixed_causality.has(write, seen);
      if (follows && skeleton_.morally_strong.has(seen, earlier) && skeleton_.morally_strong.has(read, seen))
        return true;
    }
    return false;
  }

  void choose_fence_order(std::size_t next) {
    if (next == skeleton_.fences.size()) {
      if (execution_.fence_order.acyclic()) derive();
      return;
    }
    const auto [a, b] = skeleton_.fences[next];
    for (const auto& [first, second] : {std::pair{a, b}, std::pair{b, a}}) {
      execution_.fence_order.add(first, second);
      choose_fence_order(next + 1);
      execution_.fence_order.remove(first, second);
    }
  }

  void derive() {
    execution_.observe();
    execution_.derive_causality();
    if (axioms_.fence_sc && !satisfies_fence_sc(execution_)) return;
    if (axioms_.causality && !reads_nothing_from_the_future(execution_)) return;
    Relation coherence(skeleton_.events());
    if (axioms_.coherence) {
      for (int a = 0; a < skeleton_.events(); ++a)
        for (int b = 0; b < skeleton_.events(); ++b)
          if (skeleton_.event(a).is_write() && skeleton_.event(b).is_write() && skeleton_.overlap(a, b) &&
              execution_.causality.has(a, b))
            coherence.add(a, b);
    }
    races_noted_.reset();
    choose_coherence(0, coherence);
  }

  /// `coherence`: what is decided so far. Racing writes stay unrelated: to relate them would only forbid more.
  void choose_coherence(std::size_t next, Relation coherence) {
    coherence.close_transitively();
    if (!coherence.irreflexive()) return;
    while (next < skeleton_.writes.size() && related(coherence, skeleton_.writes[next])) ++next;
    if (next == skeleton_.writes.size()) {
      execution_.coherence = coherence;
      return judge();
    }
    const auto [a, b] = skeleton_.writes[next];
    for (const auto& [first, second] : {std::pair{a, b}, std::pair{b, a}}) {
      Relation more = coherence;
      more.add(first, second);
      choose_coherence(next + 1, more);
    }
  }
  static bool related(const Relation& order, const std::pair<int, int>& pair) {
    return order.has(pair.first, pair.second) || order.has(pair.second, pair.first);
  }

  void judge() {
    execution_.derive_from_reads();
    if (axioms_.coherence && !satisfies_coherence(execution_)) return;
    if (axioms_.atomicity && !satisfies_atomicity(execution_)) return;
    if (axioms_.sc_per_location && !satisfies_sc_per_location(execution_)) return;
    if (axioms_.causality && !reads_nothing_replaced(execution_)) return;
    ++verdict_.executions;
    const Verdict::Reach reach = in_order() ? Verdict::Reach::in_order : Verdict::Reach::reordered;
    note_outcomes(reach);
    note_races(reach);
  }

  /// See Verdict::Reach. The two events of an atomic are made one.
  bool in_order() const {
    Relation order(skeleton_.events());
    const auto one_of = [&](int i) {
      const Event& event = skeleton_.event(i);
      return event.is_write() && event.is_atomic ? event.partner : i;
    };
    const auto add = [&](int from, EventSet to) {
      for (; to != 0; to &= to - 1)
        if (const int later = std::countr_zero(to); one_of(later) != one_of(from))
          order.add(one_of(from), one_of(later));
    };
    for (int i = 0; i < skeleton_.events(); ++i) {
      add(i, skeleton_.fixed_order.row(i) | execution_.reads_from.row(i) | execution_.coherence.row(i) |
                 execution_.fence_order.row(i));
      if (skeleton_.event(i).is_read() && skeleton_.event(i).is_atomic) add(i, execution_.from_reads.row(i));
    }
    return order.acyclic();
  }

  void note_outcomes(Verdict::Reach reach) {
    Outcome outcome;
    for (const Symbol& symbol : skeleton_.path.registers) outcome.push_back(execution_.value(symbol));
    const std::size_t registers = outcome.size();
    outcome.resize(outcome_size(skeleton_.program));
    note_memory(0, registers, outcome, reach);
  }

  /// What memory holds at the end: in each cell the last write, or one of the last that race.
  void note_memory(std::size_t c, std::size_t registers, Outcome& outcome, Verdict::Reach reach) {
    if (c == skeleton_.path.cells.size()) {
      Verdict::Reach& known = verdict_.outcomes.try_emplace(outcome, reach).first->second;
      known = std::max(known, reach);
      return;
    }
    const Cell& cell = skeleton_.path.cells[c];
    const Location& location = skeleton_.program.locations[static_cast<std::size_t>(cell.location)];
    const std::size_t index = index_of_memory(skeleton_.program, cell.location, cell.begin / location.width);
    const std::uint64_t before = outcome[index];
    const auto hold = [&](std::uint64_t bits) {
      if (cell.width < 8) bits &= (std::uint64_t{1} << (8 * cell.width)) - 1;
      outcome[index] = before | bits << (8 * (cell.begin % location.width));
      note_memory(c + 1, registers, outcome, reach);
      outcome[index] = before;
    };
    const std::vector<int>& writers = skeleton_.writers[c];
    for (const int write : writers) {
      const auto follows = [&](int other) { return execution_.coherence.has(write, other); };
      if (std::any_of(writers.begin(), writers.end(), follows)) continue;
      hold(execution_.values[static_cast<std::size_t>(write)] >> (8 * (cell.begin - skeleton_.event(write).begin)));
    }
    if (writers.empty()) hold(cell.initial);
  }

  void note_races(Verdict::Reach reach) {
    // Races rest on causality alone, so executions that differ in coherence only have the same.
    if (races_noted_ && *races_noted_ >= reach) return;
    races_noted_ = reach;
    for (const auto& [a, b] : skeleton_.suspects) {
      if (execution_.base_causality.has(a, b) || execution_.base_causality.has(b, a)) continue;
      const Event &x = skeleton_.event(a), &y = skeleton_.event(b);
      if (execution_.causality.has(a, b) || execution_.causality.has(b, a)) {
        if (reach == Verdict::Reach::in_order && !verdict_.ordered_by_observation)
          verdict_.ordered_by_observation = fmt::format("{} and {}", name(x), name(y));
        continue;
      }
      if (x.cell != y.cell || x.cells != y.cells) verdict_.mixed_size_race = true;
      if (verdict_.race && verdict_.race_reach >= reach) continue;
      verdict_.race = fmt::format("{} and {}", name(x), name(y));
      verdict_.race_reach = reach;
    }
  }

  std::string name(const Event& event) const {
    const Thread& thread = skeleton_.program.threads[static_cast<std::size_t>(event.thread)];
    const Instruction& instruction = thread.code[static_cast<std::size_t>(event.instruction)];
    return fmt::format("{}: {}", thread.name, print(skeleton_.program, thread, instruction));
  }

  const Axioms axioms_;
  const Skeleton skeleton_;
  Execution execution_;
  Verdict& verdict_;
  std::vector<Choice> choices_;
  std::optional<Verdict::Reach> races_noted_;
};

}  // namespace

Verdict explore(const Program& program, const Limits& limits) {
  Verdict verdict;
  for (const Path& path : unfold(program, limits.failing_polls)) Search(program, path, limits.axioms, verdict).run();
  return verdict;
}

std::string contradiction(const LitmusTest& test, const Expectation& expectation, const Verdict& verdict) {
  const auto find = [&](bool wanted) {
    return std::find_if(verdict.outcomes.begin(), verdict.outcomes.end(),
                        [&](const auto& entry) { return expectation.condition.holds(entry.first) == wanted; });
  };
  const auto end = verdict.outcomes.end();
  const auto show = [&](auto entry) { return describe(test.program, entry->first); };
  const std::string line = fmt::format("{}: expected {}", test.name, expectation.text);
  const bool forbids =
      expectation.kind == Expectation::Kind::forbidden || expectation.kind == Expectation::Kind::required;
  if (verdict.executions == 0) return line + ", got no execution at all";
  if (forbids && verdict.mixed_size_race)
    return fmt::format("{}, got a mixed-size race, which forbids nothing: {}", line, *verdict.race);
  switch (expectation.kind) {
    case Expectation::Kind::race_free:
      return verdict.race ? fmt::format("{}, got a race: {}", line, *verdict.race) : "";
    case Expectation::Kind::racy: return verdict.race ? "" : line + ", got no race";
    case Expectation::Kind::allowed:
      return find(true) != end || verdict.mixed_size_race
                 ? ""
                 : fmt::format("{}, got none of {} outcomes", line, verdict.outcomes.size());
    case Expectation::Kind::forbidden:
      return find(true) == end ? "" : fmt::format("{}, got {}", line, show(find(true)));
    case Expectation::Kind::required:
      return find(false) == end ? "" : fmt::format("{}, got {}", line, show(find(false)));
  }
  return line;
}

}  // namespace tutti::emulator::litmus

// Properties that the model is known to have, on random programs: sequential consistency where it must come out, and
// that stronger programs allow less.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/emulator/litmus/memory_model.hpp"
#include "tests/emulator/litmus/parse.hpp"
#include "tests/emulator/litmus/random_program.hpp"

namespace tutti::emulator::litmus {
namespace {

// ---- sequential consistency -----------------------------------------------------------------------------------------

/// All outcomes of taking one instruction after the other from the threads, in every order.
class Interleavings {
 public:
  explicit Interleavings(const Program& program) : program_(program) {}
  std::set<Outcome> all() {
    State state;
    state.next.resize(program_.threads.size());
    state.values.resize(outcome_size(program_));
    for (std::size_t l = 0; l < program_.locations.size(); ++l)
      for (int e = 0; e < program_.locations[l].elements; ++e)
        state.values[index_of_memory(program_, static_cast<int>(l), e)] = program_.locations[l].initial;
    go(state);
    return outcomes_;
  }

 private:
  struct State {
    std::vector<std::size_t> next;
    Outcome values;
  };

  void go(const State& state) {
    bool over = true;
    for (std::size_t t = 0; t < program_.threads.size(); ++t) {
      if (state.next[t] == program_.threads[t].code.size()) continue;
      over = false;
      State after = state;
      step(after, t);
      go(after);
    }
    if (over) outcomes_.insert(state.values);
  }

  void step(State& state, std::size_t t) const {
    const Instruction& instruction = program_.threads[t].code[state.next[t]++];
    const auto reg = [&](int r) -> std::uint64_t& {
      return state.values[index_of_register(program_, static_cast<int>(t), r)];
    };
    if (instruction.guard && !compare(part_of(reg(instruction.guard->reg), instruction.guard->part),
                                      instruction.guard->comparison, instruction.guard->constant))
      return;
    if (instruction.location < 0) return;  // a fence
    const auto value = [&](std::size_t i) {
      const Operand& operand = instruction.from[i];
      return operand.plus + (operand.reg < 0 ? 0 : reg(operand.reg));
    };
    for (int e = 0; e < instruction.vector; ++e) {
      std::uint64_t& memory =
          state.values[index_of_memory(program_, instruction.location, instruction.offset / instruction.width + e)];
      const auto i = static_cast<std::size_t>(e);
      if (instruction.kind == Kind::load) {
        reg(instruction.to[i]) = memory;
      } else if (instruction.kind == Kind::store) {
        memory = value(i);
      } else {
        const std::uint64_t old = memory;
        switch (instruction.operation) {
          case AtomicOperation::add: memory = old + value(0); break;
          case AtomicOperation::exchange: memory = value(0); break;
          case AtomicOperation::compare_and_swap: memory = old == value(0) ? value(1) : old; break;
          default: throw std::logic_error("an atomic that no random program has");
        }
        if (!instruction.to.empty()) reg(instruction.to[0]) = old;
      }
    }
  }

  const Program& program_;
  std::set<Outcome> outcomes_;
};

std::set<Outcome> outcomes_of(const Verdict& verdict) {
  std::set<Outcome> outcomes;
  for (const auto& [outcome, reach] : verdict.outcomes) outcomes.insert(outcome);
  return outcomes;
}

std::string differences(const Program& program, const std::set<Outcome>& expected, const std::set<Outcome>& got) {
  std::string text = print(program);
  for (const Outcome& outcome : expected)
    if (!got.contains(outcome)) text += "expected, not got: " + describe(program, outcome) + '\n';
  for (const Outcome& outcome : got)
    if (!expected.contains(outcome)) text += "got, not expected: " + describe(program, outcome) + '\n';
  return text;
}

template <class Change>
void change_accesses(Program& program, Change change) {
  for (Thread& thread : program.threads)
    for (Instruction& instruction : thread.code)
      if (instruction.location >= 0) change(instruction);
}

/// A random program without barriers, later kernels and accesses that overlap in part.
std::optional<Program> plain_program(std::uint64_t seed) {
  Program program = random_program(seed);
  for (Thread& thread : program.threads) {
    thread.after.clear();
    std::erase_if(thread.code, [](const Instruction& i) { return i.kind == Kind::barrier; });
    for (const Instruction& i : thread.code)
      if (i.location >= 0 && i.width != program.locations[static_cast<std::size_t>(i.location)].width) return {};
  }
  return program;
}

/// Lustig et al. (2019) prove it of the mapping of sequentially consistent C++ atomics: a fence.sc between every two
/// accesses leaves interleavings only.
TEST(SequentialConsistency, ComesFromAFenceScBetweenEveryTwoAccesses) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::optional<Program> program = plain_program(seed);
    if (!program || program->threads.size() > 3) continue;  // four have too many orders of fences
    for (Thread& thread : program->threads) {
      std::vector<Instruction> code;
      for (Instruction& instruction : thread.code) {
        if (instruction.kind == Kind::fence || instruction.vector != 1) continue;
        if (code.size() >= 5) break;
        if (!code.empty()) {
          Instruction fence;
          fence.kind = Kind::fence;
          fence.order = Order::seq_cst;
          fence.scope = Scope::sys;
          code.push_back(fence);
        }
        if (instruction.order == Order::weak) instruction.order = Order::relaxed;
        instruction.scope = Scope::sys;
        code.push_back(instruction);
      }
      thread.code = code;
    }
    const std::set<Outcome> got = outcomes_of(explore(*program)), expected = Interleavings(*program).all();
    ASSERT_EQ(got, expected) << "seed " << seed << '\n' << differences(*program, expected, got);
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

/// Whatever orders and scopes a program has: to take one instruction after the other satisfies the axioms.
TEST(SequentialConsistency, IsNeverForbidden) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const std::optional<Program> program = plain_program(seed);
    if (!program) continue;
    const std::set<Outcome> got = outcomes_of(explore(*program)), least = Interleavings(*program).all();
    EXPECT_TRUE(std::includes(got.begin(), got.end(), least.begin(), least.end())) << "seed " << seed << '\n'
                                                                                   << differences(*program, least, got);
  }
}

// ---- monotony -------------------------------------------------------------------------------------------------------

/// The ISA's note on atomics: an order may always be strengthened. So may a scope be widened.
TEST(Monotony, StrongerOrdersAndWiderScopesAllowNothingNew) {
  const auto stronger = [](Instruction& i) {
    if (i.order != Order::relaxed) return;
    i.is_volatile = false;
    const bool atomic = i.kind == Kind::atomic;
    i.order = atomic ? Order::acq_rel : i.kind == Kind::load ? Order::acquire : Order::release;
  };
  const auto wider = [](Instruction& i) {
    if (i.order != Order::weak) i.scope = Scope::sys;
  };
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const Program program = random_program(seed);
    const Verdict before = explore(program);
    for (const std::function<void(Instruction&)>& change : {std::function<void(Instruction&)>(stronger), {wider}}) {
      Program changed = program;
      change_accesses(changed, change);
      const Verdict after = explore(changed);
      const std::set<Outcome> allowed = outcomes_of(before), now = outcomes_of(after);
      EXPECT_TRUE(std::includes(allowed.begin(), allowed.end(), now.begin(), now.end()))
          << "seed " << seed << '\n'
          << differences(changed, allowed, now);
      EXPECT_FALSE(after.race && !before.race) << "seed " << seed << ": " << *after.race << '\n' << print(changed);
    }
  }
}

}  // namespace
}  // namespace tutti::emulator::litmus

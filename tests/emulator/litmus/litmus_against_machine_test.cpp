// The machine with its checking memory against the axioms, on thousands of random programs and on the litmus files.
//
// Each program goes two ways: the axioms decide over all executions; the machine runs its PTX under many seeded
// schedules. Then:
//   - every outcome that the machine produces is one of an in-order execution that the axioms allow (see
//     Verdict::Reach: the machine does not speculate);
//   - the machine reports a race if, and only if, some in-order execution has one. There is one difference, and it is
//     required to be there: accesses that only an observation orders (Verdict::ordered_by_observation) are a race to
//     the machine. tutti never mixes weak and strong accesses of a word, so nothing is lost by it;
//   - of a race-free program the machine produces every outcome of an in-order execution, given seeds enough. Rare ones
//     may be missing of one program in 500; of one in 10 among those with strong vector accesses, whose elements go
//     their own ways.
// usage: litmus_against_machine_test FOLDER [--programs N] [--first SEED] [--seeds N] [GoogleTest's options]
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/litmus/machine_runs.hpp"
#include "tests/emulator/litmus/memory_model.hpp"
#include "tests/emulator/litmus/parse.hpp"
#include "tests/emulator/litmus/ptx_text.hpp"
#include "tests/emulator/litmus/random_program.hpp"

namespace tutti::emulator::litmus {
namespace {

struct Settings {
  std::filesystem::path folder;
  std::uint64_t programs = 6000;
  std::uint64_t first = 1;
  std::uint64_t seeds = 100'000;  ///< at most, for one program
} settings;
constexpr std::uint64_t kVectorSeeds = 5000;  ///< at most, for one with strong vector accesses

/// What the machine did with a program.
struct Observed {
  std::map<Outcome, std::uint64_t> outcomes;  ///< and the first seed that gave it
  std::string race;
  std::uint64_t race_seed = 0;
  std::uint64_t runs = 0;
};

std::set<Outcome> in_order(const Verdict& verdict) {
  std::set<Outcome> outcomes;
  for (const auto& [outcome, reach] : verdict.outcomes)
    if (reach == Verdict::Reach::in_order) outcomes.insert(outcome);
  return outcomes;
}

bool has_strong_vector(const Program& program) {
  for (const Thread& thread : program.threads)
    for (const Instruction& instruction : thread.code)
      if (instruction.vector > 1 && instruction.order != Order::weak) return true;
  return false;
}

struct Seeds {
  std::uint64_t least, most;
};

/// Runs until a race is reported, or until all outcomes have been seen that there may be and as many runs again have
/// shown no other.
Observed observe(const Program& program, std::size_t most_outcomes, Seeds seeds) {
  Observed observed;
  MachineRuns machine(program);
  std::uint64_t last_new = 0;
  for (std::uint64_t seed = 1; seed <= seeds.most; ++seed) {
    ++observed.runs;
    const MachineRuns::Result result = machine.run(seed);
    if (result.race) {
      observed.race = *result.race;
      observed.race_seed = seed;
      return observed;
    }
    if (result.stuck) continue;
    if (observed.outcomes.try_emplace(result.outcome, seed).second) last_new = seed;
    if (observed.outcomes.size() >= most_outcomes && seed >= std::max(2 * last_new, seeds.least)) return observed;
  }
  return observed;
}

/// How many programs, outcomes and runs there were of which kind.
struct Tally {
  std::map<std::string, std::uint64_t> programs;
  std::uint64_t runs = 0;
  struct Outcomes {
    std::uint64_t programs = 0, subsets = 0;
    std::string examples;
  } with_vectors, without_vectors;  ///< race-free ones

  void print() const {
    for (const auto& [what, count] : programs) fmt::print("{:8} {}\n", count, what);
    fmt::print("{:8} runs of the machine\n", runs);
  }
};

std::string compare_races(const Verdict& verdict, const Observed& observed, Tally& tally) {
  if (verdict.race && verdict.race_reach == Verdict::Reach::in_order) {
    ++tally.programs["racy, reported"];
    return observed.race.empty() ? fmt::format("race that the machine does not report: {}\n", *verdict.race) : "";
  }
  if (verdict.ordered_by_observation) {
    ++tally.programs["ordered by an observation only, reported as a race"];
    return observed.race.empty() ? fmt::format("taken for ordered: {}\n", *verdict.ordered_by_observation) : "";
  }
  return observed.race.empty() ? ""
                               : fmt::format("no race, but seed {} reports: {}\n", observed.race_seed, observed.race);
}

std::string compare_outcomes(const Program& program, const Verdict& verdict, const Observed& observed, Tally& tally) {
  std::string complaints;
  for (const auto& [outcome, seed] : observed.outcomes) {
    const auto found = verdict.outcomes.find(outcome);
    if (found == verdict.outcomes.end())
      complaints += fmt::format("the axioms forbid what seed {} gives: {}\n", seed, describe(program, outcome));
    else if (found->second == Verdict::Reach::reordered)
      complaints +=
          fmt::format("no in-order execution gives what seed {} gives: {}\n", seed, describe(program, outcome));
  }
  std::string unseen_ones;
  std::size_t unseen = 0;
  const std::set<Outcome> expected = in_order(verdict);
  for (const Outcome& outcome : expected) {
    if (observed.outcomes.contains(outcome)) continue;
    if (++unseen <= 3) unseen_ones += fmt::format("not seen: {}\n", describe(program, outcome));
  }
  const bool vectors = has_strong_vector(program);
  const bool reordered = expected.size() < verdict.outcomes.size() || verdict.race;
  ++tally.programs[fmt::format("race-free{}, {}{}", vectors ? ", strong vectors" : "",
                               unseen == 0 ? "equal" : "a subset", reordered ? ", others need reordering" : "")];
  Tally::Outcomes& outcomes = vectors ? tally.with_vectors : tally.without_vectors;
  ++outcomes.programs;
  if (unseen == 0) return complaints;
  ++outcomes.subsets;
  outcomes.examples += fmt::format("{}{} of {} in-order outcomes not seen in {} runs\n{}", unseen_ones, unseen,
                                   expected.size(), observed.runs, print(program));
  return complaints;
}

/// Has the axioms judge one program and the machine run the other, which for a true comparison is the same. What
/// differs, line by line; empty if nothing does.
std::string compare(const Program& program, const Program& run, Seeds seeds, Tally& tally) {
  const Verdict verdict = explore(program);
  const bool race = (verdict.race && verdict.race_reach == Verdict::Reach::in_order) || verdict.ordered_by_observation;
  if (has_strong_vector(program) && !race) seeds.most = std::min(seeds.most, kVectorSeeds);
  const Observed observed = observe(run, race ? ~std::size_t{0} : in_order(verdict).size(), seeds);
  tally.runs += observed.runs;
  const std::string complaints = compare_races(verdict, observed, tally);
  return race || !complaints.empty() ? complaints : compare_outcomes(program, verdict, observed, tally);
}

TEST(RandomPrograms, AreJudgedAlikeByMachineAndAxioms) {
  Tally tally;
  int failures = 0;
  for (std::uint64_t seed = settings.first; seed < settings.first + settings.programs && failures < 10; ++seed) {
    const Program program = random_program(seed);
    const std::string complaints = compare(program, program, {50, settings.seeds}, tally);
    if (complaints.empty()) continue;
    ++failures;
    ADD_FAILURE() << "program " << seed << ": " << complaints << print(program);
  }
  tally.print();
  EXPECT_LE(tally.without_vectors.subsets * 500, tally.without_vectors.programs) << tally.without_vectors.examples;
  EXPECT_LE(tally.with_vectors.subsets * 10, tally.with_vectors.programs) << tally.with_vectors.examples;
}

TEST(LitmusFiles, AreJudgedAlikeByMachineAndAxioms) {
  Tally tally;
  std::set<std::string> not_run;
  for (const char* const subfolder : {"classics", "protocol"}) {
    for (const auto& entry : std::filesystem::directory_iterator(settings.folder / subfolder)) {
      const std::string name = entry.path().stem().string();
      const Program program = parse_file(entry.path().string()).program;
      try {
        to_ptx(program);
      } catch (const std::runtime_error&) {
        not_run.insert(name);
        continue;
      }
      EXPECT_EQ(compare(program, program, {50, settings.seeds}, tally), "") << name << '\n' << print(program);
    }
  }
  tally.print();
  EXPECT_EQ(tally.without_vectors.subsets, 0u) << tally.without_vectors.examples;
  EXPECT_EQ(tally.with_vectors.subsets, 0u) << tally.with_vectors.examples;
  // Its bar.arrive would need warps of threads.
  EXPECT_EQ(not_run, (std::set<std::string>{"message_passing_barrier_arrive"}));
}

/// The program with one change: a weaker order, a narrower scope, an instruction gone.
std::vector<Program> mutants(const Program& program) {
  std::vector<Program> all;
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    for (std::size_t i = 0; i < program.threads[t].code.size(); ++i) {
      const Instruction& original = program.threads[t].code[i];
      const auto change = [&](auto how) {
        Program mutant = program;
        how(mutant.threads[t].code[i]);
        all.push_back(std::move(mutant));
      };
      if (original.kind == Kind::barrier || original.kind == Kind::barrier_arrive) continue;
      if (original.kind != Kind::fence && original.order != Order::weak && original.order != Order::relaxed)
        change([](Instruction& instruction) { instruction.order = Order::relaxed; });
      if (original.kind == Kind::store || (original.kind == Kind::load && !original.until))
        change([](Instruction& instruction) {
          instruction.order = Order::weak;
          instruction.is_volatile = false;
        });
      if (original.order != Order::weak && !original.is_volatile)
        for (const Scope scope : {Scope::cta, Scope::gpu})
          change([&](Instruction& instruction) { instruction.scope = scope; });
      Program without = program;
      without.threads[t].code.erase(without.threads[t].code.begin() + static_cast<std::ptrdiff_t>(i));
      all.push_back(std::move(without));
    }
  }
  return all;
}

TEST(LitmusFiles, WithOneChangeAreJudgedAlikeToo) {
  Tally tally;
  int failures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(settings.folder / "protocol")) {
    for (const Program& mutant : mutants(parse_file(entry.path().string()).program)) {
      if (failures == 10) return;
      if (explore(mutant).executions == 0) continue;  // it hangs
      const std::string complaints = compare(mutant, mutant, {50, 5000}, tally);
      if (complaints.empty()) continue;
      ++failures;
      ADD_FAILURE() << entry.path().stem() << ": " << complaints << print(mutant);
    }
  }
  tally.print();
  EXPECT_LE(tally.without_vectors.subsets * 100, tally.without_vectors.programs) << tally.without_vectors.examples;
}

/// A machine that took each release for a relaxed store, or each acquire for a relaxed load, or each scope for the
/// block's, would not pass.
TEST(TheComparison, NoticesAMachineThatGetsOrdersOrScopesWrong) {
  const auto weaken = [](Program program, int how) {
    for (Thread& thread : program.threads) {
      for (Instruction& instruction : thread.code) {
        if (how == 0 && instruction.kind == Kind::store && instruction.order == Order::release)
          instruction.order = Order::relaxed;
        if (how == 1 && instruction.kind == Kind::load && instruction.order == Order::acquire)
          instruction.order = Order::relaxed;
        if (how == 2 && instruction.order != Order::weak) instruction.scope = Scope::cta;
      }
    }
    return program;
  };
  const auto seen = [](const Verdict& verdict) {
    const bool race = verdict.race && verdict.race_reach == Verdict::Reach::in_order;
    return std::pair{race || verdict.ordered_by_observation, race ? std::set<Outcome>{} : in_order(verdict)};
  };
  for (int how = 0; how < 3; ++how) {
    int differ = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      const Program program = random_program(seed), weaker = weaken(program, how);
      if (has_strong_vector(program) || seen(explore(program)) == seen(explore(weaker))) continue;
      ++differ;
      Tally ignored;
      EXPECT_NE(compare(program, weaker, {3000, 20'000}, ignored), "") << "way " << how << ", program " << seed << '\n'
                                                                       << print(program);
    }
    EXPECT_GT(differ, 10) << "way " << how << " hardly matters";
  }
}

}  // namespace
}  // namespace tutti::emulator::litmus

int main(int argc, char** argv) {
  using tutti::emulator::litmus::settings;
  testing::InitGoogleTest(&argc, argv);
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t& i) -> std::uint64_t {
    return i + 1 < words.size() ? std::strtoull(words[++i].c_str(), nullptr, 10) : 0;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--programs")
      settings.programs = number(i);
    else if (words[i] == "--first")
      settings.first = number(i);
    else if (words[i] == "--seeds")
      settings.seeds = number(i);
    else
      settings.folder = words[i];
  }
  if (!std::filesystem::is_directory(settings.folder / "protocol") || settings.programs == 0 || settings.seeds == 0) {
    fmt::print(stderr, "usage: {} FOLDER [--programs N] [--first SEED] [--seeds N]\n", argv[0]);
    return 2;
  }
  return RUN_ALL_TESTS();
}

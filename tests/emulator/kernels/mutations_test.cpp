// The checker is itself checked: the kernels that ship with instructions changed, which must be found, or stand with a
// reason in mutations_harmless.txt.
#include "tests/emulator/kernels/mutations.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "tests/emulator/kernels/settings.hpp"
#include "tests/emulator/kernels/words.hpp"
#include "tests/harmless.hpp"
#include "tests/on_all_cores.hpp"

namespace tutti::emulator {
namespace {

using cases::Mapped;
using tests::Harmless;
using tests::on_all_cores;
using tests::Verdict;

constexpr int kRanks = 4;

/// Adds what became of each change.
void mutate_all(Kernel kernel, Mapped mapped, const Harmless& harmless, std::vector<Verdict>& verdicts) {
  KernelTrial trial(shipped_code(), least_setting(kernel, kRanks, mapped));
  const Function* const original = *trial.functions().begin();
  const Module& module = *shipped_code().collective(kernel).module;
  Words words(TUTTI_SOURCE);
  for (const Mutation& mutation : mutations_of(module, *original, trial.executed(original))) {
    const Function changed = mutated(*original, mutation);
    trial.replace(original, &changed);
    std::string name =
        std::string(name_of(kernel)) + (mapped != Mapped::none ? " mapped: " : " staged: ") + mutation.name;
    if (mutation.at.size() == 1) {
      const Instruction& i = original->code[mutation.at.front()];
      name.append(" in ").append(words.text_of(module, *original, i)).append(", ").append(module.text(i));
    }
    const std::uint64_t seeds = seeds_for_defect(harmless.lists(name));
    bool found = false;
    for (std::uint64_t seed = 1; seed <= seeds && !found; ++seed) found = !trial.run(seed).clean();
    trial.replace(&changed, original);
    verdicts.push_back({std::move(name), found});
  }
}

TEST(ChangedInstructions, AreFoundOrListed) {
  const Harmless harmless(TUTTI_MUTATIONS_HARMLESS);
  const std::vector<Kernel> kernels = all_kernels();
  std::vector<Verdict> verdicts;
  std::mutex mutex;
  on_all_cores(2 * kernels.size(), [&](std::size_t i) {
    std::vector<Verdict> these;
    mutate_all(kernels[i / 2], i % 2 == 0 ? cases::best_for(kernels[i / 2]) : Mapped::none, harmless, these);
    const std::scoped_lock lock(mutex);
    verdicts.insert(verdicts.end(), these.begin(), these.end());
  });
  const auto found = std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.found; });
  std::printf("%zu changes, %td found, the others listed as harmless\n", verdicts.size(), found);
  EXPECT_GT(found, 500);
  for (const std::string& complaint : harmless.complaints(verdicts)) ADD_FAILURE() << complaint;
}

}  // namespace
}  // namespace tutti::emulator

// The checker is itself checked: kernels with a defect planted in their block, each of which must be found, or stand
// with a reason in plants_harmless.txt.
#include <gtest/gtest.h>

#include <mutex>

#include "tests/emulator/kernels/settings.hpp"
#include "tests/harmless.hpp"
#include "tests/on_all_cores.hpp"

namespace tutti::emulator {
namespace {

using cases::Mapped;
using tests::Harmless;
using tests::on_all_cores;
using tests::Verdict;

constexpr int kRanks = 4;

/// Adds what became of each defect that the rank can come by.
void plant_all(const KernelCode& code, TrialSetting setting, int rank, const std::string& where,
               const Harmless& harmless, std::vector<Verdict>& verdicts) {
  setting.plant = {Plant::Kind::observes, rank, Purpose::data};
  KernelTrial observed(code, setting);
  ASSERT_EQ(observed.run(1).text, "") << where;
  for (const Plant& plant : observed.planted()) {
    setting.plant = plant;
    KernelTrial trial(code, setting);
    const std::string name = where + text_of(plant);
    const std::uint64_t seeds = seeds_for_defect(harmless.lists(name));
    bool found = false;
    for (std::uint64_t seed = 1; seed <= seeds && !found; ++seed) found = !trial.run(seed).clean();
    verdicts.push_back({name, found});
  }
}

TEST(PlantedDefects, AreFoundOrListed) {
  const KernelCode code({TUTTI_DEFECTIVE}, TUTTI_ARCHITECTURE);
  const Harmless harmless(TUTTI_PLANTS_HARMLESS);
  const std::vector<Kernel> kernels = all_kernels();
  std::vector<Verdict> verdicts;
  std::mutex mutex;
  on_all_cores(4 * kernels.size(), [&](std::size_t i) {
    const Kernel kernel = kernels[i / 4];
    const Mapped mapped = i % 2 == 0 ? cases::best_for(kernel) : Mapped::none;
    const int rank = i / 2 % 2 == 0 ? 1 : kRanks - 1;  // any, and the root
    std::vector<Verdict> these;
    plant_all(code, least_setting(kernel, kRanks, mapped), rank,
              std::string(name_of(kernel)) + (mapped != Mapped::none ? " mapped: " : " staged: "), harmless, these);
    const std::scoped_lock lock(mutex);
    verdicts.insert(verdicts.end(), these.begin(), these.end());
  });
  const auto found = std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.found; });
  std::printf("%zu defects planted, %td found, the others listed as harmless\n", verdicts.size(), found);
  EXPECT_GT(found, 500);
  for (const std::string& complaint : harmless.complaints(verdicts)) ADD_FAILURE() << complaint;
}

}  // namespace
}  // namespace tutti::emulator

// The checker is itself checked: kernels with a defect planted in their block, each of which must be found.
#include <gtest/gtest.h>

#include "tests/emulator/kernels/settings.hpp"

namespace tutti::emulator {
namespace {

using cases::Mapped;
using Defective = Plant::Kind;

constexpr std::uint64_t kSeeds = 20;
constexpr int kRanks = 4;

const KernelCode& defective_code() {
  static const KernelCode code({TUTTI_DEFECTIVE}, TUTTI_ARCHITECTURE);
  return code;
}

/// Every defect, on one rank and on the root.
std::vector<Plant> all_plants() {
  std::vector<Plant> all;
  for (const int rank : {1, kRanks - 1})
    for (int k = 1; k < Plant::kKinds; ++k) {
      const auto kind = static_cast<Defective>(k);
      const bool with_purpose = kind == Defective::omits_wait || kind == Defective::waits_short ||
                                kind == Defective::omits_signal || kind == Defective::signals_early ||
                                kind == Defective::wrong_peer || kind == Defective::omits_advance;
      for (int purpose = 0; purpose < (with_purpose ? kPurposes : 1); ++purpose)
        all.push_back({kind, rank, static_cast<Purpose>(purpose)});
    }
  return all;
}

/// Why nothing can be found, if so.
const char* why_harmless(const TrialSetting&) { return nullptr; }

class Planted : public testing::TestWithParam<Kernel> {};

TEST_P(Planted, DefectsAreFound) {
  for (const Mapped mapped : {Mapped::all, Mapped::none})
    for (const Plant& plant : all_plants()) {
      TrialSetting setting = setting_of(GetParam(), kRanks, bytes_for(GetParam(), kRanks), DataType::f32, mapped, 3);
      setting.plant = plant;
      KernelTrial trial(defective_code(), setting);
      bool used = false, found = false;
      for (std::uint64_t seed = 1; seed <= kSeeds && !found; ++seed) {
        const Outcome outcome = trial.run(seed);
        used |= outcome.planted;
        found = !outcome.clean();
        if (!used) break;
      }
      const char* const harmless = why_harmless(setting);
      if (!used) continue;
      EXPECT_TRUE(found || harmless) << cases::text_of(setting.calls.front()) << ": " << text_of(plant)
                                     << " is not found";
      EXPECT_FALSE(found && harmless) << cases::text_of(setting.calls.front()) << ": " << text_of(plant)
                                      << " is found, but listed as harmless: " << harmless;
    }
}

INSTANTIATE_TEST_SUITE_P(In, Planted, testing::ValuesIn(all_kernels()),
                         [](const auto& kernel) { return std::string(name_of(kernel.param)); });

}  // namespace
}  // namespace tutti::emulator

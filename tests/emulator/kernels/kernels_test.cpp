// Every kernel as it ships: right, and without a race, in every schedule that is tried.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/emulator/kernels/settings.hpp"

namespace tutti::emulator {
namespace {

using cases::Mapped;

constexpr std::uint64_t kSeeds = 20;

class Compiled : public testing::TestWithParam<Kernel> {};

void expect_clean(const TrialSetting& setting, std::uint64_t seeds, const KernelCode& code = shipped_code()) {
  KernelTrial trial(code, setting);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = trial.run(seed);
    ASSERT_EQ(outcome.text, "") << cases::text_of(setting.calls.front()) << ", ranks " << setting.geometry.ranks
                                << ", threads " << setting.threads << ", seed " << seed;
  }
}

TEST_P(Compiled, KernelIsRightInEverySchedule) {
  constexpr DataType kOnePerWidth[] = {DataType::u8, DataType::f16, DataType::f32, DataType::f64};
  for (int ranks = 2; ranks <= 4; ++ranks) {
    int turn = ranks;
    for (const DataType type : kOnePerWidth) {
      const Mapped mapped[] = {cases::best_for(GetParam()), Mapped::none, Mapped::all_but_one};
      // Each kind of memory with each width in some world.
      expect_clean(setting_of(GetParam(), ranks, bytes_for(GetParam(), ranks), type, mapped[turn++ % 3], 2), kSeeds);
      if (HasFatalFailure() || cases::shape_of(GetParam()) == cases::Shape::nothing) break;
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(Compiled, KernelTakesEveryTypeAndOddSizes) {
  if (cases::shape_of(GetParam()) == cases::Shape::nothing) GTEST_SKIP() << "a barrier moves nothing";
  std::uint64_t salt = static_cast<std::uint64_t>(GetParam());
  for (int t = 0; t < kDataTypes; ++t) {
    TrialSetting setting = setting_of(GetParam(), 3, 0, static_cast<DataType>(t), Mapped::all, 1);
    const cases::Case base = setting.calls.front();
    setting.calls.clear();
    for (const std::size_t count : {0, 1, 7, 33, 67}) {
      cases::Case c = base;
      c.count = count;
      c.op = static_cast<ReduceOp>(++salt % kReduceOps);
      c.in_place = c.may_be_in_place() && salt % 3 == 0;
      c.mapped = static_cast<Mapped>(salt % 3);
      c.salt = salt;
      if (c.mapped == Mapped::all) c.mapped = cases::best_for(GetParam());
      if (!cases::takes(c, setting.geometry)) c.op = ReduceOp::sum;
      if (!cases::takes(c, setting.geometry) && by_multicast(GetParam())) c.mapped = Mapped::all;
      if (cases::takes(c, setting.geometry)) setting.calls.push_back(c);
    }
    expect_clean(setting, 1);
    if (HasFatalFailure()) return;
  }
}

/// What nvcc makes of the same sources for another architecture.
KernelCode code_for(int architecture) {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(TUTTI_KERNEL_PTX))
    if (file.path().string().ends_with(".sm_" + std::to_string(architecture) + ".ptx"))
      files.push_back(file.path().string());
  return KernelCode(files, architecture);
}

TEST_P(Compiled, KernelIsRightForOtherArchitectures) {
  static const KernelCode old_code = code_for(80), new_code = code_for(100);
  constexpr std::uint64_t kFew = 2;
  for (const KernelCode& code : {std::cref(old_code), std::cref(new_code)}) {
    // GPUs of sm_80 have no multimem.
    for (const Mapped mapped : {&code == &old_code ? Mapped::all : cases::best_for(GetParam()), Mapped::none})
      expect_clean(setting_of(GetParam(), 3, bytes_for(GetParam(), 3), DataType::f32, mapped, 2), kFew, code);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Code, Compiled, testing::ValuesIn(all_kernels()),
                         [](const auto& kernel) { return std::string(name_of(kernel.param)); });

TEST(TheSwitch, ReducesWhatItCanOnTwoToEightRanks) {
  for (const Kernel kernel : {Kernel::multicast_all_reduce, Kernel::multicast_reduce_scatter})
    for (const int ranks : {2, 4, 8})
      for (int t = 0; t < kDataTypes; ++t) {
        TrialSetting setting = setting_of(kernel, ranks, 0, static_cast<DataType>(t), Mapped::multicast, 1);
        const cases::Case base = setting.calls.front();
        setting.calls.clear();
        for (int op = 0; op < kReduceOps; ++op) {
          cases::Case c = base;
          c.op = static_cast<ReduceOp>(op);
          c.count = 171;
          c.salt = static_cast<std::uint64_t>(t + op);
          c.in_place = op % 2 == 1;
          if (cases::takes(c, setting.geometry)) setting.calls.push_back(c);
        }
        if (setting.calls.empty()) continue;
        expect_clean(setting, ranks == 8 ? 1 : 3);
        if (HasFatalFailure()) return;
      }
}

TEST(TheSwitch, IsNotAskedForBuffersThatStandAtDifferentPlaces) {
  for (const Kernel kernel :
       {Kernel::multicast_all_reduce, Kernel::multicast_reduce_scatter, Kernel::multicast_all_gather}) {
    expect_clean(setting_of(kernel, 3, bytes_for(kernel, 3), DataType::f32, Mapped::all, 2), kSeeds);
    if (HasFatalFailure()) return;
  }
}

TEST(Packets, AreWipedBeforeTheirTagsRepeat) {
  for (const Kernel kernel : {Kernel::packets_all_reduce, Kernel::packets_all_to_all}) {
    TrialSetting setting = setting_of(kernel, 3, 96, DataType::f32, Mapped::none, 5);
    setting.packet_uses = (std::uint64_t{1} << 32) - 4;
    expect_clean(setting, kSeeds);
  }
}

TEST(Calls, OfDifferentKernelsFollowEachOther) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    TrialSetting setting = setting_of(Kernel::barrier, 3, 0, DataType::f32, Mapped::all, 1);
    setting.geometry = cases::tight_geometry(3, 2, cases::kLeastSlots);
    setting.calls.clear();
    std::uint64_t salt = seed;
    for (int call = 0; call < 8; ++call) {
      const std::vector<Kernel> all = all_kernels();
      const Kernel kernel = all[(salt * 7 + static_cast<std::uint64_t>(call) * 11) % all.size()];
      cases::Case c = setting_of(kernel, 3, bytes_for(kernel, 3) / 2, DataType::i32, static_cast<Mapped>(++salt % 3), 1)
                          .calls.front();
      c.root = static_cast<int>(salt % 3);
      c.to = static_cast<int>((salt + 1) % 3);
      c.salt = salt;
      setting.calls.push_back(c);
    }
    expect_clean(setting, 1);
    if (HasFatalFailure()) return;
  }
}

TEST(Launches, ThatNeedMoreBlocksThanThereAreAreNamed) {
  TrialSetting setting = setting_of(Kernel::ring_all_reduce, 2, 2048, DataType::f32, Mapped::none, 1);
  setting.resident = 1;
  // One block at a time works while both ranks begin with the same one, and hangs when they do not.
  KernelTrial trial(shipped_code(), setting);
  bool hung = false;
  for (std::uint64_t seed = 1; seed <= kSeeds && !hung; ++seed) {
    const Outcome outcome = trial.run(seed);
    if (outcome.clean()) continue;
    hung = true;
    EXPECT_EQ(outcome.defect, Defect::too_few_residents) << outcome.text;
  }
  EXPECT_TRUE(hung) << "both ranks began with the same block in all of " << kSeeds << " schedules";
}

}  // namespace
}  // namespace tutti::emulator

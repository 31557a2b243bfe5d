// Runs all tests, then asks whether every spelling of the table was in one.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulator/ptx/arithmetic_trial.hpp"

namespace tutti::emulator::trial {
namespace {

class EverySpelling : public testing::Environment {
 public:
  void TearDown() override {
    const std::string filter = testing::GTEST_FLAG(filter);
    if (filter != "*") return;
    std::vector<std::string> missing;
    for (const std::string_view spelling : all_spellings())
      for (const bool pair : {false, true}) {
        const std::string name = fmt::format("{}{}", spelling, pair ? "|" : "");
        if (find_computation(spelling, pair).compute != nullptr && !tested().contains(name)) missing.push_back(name);
      }
    const std::size_t shown = std::min<std::size_t>(missing.size(), 20);
    EXPECT_TRUE(missing.empty()) << missing.size() << " spellings of the table are in no test: "
                                 << fmt::format("{} ...", fmt::join(missing.begin(), missing.begin() + shown, ", "));
  }
};

}  // namespace
}  // namespace tutti::emulator::trial

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new tutti::emulator::trial::EverySpelling);
  return RUN_ALL_TESTS();
}

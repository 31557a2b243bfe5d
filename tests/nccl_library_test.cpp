// NCCL's library, as this machine has it: nothing here needs a GPU.
#include "collectives/nccl_library.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "collectives/error.hpp"

namespace tutti::nccl {
namespace {

class NcclLibrary : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TUTTI_NCCL"); }
};

std::string error_with(const char* file) {
  setenv("TUTTI_NCCL", file, 1);
  try {
    (void)open_library();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    return error.what();
  }
  return "no error";
}

TEST_F(NcclLibrary, ThatIsNotThereIsOneLineWithWhatWasTried) {
  const std::string what = error_with("no-such-library.so.2");
  EXPECT_NE(what.find("no-such-library.so.2"), std::string::npos) << what;
  EXPECT_NE(what.find("TUTTI_NCCL"), std::string::npos) << what;
  EXPECT_EQ(what.find('\n'), std::string::npos) << what;
}

TEST_F(NcclLibrary, ThatIsSomethingElseIsRefusedByWhatItLacks) {
  const std::string what = error_with("libm.so.6");
  EXPECT_NE(what.find("libm.so.6 has no ncclGetVersion"), std::string::npos) << what;
}

TEST_F(NcclLibrary, HasEveryFunctionThatItsVersionPromises) {
  Library found{};
  try {
    found = open_library();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_GE(found.version, kLeastVersion);
  if (found.version >= 21900) {
    EXPECT_TRUE(found.mem_alloc && found.mem_free && found.comm_register && found.comm_deregister);
  }
  if (found.version >= 22800) {
    EXPECT_TRUE(found.gather && found.scatter && found.all_to_all);
  }
  EXPECT_STREQ(found.get_error_string(Result::success), "no error");
  EXPECT_NE(std::string(found.get_error_string(Result::invalid_argument)).find("invalid argument"), std::string::npos);
}

TEST_F(NcclLibrary, SpellsItsVersion) {
  EXPECT_EQ(version_text(22809), "2.28.9");
  EXPECT_EQ(version_text(21800), "2.18.0");
  EXPECT_EQ(version_text(2708), "2.7.8");
}

}  // namespace
}  // namespace tutti::nccl

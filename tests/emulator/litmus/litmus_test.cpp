// Every .litmus file is a test: what it expects of all executions of its program must be so.
// usage: litmus_test FOLDER [GoogleTest's options]; the folder has the subfolders classics and protocol.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/litmus/memory_model.hpp"
#include "tests/emulator/litmus/parse.hpp"

namespace tutti::emulator::litmus {
namespace {

std::filesystem::path folder;

std::vector<std::filesystem::path> files(const char* subfolder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder / subfolder))
    if (entry.path().extension() == ".litmus") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// "two_epochs" as "TwoEpochs".
std::string test_name(const std::filesystem::path& file) {
  std::string name;
  bool begins = true;
  for (const char c : file.stem().string()) {
    if (c != '_') name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return name;
}

class OfFile : public testing::Test {
 public:
  explicit OfFile(std::filesystem::path file) : file_(std::move(file)) {}
  void TestBody() override {
    const LitmusTest test = parse_file(file_.string());
    const Verdict verdict = explore(test.program);
    for (const Expectation& expectation : test.expectations) EXPECT_EQ(contradiction(test, expectation, verdict), "");
  }

 private:
  std::filesystem::path file_;
};

TEST(LitmusFiles, EachSaysWhatItStandsFor) {
  for (const char* const subfolder : {"classics", "protocol"}) {
    for (const auto& file : files(subfolder)) {
      std::ifstream in(file);
      std::string line;
      std::getline(in, line);
      EXPECT_TRUE(line.starts_with("// ") && line.size() > 20) << file << " opens with \"" << line << "\"";
    }
  }
}

/// A defect is a race, or an outcome that must not be and is.
TEST(LitmusFiles, EachThatIsNamedBadShowsItsDefectAndOnlyThose) {
  for (const auto& file : files("protocol")) {
    const bool named_bad = file.stem().string().ends_with("_bad");
    const LitmusTest test = parse_file(file.string());
    const auto shows = [](const Expectation& e) {
      return e.kind == Expectation::Kind::racy || e.kind == Expectation::Kind::allowed;
    };
    const auto racy = [](const Expectation& e) { return e.kind == Expectation::Kind::racy; };
    const auto& expectations = test.expectations;
    if (named_bad)
      EXPECT_TRUE(std::any_of(expectations.begin(), expectations.end(), shows)) << file << " shows no defect";
    else
      EXPECT_TRUE(std::none_of(expectations.begin(), expectations.end(), racy)) << file << " is racy but not named bad";
  }
}

/// In the good patterns every release and acquire, at its scope, is there for a reason: without it something that the
/// test expects is no longer so. (The exceptions pair with what comes before or after the cut that the test shows.)
TEST(LitmusFiles, OfTheProtocolNeedEachReleaseAndAcquireAsItIs) {
  const std::set<std::string> exceptions = {
      "enter_two_halves.litmus sender: ld.acquire.sys.u64 r0, [here]",
      "enter_two_halves.litmus sender: st.release.sys.u64 [there], 3",
      "enter_two_halves.litmus receiver: st.release.sys.u64 [here], 1",
      "several_credits.litmus reader: st.release.sys.u64 [credit], 2",
  };
  const auto is_contradicted = [](const LitmusTest& test) {
    const Verdict verdict = explore(test.program);
    return std::any_of(test.expectations.begin(), test.expectations.end(), [&](const Expectation& expectation) {
      return !contradiction(test, expectation, verdict).empty();
    });
  };
  int changes = 0;
  for (const auto& file : files("protocol")) {
    if (file.stem().string().ends_with("_bad")) continue;
    LitmusTest test = parse_file(file.string());
    for (Thread& thread : test.program.threads) {
      for (Instruction& instruction : thread.code) {
        if (instruction.order != Order::release && instruction.order != Order::acquire) continue;
        const std::string name =
            fmt::format("{} {}: {}", test.name, thread.name, print(test.program, thread, instruction));
        const Instruction original = instruction;
        instruction.order = Order::relaxed;
        EXPECT_TRUE(exceptions.contains(name) || is_contradicted(test)) << name << " might be relaxed";
        instruction = original;
        instruction.scope = original.scope == Scope::sys ? Scope::gpu : Scope::cta;
        EXPECT_TRUE(is_contradicted(test)) << name << " might be of a narrower scope";
        instruction = original;
        changes += 2;
      }
    }
  }
  EXPECT_GT(changes, 150);
}

/// The litmus tests that chapter 8 of the PTX ISA prints (that of aliases, a proxy, is left out).
TEST(LitmusFiles, AllThatTheIsaPrintsAreThere) {
  for (const char* const name :
       {"atomics_morally_strong", "atomics_narrow_scope_bad", "load_buffering_dependencies", "load_buffering_relaxed",
        "coherent_read_read", "message_passing_unconditional_read", "store_buffering_weak_fence_sc",
        "store_buffering_fence_acq_rel", "message_passing_red", "message_passing_atom"})
    EXPECT_TRUE(std::filesystem::exists(folder / "classics" / (std::string(name) + ".litmus"))) << name;
}

void register_files(const char* subfolder, const char* suite) {
  for (const auto& file : files(subfolder))
    testing::RegisterTest(suite, test_name(file).c_str(), nullptr, nullptr, file.string().c_str(), 1,
                          [file]() -> testing::Test* { return new OfFile(file); });
}

}  // namespace
}  // namespace tutti::emulator::litmus

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2 || !std::filesystem::is_directory(std::filesystem::path(argv[1]) / "protocol")) {
    fmt::print(stderr, "usage: {} FOLDER: the folder with classics/ and protocol/\n", argv[0]);
    return 2;
  }
  tutti::emulator::litmus::folder = argv[1];
  tutti::emulator::litmus::register_files("classics", "Classics");
  tutti::emulator::litmus::register_files("protocol", "Protocol");
  return RUN_ALL_TESTS();
}

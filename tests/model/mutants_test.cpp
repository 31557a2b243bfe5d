// Every word of every kernel is there for something: a rank that leaves it out, waits for one signal too few, tells
// others too early or takes another's lane is found out, or is listed with the reason why it does no harm.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/model/calls.hpp"
#include "tests/model/mutant_hunt.hpp"

namespace tutti::mutants {
namespace {

using model::full;
using model::kReduced;

/// A folder that is gone at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("tutti-mutants-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

TEST(Mutants, AreFoundOrListedWithTheReasonWhyTheyDoNoHarm) {
  const Folder folder;
  std::ifstream list(TUTTI_MUTANTS_HARMLESS);
  const std::string entries{std::istreambuf_iterator<char>(list), {}};
  Hunt hunt;
  hunt.seeds_of_listed = full() ? hunt.seeds : 6;
  if (kReduced) hunt.every = 16;
  hunt.harmless = folder.write("list", entries + "no_such_kernel: * -- planted: explains nothing\n");
  const Bag bag = run(hunt);
  std::printf("%s", table_of(bag).c_str());
  EXPECT_GT(bag.mutants.size(), 5000 / hunt.every);
  const auto is_planted = [](const std::string& complaint) {
    return complaint.ends_with("lists what is always found: no_such_kernel: *");
  };
  EXPECT_EQ(std::count_if(bag.complaints.begin(), bag.complaints.end(), is_planted), kReduced ? 0 : 1);
  for (const std::string& complaint : bag.complaints)
    if (!is_planted(complaint)) ADD_FAILURE() << complaint;
}

/// Those that have all of the texts in them.
std::size_t complaints_with(const Bag& bag, const std::vector<std::string>& texts) {
  return static_cast<std::size_t>(std::count_if(bag.complaints.begin(), bag.complaints.end(), [&](const auto& line) {
    return std::all_of(texts.begin(), texts.end(), [&](const auto& text) { return line.find(text) != line.npos; });
  }));
}

TEST(AHunt, ReportsWhatSurvivesUnlistedAndWhatIsListedThoughFound) {
  const Folder folder;
  Hunt hunt;
  hunt.kernels = {Kernel::direct_gather};
  hunt.seeds = 3;
  hunt.harmless = folder.write("list", "direct_gather: rank 1 leaves out wait(credit(root), * -- planted\n");
  const Bag bag = run(hunt);
  EXPECT_EQ(complaints_with(bag, {"not found", "every rank leaves out", "advance_uses"}), 2u);
  EXPECT_EQ(complaints_with(bag, {"lists what is found", "rank 1 leaves out wait(credit(root)"}), 2u);
  EXPECT_EQ(bag.complaints.size(), 4u);
}

TEST(AHunt, TakesNoEntryWithoutAReason) {
  const Folder folder;
  Hunt hunt;
  hunt.kernels = {Kernel::barrier};
  hunt.harmless = folder.write("list", "barrier: *\n");
  EXPECT_THROW(run(hunt), std::runtime_error);
}

TEST(AHunt, ReportsAWordThatNoSettingRuns) {
  const Folder folder;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_KERNEL_SOURCES))
    if (entry.path().extension() == ".hpp") std::filesystem::copy(entry.path(), folder.path());
  folder.write("another.hpp", "template <Block B>\nvoid another(B& block) {\n  block.signal(data(1),\n    1);\n}\n");
  const Mutants mutants({Kernel::barrier}, folder.path());
  const std::vector<std::string> untouched = mutants.untouched();
  EXPECT_EQ(std::count(untouched.begin(), untouched.end(), "kernels/another.hpp:3 signal(data(1), 1)"), 1);
  EXPECT_TRUE(std::none_of(untouched.begin(), untouched.end(), [](const std::string& word) {
    return word.starts_with("kernels/barrier.hpp") && word.find("enter") != word.npos;
  }));
}

TEST(WordsOfAKernel, AreReadFromItsSource) {
  const std::vector<WordCall> calls = calls_in(
      "a.hpp", "// block.wait(data(0), 1);\nblock_.copy(one(a),\n            b(c), 4); block.index();\nblock.sync();");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].text, "copy(one(a), b(c), 4)");
  EXPECT_EQ(calls[0].word, "copy");
  EXPECT_EQ(calls[0].line, 2);
  EXPECT_EQ(calls[1].text, "sync()");
  EXPECT_EQ(calls[1].line, 4);
}

TEST(WordsOfAKernel, ThatAreTheSameStandOnLinesOfTheirOwn) {
  const Folder folder;
  folder.write("a.hpp", "block.wait(data(0), 1); block.wait(data(1), 1);");
  EXPECT_THROW(WordCalls{folder.path()}, std::runtime_error);
}

}  // namespace
}  // namespace tutti::mutants

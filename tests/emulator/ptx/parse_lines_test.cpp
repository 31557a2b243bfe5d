// Does the parser accept what ptxas accepts, and refuse what it refuses?
#include "tests/emulator/ptx/parse_lines_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {
namespace {

constexpr int kHeadLines = 6, kKernelLines = 7, kBodyLine = 5;

std::vector<std::string> lines_with(char verdict) {
  std::vector<std::string> found;
  for (const char* const lines : {kMemoryLines, kComputeLines, kOrderLines}) {
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);)
      if (line.size() > 2 && line[0] == verdict) found.push_back(line.substr(2));
  }
  return found;
}

#ifdef TUTTI_PTXAS
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) {
    const int file = mkstemp(path_);
    if (file < 0) throw std::runtime_error("there is no room for a scratch file");
    close(file);
    std::ofstream(path_) << text;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { std::filesystem::remove(path_); }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/tutti-ptx-XXXXXX";
};

/// What ptxas says about a module, and whether it took it.
std::pair<std::string, bool> ask_ptxas(const std::string& text) {
  const ScratchFile file(text);
  const std::string command =
      fmt::format("'{}' -arch=sm_100 -o /dev/null {} 2>&1 </dev/null", TUTTI_PTXAS, file.path());
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("ptxas cannot be run");
  std::string said;
  for (char part[512]; std::fgets(part, sizeof part, pipe);) said += part;
  return {said, pclose(pipe) == 0};
}

/// The numbers of the lines that it complains about; a 32-bit address is a warning and then fatal.
std::set<int> lines_named(const std::string& said) {
  std::set<int> found;
  std::istringstream text(said);
  for (std::string line; std::getline(text, line);)
    for (const std::string_view mark : {", line ", " 32-bit address on line '"}) {
      const std::size_t at = line.find(mark);
      const bool counts = mark[0] != ',' || line.find(" warning ") == std::string::npos;
      if (at != std::string::npos && counts) found.insert(std::stoi(line.substr(at + mark.size())));
    }
  return found;
}
#endif

}  // namespace

std::string line_module(const std::vector<std::string>& bodies) {
  std::string text =
      ".version 9.0\n.target sm_100\n.address_size 64\n.global .align 16 .b8 g[64];\n.shared .align 16 .b8 s[64];\n"
      ".const .align 16 .b8 c[64];\n";
  for (std::size_t k = 0; k < bodies.size(); ++k)
    text += fmt::format(
        ".visible .entry k{}(.param .u64 p0, .param .align 8 .b8 p1[64])\n{{\n"
        ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
        ".reg .b128 %q<4>; .local .align 16 .b8 l[64];\n{}\nret;\n}}\n",
        k, bodies[k]);
  return text;
}

int line_of(std::size_t kernel) { return kHeadLines + static_cast<int>(kernel) * kKernelLines + kBodyLine; }

TEST(ParseLines, TheLinesThatPtxasAcceptsAreKnown) {
  const std::vector<std::string> lines = lines_with('+');
  ASSERT_GT(lines.size(), 300u);
  const Module module(line_module(lines), "lines");
  for (std::size_t k = 0; k < lines.size(); ++k) EXPECT_NO_THROW(module.function(fmt::format("k{}", k))) << lines[k];
}

TEST(ParseLines, TheLinesThatPtxasRefusesAreErrorsThatNameThem) {
  const std::vector<std::string> lines = lines_with('-');
  ASSERT_GT(lines.size(), 150u);
  const Module module(line_module(lines), "lines");
  for (std::size_t k = 0; k < lines.size(); ++k) {
    try {
      module.function(fmt::format("k{}", k));
      ADD_FAILURE() << "no error for: " << lines[k];
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(fmt::format("lines:{}: ", line_of(k)))) << error.what();
      EXPECT_NE(std::string(error.what()).find(lines[k].substr(0, 20)), std::string::npos) << error.what();
    }
  }
}

TEST(ParseLines, PtxasStillSaysTheSame) {
#ifdef TUTTI_PTXAS
  const auto [said, accepted] = ask_ptxas(line_module(lines_with('+')));
  EXPECT_TRUE(accepted) << said;
  // It reports several errors at once, but stops at the first that it cannot parse.
  std::vector<std::string> refused = lines_with('-');
  while (!refused.empty()) {
    const std::string answer = ask_ptxas(line_module(refused)).first;
    const std::set<int> named = lines_named(answer);
    std::vector<std::string> left;
    for (std::size_t k = 0; k < refused.size(); ++k)
      if (!named.contains(line_of(k))) left.push_back(refused[k]);
    if (left.size() == refused.size()) break;
    refused = std::move(left);
  }
  EXPECT_TRUE(refused.empty()) << "ptxas accepts:\n" << fmt::format("{}", fmt::join(refused, "\n"));
#else
  GTEST_SKIP() << "built without CUDA, so there is no ptxas to ask";
#endif
}

}  // namespace tutti::emulator

// Every function of the tree's own kernels, as nvcc compiled them for three architectures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tests/emulator/ptx/fatbin.hpp"
#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {
namespace {

struct Text {
  std::string name, ptx;
};

/// By architecture. The libraries' own PTX, and what the target kernel_ptx makes.
std::map<int, std::vector<Text>> kernel_texts() {
  std::map<int, std::vector<Text>> found;
  for (const char* library : {TUTTI_KERNELS, TUTTI_TRAINERS})
    for (EmbeddedCode& code : code_in_file(library))
      if (code.kind == EmbeddedCode::Kind::ptx)
        found[code.architecture].push_back({std::filesystem::path(library).filename(), std::move(code.bytes)});
  for (const int architecture : {80, 100})
    for (const auto& file : std::filesystem::directory_iterator(TUTTI_KERNEL_PTX)) {
      if (!file.path().string().ends_with(fmt::format(".sm_{}.ptx", architecture))) continue;
      std::ifstream stream(file.path(), std::ios::binary);
      found[architecture].push_back({file.path().filename(), std::string{std::istreambuf_iterator<char>(stream), {}}});
    }
  return found;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(ParseKernels, EveryFunctionOfEveryKernelIsKnown) {
  const auto texts = kernel_texts();
  EXPECT_TRUE(texts.contains(80) && texts.contains(100))
      << "the target kernel_ptx made nothing in " << TUTTI_KERNEL_PTX;
  EXPECT_GE(texts.size(), 2u);
  std::map<int, std::set<std::string>> entries;
  for (const auto& [architecture, modules] : texts) {
    double bytes = 0, scan = 0, parse = 0;
    std::size_t functions = 0, instructions = 0, with_lines = 0, with_place = 0;
    for (const Text& text : modules) {
      bytes += static_cast<double>(text.ptx.size()) / 1e6;
      const bool lines = text.ptx.find("\t.loc\t") != std::string::npos;  // compiled with -lineinfo
      const double begin = processor_seconds();
      const Module module(text.ptx, text.name);
      const double scanned = processor_seconds();
      scan += scanned - begin;
      for (const std::string& name : module.functions()) {
        ASSERT_NO_THROW(module.function(name)) << name;
        ++functions;
        for (const Instruction& instruction : module.function(name).code) {
          ++instructions;
          with_lines += lines;
          with_place += instruction.place != 0;
        }
      }
      parse += processor_seconds() - scanned;
      entries[architecture].insert(module.entries().begin(), module.entries().end());
    }
    std::printf("sm_%d: %.1f MB, %zu functions, %zu instructions; scanned in %.0f ms, parsed in %.0f ms (%.0f MB/s)\n",
                architecture, bytes, functions, instructions, scan * 1e3, parse * 1e3, bytes / parse);
    EXPECT_GT(functions, 30u) << architecture;
    EXPECT_GT(instructions, 100000u) << architecture;
    // The little before the first .loc of a function has none.
    EXPECT_GE(with_place, with_lines / 100 * 99) << architecture;
    EXPECT_TRUE(with_lines > 100000 || architecture == 90) << architecture;
  }
  EXPECT_EQ(entries.at(80).size(), entries.at(100).size());
}

}  // namespace
}  // namespace tutti::emulator

// Holds the table of computing instructions against ptxas: it takes every spelling, with operands of the widths that
// the parser reads.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/emulator/ptx/arithmetic.hpp"
#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {
namespace {

std::string register_of(Type type, int number) {
  if (type == Type::pred) return fmt::format("%p{}", number);
  return fmt::format("%b{}_{}", 8 * bytes_of(type), number);
}

/// One line of PTX for the spelling.
std::string line_of(std::string_view spelling, bool pair) {
  const Form form = decode_computation(spelling, pair);
  std::vector<std::string> operands;
  int number = 0;
  for (std::size_t i = 0; i < form.count; ++i) {
    const OperandRule& rule = form.rules[i];
    std::string operand = register_of(rule.type, number++);
    if (rule.pair == OperandRule::Pair::must) operand.append("|").append(register_of(rule.second, number++));
    operands.push_back(operand);
  }
  if (spelling.starts_with("lop3.")) operands[4] = "0x1b";  // the table must be a number
  return fmt::format("{} {};", spelling, fmt::join(operands, ", "));
}

TEST(PtxTable, HasOnlySpellingsThatPtxasTakes) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("spellings.{}.ptx", getpid());
  std::size_t lines = 0;
  {
    std::ofstream text(path);
    text << ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n.reg .pred %p<10>;\n";
    for (const int bits : {8, 16, 32, 64, 128}) text << fmt::format(".reg .b{} %b{}_<10>;\n", bits, bits);
    for (const std::string_view spelling : all_spellings())
      for (const bool pair : {false, true}) {
        if (find_computation(spelling, pair).compute == nullptr) continue;
        text << line_of(spelling, pair) << '\n';
        ++lines;
      }
    text << "ret;\n}\n";
  }
  ASSERT_GT(lines, 2000u);
  const std::string command = fmt::format("'{}' -arch=sm_100a -O0 '{}' -o /dev/null 2>&1", TUTTI_PTXAS, path.string());
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(nullptr, pipe);
  std::string said(4000, '\0');
  said.resize(std::fread(said.data(), 1, said.size(), pipe));
  const int status = pclose(pipe);
  std::filesystem::remove(path);
  if (said.find("Unsupported .version") != std::string::npos) GTEST_SKIP() << "this ptxas is older than PTX 9.0";
  EXPECT_EQ(0, status) << said;
}

}  // namespace
}  // namespace tutti::emulator

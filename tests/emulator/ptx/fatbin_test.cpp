#include "tests/emulator/ptx/fatbin.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {
namespace {

using Kind = EmbeddedCode::Kind;

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// An entry as nvcc writes it; `header_bytes` of 64 or more.
std::string entry(int kind, int architecture, std::string stored, std::uint32_t compressed, std::uint64_t flags,
                  std::uint64_t decompressed, std::uint32_t header_bytes = 80) {
  stored.resize((stored.size() + 7) / 8 * 8);
  std::string made;
  append(made, static_cast<std::uint16_t>(kind));
  append(made, std::uint16_t{0x101});
  append(made, header_bytes);
  append(made, std::uint64_t{stored.size()});
  append(made, compressed);
  append(made, std::uint32_t{64});
  append(made, std::uint32_t{0x90000});
  append(made, static_cast<std::uint32_t>(architecture));
  append(made, std::uint64_t{0});
  append(made, flags);
  append(made, std::uint64_t{0});
  append(made, decompressed);
  made.resize(header_bytes);
  return made + stored;
}

std::string container(const std::string& entries) {
  std::string made;
  append(made, std::uint32_t{0xba55ed50});
  append(made, std::uint16_t{1});
  append(made, std::uint16_t{16});
  append(made, std::uint64_t{entries.size()});
  return made + entries;
}

std::string plain(int kind, int architecture, const std::string& text) {
  return entry(kind, architecture, text, 0, 0x11, 0);
}
std::string with_lz4(int kind, int architecture, const std::string& text) {
  std::string made(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
  made.resize(static_cast<std::size_t>(
      LZ4_compress_default(text.data(), made.data(), static_cast<int>(text.size()), static_cast<int>(made.size()))));
  return entry(kind, architecture, made, static_cast<std::uint32_t>(made.size()), 0x2011, text.size());
}
std::string with_zstd(int kind, int architecture, const std::string& text) {
  std::string made(ZSTD_compressBound(text.size()), '\0');
  made.resize(ZSTD_compress(made.data(), made.size(), text.data(), text.size(), 3));
  return entry(kind, architecture, made, static_cast<std::uint32_t>(made.size()), 0x8011, text.size());
}

std::string long_text() {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
  for (int k = 0; k < 200; ++k) text += fmt::format(".visible .entry kernel_{}() {{ ret; }}\n", k);
  return text;
}

std::string error_of(const std::string& made) {
  try {
    code_in_container(made.data(), made.size());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

class ScratchFolder {
 public:
  ScratchFolder() {
    if (!mkdtemp(path_)) throw std::runtime_error("there is no room for a scratch folder");
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return fmt::format("{}/{}", path_, name); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }

 private:
  char path_[32] = "/tmp/tutti-fatbin-XXXXXX";
};

TEST(Fatbin, EntriesAreTheSameHoweverTheyAreCompressed) {
  const std::string text = long_text(), machine_code(1000, '\7');
  const std::string made =
      container(plain(1, 80, text + '\0') + with_lz4(1, 90, text + '\0') + with_zstd(1, 100, text + '\0') +
                plain(2, 80, machine_code) + with_lz4(2, 90, machine_code) + with_zstd(2, 100, machine_code));
  const std::vector<EmbeddedCode> code = code_in_container(made.data());
  ASSERT_EQ(code.size(), 6u);
  for (std::size_t k = 0; k < code.size(); ++k) {
    EXPECT_EQ(code[k].kind, k < 3 ? Kind::ptx : Kind::cubin) << k;
    EXPECT_EQ(code[k].architecture, 80 + 10 * static_cast<int>(k % 3)) << k;
    EXPECT_EQ(code[k].bytes, k < 3 ? text : machine_code) << k;
  }
}

TEST(Fatbin, OtherKindsAndLargerHeadersArePassedOver) {
  const std::string made =
      container(plain(8, 90, "for the linker") + entry(1, 90, "text", 0, 0x11, 0, 128) + plain(1, 80, "more"));
  const std::vector<EmbeddedCode> code = code_in_container(made.data(), made.size());
  ASSERT_EQ(code.size(), 2u);
  EXPECT_EQ(code[0].bytes, "text");
  EXPECT_EQ(code[1].bytes, "more");
}

TEST(Fatbin, TheBestPtxIsTheNewestThatTheDeviceCanRun) {
  const std::vector<EmbeddedCode> code = {{Kind::ptx, 80, "a"}, {Kind::cubin, 90, "b"}, {Kind::ptx, 100, "c"}};
  EXPECT_EQ(best_ptx(code, 70), nullptr);
  EXPECT_EQ(best_ptx(code, 90)->architecture, 80);
  EXPECT_EQ(best_ptx(code, 120)->architecture, 100);
}

TEST(Fatbin, DamagedContainersAreErrorsThatSayWhatIsWrong) {
  const std::string text = long_text(), whole = container(with_zstd(1, 90, text));
  EXPECT_EQ(error_of(whole), "no error");
  std::string wrong = whole;
  wrong[0] = 'x';
  EXPECT_NE(error_of(wrong).find("begins with 0xba55ed78, not 0xba55ed50"), std::string::npos) << error_of(wrong);
  wrong = whole;
  wrong[4] = 9;
  EXPECT_NE(error_of(wrong).find("unknown version 9"), std::string::npos);
  EXPECT_NE(error_of(container(entry(1, 90, "text", 4, 0x11, 4))).find("compressed in an unknown way"),
            std::string::npos);
  EXPECT_NE(error_of(container(entry(1, 90, "text", 4, 0x8011, 4))).find("zstd says"), std::string::npos);
  EXPECT_NE(error_of(container(entry(1, 90, "\xf0zzz", 4, 0x2011, 4))).find("LZ4 gives"), std::string::npos);
  EXPECT_NE(error_of(container(entry(1, 90, "text", 400, 0x8011, 4))).find("more compressed bytes"), std::string::npos);
  EXPECT_NE(error_of(container(entry(1, 90, "text", 4, 0x8011, std::uint64_t{1} << 40))).find("the most is"),
            std::string::npos);
  EXPECT_NE(error_of(container(plain(1, 90, text).substr(0, 200))).find("that is too long"), std::string::npos);
}

TEST(Fatbin, EveryPrefixOfAContainerIsAnError) {
  const std::string whole = container(with_lz4(1, 90, long_text()) + plain(2, 90, "code"));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_NE(error_of(whole.substr(0, bytes)), "no error") << bytes << " of " << whole.size();
}

TEST(Fatbin, FilesWithoutGpuCodeHaveNone) { EXPECT_TRUE(code_in_file("/proc/self/exe").empty()); }

TEST(Fatbin, FilesThatCannotBeReadAreNamed) {
  const ScratchFolder scratch;
  const auto error = [](const std::string& path) {
    try {
      code_in_file(path);
    } catch (const std::runtime_error& wrong) {
      return std::string(wrong.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error(scratch.file("none")), fmt::format("{}: cannot be read", scratch.file("none")));
  const std::string text = scratch.write("text", "some text");
  EXPECT_TRUE(error(text).starts_with(fmt::format("{}: embedded GPU code", text))) << error(text);
  const std::string elf = scratch.write("elf", std::string("\177ELF\2\1\1", 7));
  EXPECT_EQ(error(elf), fmt::format("{}: the file ends too early", elf));
  const std::string archive = scratch.write("archive", "!<arch>\nshort");
  EXPECT_EQ(error(archive), fmt::format("{}: the file ends too early", archive));
}

#ifdef TUTTI_NVCC
/// Runs a command of the scratch folder; throws what it says if it fails.
void run(const std::string& command) {
  FILE* const pipe = popen(fmt::format("({}) 2>&1 </dev/null", command).c_str(), "r");
  if (!pipe) throw std::runtime_error("no shell");
  std::string said;
  for (char part[512]; std::fgets(part, sizeof part, pipe);) said += part;
  if (pclose(pipe) != 0) throw std::runtime_error(fmt::format("{}: {}", command, said));
}

std::vector<EmbeddedCode> ptx_in(const std::string& path) {
  std::vector<EmbeddedCode> found;
  for (EmbeddedCode& code : code_in_file(path))
    if (code.kind == Kind::ptx) found.push_back(std::move(code));
  return found;
}
#endif

TEST(Fatbin, WhatNvccMakesIsReadFromObjectsArchivesAndPrograms) {
#ifdef TUTTI_NVCC
  const ScratchFolder scratch;
  std::string source = "template <int n> __global__ void work(float* x) { x[threadIdx.x] = x[threadIdx.x] * n + n; }\n";
  for (int k = 0; k < 40; ++k) source += fmt::format("template __global__ void work<{}>(float*);\n", k);
  scratch.write("code.cu", source + "int main() {}\n");
  const std::string nvcc = fmt::format(
      "cd {} && '{}' -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=[sm_90,compute_90]",
      scratch.file(""), TUTTI_NVCC);
  run(nvcc + " -c -o plain.o --no-compress code.cu");
  run(nvcc + " -c -o speed.o --compress-mode=speed code.cu");
  run(nvcc + " -c -o usual.o code.cu");
  run(nvcc + " -cudart shared -o program code.cu");
  run(fmt::format("cd {} && ar rcs all.a plain.o speed.o usual.o", scratch.file("")));

  const std::vector<EmbeddedCode> expected = ptx_in(scratch.file("plain.o"));
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[0].architecture + expected[1].architecture, 80 + 90);
  EXPECT_EQ(Module(expected[0].bytes, "expected").entries().size(), 40u);
  for (const char* name : {"speed.o", "usual.o", "program"}) {
    const std::vector<EmbeddedCode> found = ptx_in(scratch.file(name));
    ASSERT_EQ(found.size(), 2u) << name;
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(found[k].architecture, expected[k].architecture) << name;
      EXPECT_EQ(found[k].bytes, expected[k].bytes) << name;
    }
  }
  EXPECT_LT(std::filesystem::file_size(scratch.file("speed.o")), std::filesystem::file_size(scratch.file("plain.o")));
  EXPECT_LT(std::filesystem::file_size(scratch.file("usual.o")), std::filesystem::file_size(scratch.file("plain.o")));
  EXPECT_EQ(ptx_in(scratch.file("all.a")).size(), 6u);
  EXPECT_EQ(code_in_file(scratch.file("all.a")).size(), 9u);
#else
  GTEST_SKIP() << "built without CUDA, so there is no nvcc to ask";
#endif
}

}  // namespace
}  // namespace tutti::emulator

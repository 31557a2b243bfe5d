// Texts that are no PTX, or PTX that the emulator does not know: one line that names module, line, what and text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "tests/emulator/ptx/parse_text_test.hpp"

namespace tutti::emulator {
namespace {

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_in_kernel(const std::string& body) {
  return error_of([&] { Module(in_kernel(body), "text").function("k"); });
}
std::string error_in_module(const std::string& text) {
  return error_of([&] { Module(in_module(text), "text"); });
}

struct Damage {
  const char *text, *expected;
};

TEST(ParseDamage, NamesLineWhatAndTextOfABody) {
  const Damage damages[] = {{"frobnicate.u32 %r1, %r2;", "unknown instruction 'frobnicate.u32'"},
                            {"add.foo.u32 %r1, %r2, %r3;", "unknown instruction 'add.foo.u32'"},
                            {"ld.global.L3::evict.u32 %r1, [%rd1];", "unknown modifier '.L3::evict'"},
                            {"ld.global.global.u32 %r1, [%rd1];", "unknown modifier '.global'"},
                            {"ld.acquire.global.u32 %r1, [%rd1];", "lacks a scope"},
                            {"atom.global.add.f16 %rs1, [%rd1], %rs2;", "lacks a type that it can have; there is .f16"},
                            {"add.u32 %r1, %r2;", "2 operands, expected 3"},
                            {"add.u32 %r1, %r2, %r3, %r4;", "4 operands, expected 3"},
                            {"add.u32 %r1, %r2, %r9;", "unknown name '%r9'"},
                            {"add.u32 %r99, %r2, %r3;", "unknown register '%r99'"},
                            {"add.u32 %r1, %r2, %rd3;", "'%rd3' has the type .b64, which does not fit .u32"},
                            {"add.u32 %r1, %f2, %r3;", "'%f2' has the type .f32, which does not fit .u32"},
                            {"st.global.u32 [%rd1], %rs1;", "'%rs1' has the type .b16, which does not fit .u32"},
                            {"ld.global.u32 %r1, [%r2];", "'%r2' has the type .b32, which does not fit .u64"},
                            {"ld.global.u32 %r1, [s];", "'s' is in another state space"},
                            {"ld.global.u32 %r1, [nowhere_];", "unknown name 'nowhere_'"},
                            {"ld.global.u32 %r1, %rd1;", "expected an address in brackets"},
                            {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "expected a vector of 2"},
                            {"@%r1 bra L; L:", "does not fit .pred"},
                            {"@%p9 bra L; L:", "unknown register '%p9'"},
                            {"bra L;", "unknown label 'L'"},
                            {"{ L: } bra L;", "unknown label 'L'"},
                            {"L: L:", "the label 'L' stands twice"},
                            {"brx.idx %r1, T;", "unknown table of labels 'T'"},
                            {"call f;", "unknown function 'f'"},
                            {"mov.u32 %r1, %envreg0;", "unknown name '%envreg0'"},
                            {"mov.f32 %f1, 1;", "an integer where a floating-point number is expected"},
                            {"mov.u32 %r1, 12x;", "'12x' is no number"},
                            {"mov.u32 %r1, 0f3F8;", "has 3 digits, not 8"},
                            {"mov.u64 %rd1, 99999999999999999999;", "more than 64 bits"},
                            {"mov.u32 %r1, 1 / 0;", "a division by zero"},
                            {".surprise 3;", "unknown directive '.surprise'"},
                            {".pragma surprise;", "expected '\"', got 'surprise'"},
                            {".reg .b32 %r<5>;", "'%r' is declared twice"},
                            {".reg .b7 x;", "'.b7' is no type"},
                            {"atom.add.v2.f32 {%f1,%f2}, [%rd1], {%f3,%f1};", "writes a register before it reads it"},
                            {"st.param.u64 [p], %rd1;", "a store to a parameter"},
                            {"mov.u32 %r1, 5", "expected ';', got 'ret'"},
                            {"mov.u32 %r1 5;", "expected ';', got '5'"},
                            {"mov.u32 , 5;", "expected an operand, got ','"},
                            {"/ mov.u32 %r1, 5;", "expected an instruction, got '/'"}};
  for (const Damage& damage : damages) {
    const std::string error = error_in_kernel(damage.text);
    EXPECT_TRUE(error.starts_with(fmt::format("text:{}: ", kBodyLine))) << damage.text << "\n  " << error;
    EXPECT_NE(error.find(damage.expected), std::string::npos) << damage.text << "\n  " << error;
    EXPECT_NE(error.find(damage.text), std::string::npos) << "the text is not shown\n  " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(ParseDamage, NamesLineAndWhatOfAModule) {
  const Damage damages[] = {{".surprise", "unknown directive '.surprise'"},
                            {".global .b32 a, b;", "expected ';'"},
                            {".global .b32 a[2] = {1, 2, 3};", "more initial values than 'a' has bytes"},
                            {".global .b8 a = 0xFF(generic(a));", "a part of an address only"},
                            {".global .b32 a = generic(a);", "an address in an element of 4 bytes"},
                            {".global .b32 a[];", "'a' has no size"},
                            {".global .pred a;", "no type that memory can hold"},
                            {".global .align 3 .b32 a;", "a power of two"},
                            {".global .texref a;", "unknown attribute '.texref'"},
                            {".global .b32 a; .global .b32 a;", "'a' is declared twice"},
                            {".entry k() .surprise 3 { ret; }", "unknown directive '.surprise' of a function"},
                            {".entry k() { ret; } .entry k() { ret; }", "the function 'k' stands twice"},
                            {".entry k(.reg .b32 a) { ret; }", "no parameters in registers"},
                            {".entry k() { ret;", "the text ends before the '}'"},
                            {".entry k() .reqnctapercluster 2 { ret; }", "clusters of more than one block"},
                            {".address_size 32", ".address_size must be from 64 to 64"},
                            {".alias a, b;", "unknown directive '.alias'"},
                            {"nonsense", "expected a directive, got 'nonsense'"}};
  for (const Damage& damage : damages) {
    const std::string error = error_in_module(damage.text);
    EXPECT_TRUE(error.starts_with("text:4: ")) << damage.text << "\n  " << error;
    EXPECT_NE(error.find(damage.expected), std::string::npos) << damage.text << "\n  " << error;
  }
  EXPECT_EQ(error_of([] { Module("", "text"); }), "text:1: there is no .target: this is no PTX: ");
}

TEST(ParseDamage, CallsMustMatchTheirFunction) {
  const std::string functions = ".func f(.param .b64 a) { ret; }\n.entry other() { ret; }\n";
  const auto error = [&](const char* call) {
    return error_of([&] {
      Module(in_module(functions + ".entry k() { .reg .b64 rd; .param .b64 p; .param .b32 q; " + call + " ret; }"),
             "text")
          .function("k");
    });
  };
  EXPECT_EQ(error("call f, (p);"), "no error");
  EXPECT_NE(error("call f;").find("a call with 0 argument, the function has 1"), std::string::npos) << error("call f;");
  EXPECT_NE(error("call f, (q);").find("4 bytes, the function has 8"), std::string::npos);
  EXPECT_NE(error("call (p), f, (p);").find("1 result, the function has 0"), std::string::npos);
  EXPECT_NE(error("call f, (rd);").find("'rd' is no .param variable"), std::string::npos);
  EXPECT_NE(error("call other;").find("a call of the kernel 'other'"), std::string::npos);
  EXPECT_NE(error("call rd, (p);").find("the prototype of an indirect call"), std::string::npos);
}

TEST(ParseDamage, ADamagedBodySpoilsNoOtherFunction) {
  const Module module(
      in_module(".entry good() { ret; }\n.entry bad() {\n ret;\n surprise;\n}\n.entry fine() { exit; }\n"), "three");
  EXPECT_EQ(module.function("good").code.size(), 1u);
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(error_of([&] { module.function("bad"); }), "three:7: unknown instruction 'surprise': surprise;");
  EXPECT_EQ(module.function("fine").code.at(0).kind, Kind::exit);
  EXPECT_EQ(error_of([&] { module.function("missing"); }), "three: there is no function 'missing'");
}

TEST(ParseDamage, ThreadsGetTheSameFunction) {
  const Module module(in_kernel("mov.u32 %r1, 1;"), "shared");
  std::vector<const Function*> got(8);
  std::vector<std::thread> threads;
  for (const Function*& one : got) threads.emplace_back([&] { one = &module.function("k"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 8);
}

// Every prefix of a text, and the text with each character replaced, gives a module or one clear line.
TEST(ParseDamage, ATextThatIsCutOrSpoiledAnywhereIsAnErrorOrAModule) {
  const std::string whole =
      in_module("/* c */ .global .align 8 .u64 t[2] = {generic(t)+4, 0x10}; // c\n") +
      in_kernel(
          "{ .reg .b64 q; mov.b64 q, {%r1, 5}; } L: @!%p1 bra L;\n.loc 1 2 3, function_name a, inlined_at 1 1 1\n"
          "ld.acquire.sys.global.v2.u32 {%r1, _}, [%rd1+-4]; .pragma \"nounroll\";\n"
          "atom.cas.b64 %rd1, [g+8], (1+2)*3, -4; mov.f32 %f1, 1.5e-3;")
          .substr(in_module("").size()) +
      ".file 1 \"a\"\n";
  std::size_t errors = 0;
  const auto attempt = [&](const std::string& text) {
    try {
      Module module(text, "text");
      for (const std::string& function : module.functions()) module.function(function);
    } catch (const std::runtime_error& error) {
      ++errors;
      EXPECT_TRUE(std::string(error.what()).starts_with("text:")) << error.what();
    }
  };
  attempt(whole);
  ASSERT_EQ(errors, 0u);
  for (std::size_t end = 0; end < whole.size(); ++end) attempt(whole.substr(0, end));
  EXPECT_GT(errors, whole.size() / 2);
  for (const char spoiled : {'\0', '"', '{', '}', '%', '9', '/', '(', ';', '.'})
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string text = whole;
      text[at] = spoiled;
      attempt(text);
    }
}

}  // namespace
}  // namespace tutti::emulator

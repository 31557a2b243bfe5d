// What the parser makes of whole modules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/emulator/ptx/parse_text_test.hpp"

namespace tutti::emulator {
namespace {

std::uint64_t constant_of(const Function& function, Slot slot) {
  for (const Constant& constant : function.constants)
    if (constant.slot == slot) return constant.value;
  ADD_FAILURE() << "slot " << slot << " is no constant";
  return 0;
}

std::vector<Kind> kinds_of(const Function& function) {
  std::vector<Kind> kinds;
  for (const Instruction& instruction : function.code) kinds.push_back(instruction.kind);
  return kinds;
}

TEST(Parse, FindsWhatAModuleDeclares) {
  const Module module(
      ".version 8.7\n.target sm_90a, debug\n.address_size 64\n"
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".global .align 8 .u64 counters[4];\n.const .f32 scale = 0f3F800000;\n.extern .global .b32 elsewhere;\n"
      ".func helper() { ret; }\n.visible .entry first(.param .u32 n) { ret; }\n.weak .entry second() { ret; }\n"
      ".file 1 \"a/b.cu\", 1, 2\n.section .debug_str { .b8 1, 2\n }\n",
      "declared");
  EXPECT_EQ(module.version(), "8.7");
  EXPECT_EQ(module.target(), "sm_90a");
  EXPECT_EQ(module.entries(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(module.functions(), (std::vector<std::string>{"vprintf", "helper", "first", "second"}));
  EXPECT_TRUE(module.contains("helper"));
  EXPECT_FALSE(module.contains("counters"));
  EXPECT_FALSE(module.function("vprintf").defined);
  EXPECT_TRUE(module.function("helper").defined);
  EXPECT_FALSE(module.function("helper").entry);
  ASSERT_EQ(module.variables().size(), 3u);
  EXPECT_EQ(module.variables()[0].bytes, 32u);
  EXPECT_EQ(module.variables()[0].alignment, 8u);
  EXPECT_EQ(module.variables()[1].space, Space::constant);
  EXPECT_EQ(module.variables()[1].initial, (std::vector<unsigned char>{0, 0, 0x80, 0x3f}));
  EXPECT_TRUE(module.variables()[2].external);
  EXPECT_EQ(module.files().at(1), "a/b.cu");
}

TEST(Parse, LaysOutParametersAndReadsWhatAKernelDemands) {
  const Module module(
      in_module(".entry k(.param .u8 a, .param .u64 .ptr .global .align 4 b, .param .align 16 .b8 c[20])\n"
                ".maxntid 32, 4, 2\n.minnctapersm 3\n.maxnreg 64\n{ ret; }\n"),
      "demands");
  const Function& kernel = module.function("k");
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[1].offset, 8u);
  EXPECT_EQ(kernel.parameters[2].offset, 16u);
  EXPECT_EQ(kernel.parameters[2].bytes, 20u);
  EXPECT_EQ(kernel.parameter_bytes, 36u);
  EXPECT_EQ(kernel.max_threads, 256u);
  EXPECT_EQ(kernel.min_blocks, 3u);
}

TEST(Parse, ReadsNumbersAsPtxWritesThem) {
  const std::map<std::string, std::uint64_t> numbers = {{"17", 17},
                                                        {"-17", static_cast<std::uint64_t>(-17)},
                                                        {"0x1F", 31},
                                                        {"0X1fU", 31},
                                                        {"017", 15},
                                                        {"0b101", 5},
                                                        {"18446744073709551615", ~std::uint64_t{0}},
                                                        {"0d3FF0000000000000", 0x3ff0000000000000},
                                                        {"1.5", 0x3ff8000000000000},
                                                        {"-2.5e-1", 0xbfd0000000000000},
                                                        {"(1+2)*3", 9},
                                                        {"1 + 2 * 3 - 4", 3},
                                                        {"7 & 3 | 8", 11},
                                                        {"1 << 4 >> 2", 4},
                                                        {"-8 >> 1", static_cast<std::uint64_t>(-4)},
                                                        {"-7 / 2", static_cast<std::uint64_t>(-3)},
                                                        {"(.u64)-8 >> 60", 15},
                                                        {"5 > 3 ? 10 : 20", 10},
                                                        {"~0", ~std::uint64_t{0}},
                                                        {"WARP_SZ", 32}};
  for (const auto& [text, expected] : numbers) {
    const Module module(in_kernel(fmt::format("mov.b64 %rd1, {};", text)), text);
    const Function& kernel = module.function("k");
    EXPECT_EQ(constant_of(kernel, kernel.code.at(0).from[0]), expected) << text;
  }
}

TEST(Parse, ConvertsFloatingPointNumbersToTheTypeWhereTheyStand) {
  const Module module(in_kernel("mov.f32 %f1, 1.5; mov.f64 %fd1, 0f3FC00000; mov.f32 %f1, 0d3FF8000000000000;"), "m");
  const Function& kernel = module.function("k");
  EXPECT_EQ(constant_of(kernel, kernel.code.at(0).from[0]), 0x3fc00000u);
  EXPECT_EQ(constant_of(kernel, kernel.code.at(1).from[0]), 0x3ff8000000000000u);
  EXPECT_EQ(constant_of(kernel, kernel.code.at(2).from[0]), 0x3fc00000u);
}

TEST(Parse, InitialValuesHoldNumbersAndAddresses) {
  const Module module(in_module(".global .align 8 .b8 g[16];\n"
                                ".global .align 4 .u32 plain[4] = {1, -1, 0x30};\n"
                                ".global .align 8 .u64 table[3] = {generic(g)+4, 7, g};\n"
                                ".global .align 8 .b8 bytes[12] = {9, 0xFF(generic(g)+8), 0xFF00(generic(g)+8), "
                                "0xFF0000(generic(g)+8), 0xFF000000(generic(g)+8), 0xFF00000000(generic(g)+8), "
                                "0xFF0000000000(generic(g)+8), 0xFF000000000000(generic(g)+8), "
                                "0xFF00000000000000(generic(g)+8), 3};\n"),
                      "initial");
  const std::vector<Variable>& variables = module.variables();
  EXPECT_EQ(variables.at(1).initial, (std::vector<unsigned char>{1, 0, 0, 0, 255, 255, 255, 255, 0x30, 0, 0, 0}));
  ASSERT_EQ(variables.at(2).references.size(), 2u);
  EXPECT_EQ(variables[2].references[0].symbol, "g");
  EXPECT_EQ(variables[2].references[0].addend, 4);
  EXPECT_EQ(variables[2].references[1].offset, 16u);
  EXPECT_EQ(variables[2].initial.at(8), 7);
  ASSERT_EQ(variables.at(3).references.size(), 1u);
  EXPECT_EQ(variables[3].references[0].offset, 1u);
  EXPECT_EQ(variables[3].references[0].addend, 8);
  EXPECT_EQ(variables[3].initial.at(0), 9);
  EXPECT_EQ(variables[3].initial.at(9), 3);
}

TEST(Parse, ModifiersSayWhatAnInstructionIs) {
  struct Case {
    const char* text;
    Kind kind;
    Type type;
    Space space;
    Order order;
    Scope scope;
    int vector, to, from;
  };
  const Case cases[] = {
      {"ld.global.u64 %rd1, [%rd2];", Kind::load, Type::u64, Space::global, Order::weak, Scope::none, 1, 1, 0},
      {"ld.acquire.sys.global.u32 %r1, [%rd2];", Kind::load, Type::u32, Space::global, Order::acquire, Scope::sys, 1, 1,
       0},
      {"ld.volatile.shared.u8 %rs1, [%rd2];", Kind::load, Type::u8, Space::shared, Order::relaxed, Scope::sys, 1, 1, 0},
      {"ld.global.v4.f32 {%f1,%f2,_,%f3}, [%rd2];", Kind::load, Type::f32, Space::global, Order::weak, Scope::none, 4,
       4, 0},
      {"ld.param.u32 %r1, [p];", Kind::load, Type::u32, Space::param, Order::weak, Scope::none, 1, 1, 0},
      {"ld.const.b128 %q1, [c];", Kind::load, Type::b128, Space::constant, Order::weak, Scope::none, 1, 1, 0},
      {"st.release.gpu.b32 [%rd1], %r1;", Kind::store, Type::b32, Space::generic, Order::release, Scope::gpu, 1, 0, 1},
      {"st.relaxed.cluster.global.v2.b64 [%rd1], {%rd2, 5};", Kind::store, Type::b64, Space::global, Order::relaxed,
       Scope::cluster, 2, 0, 2},
      {"atom.add.u32 %r1, [%rd1], 1;", Kind::atomic, Type::u32, Space::generic, Order::relaxed, Scope::gpu, 1, 1, 1},
      {"atom.acq_rel.sys.global.cas.b64 %rd1, [%rd2], 1, 2;", Kind::atomic, Type::b64, Space::global, Order::acq_rel,
       Scope::sys, 1, 1, 2},
      {"red.release.cta.shared.max.s32 [s], %r1;", Kind::atomic, Type::s32, Space::shared, Order::release, Scope::cta,
       1, 0, 1},
      {"multimem.ld_reduce.acquire.sys.global.add.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];", Kind::multimem_load, Type::f32,
       Space::global, Order::acquire, Scope::sys, 4, 4, 0},
      {"multimem.st.weak.global.u32 [%rd1], %r1;", Kind::multimem_store, Type::u32, Space::global, Order::weak,
       Scope::none, 1, 0, 1},
      {"multimem.red.release.sys.global.add.u64 [%rd1], 1;", Kind::multimem_reduce, Type::u64, Space::global,
       Order::release, Scope::sys, 1, 0, 1},
      {"multimem.red.global.add.u64 [%rd1], 1;", Kind::multimem_reduce, Type::u64, Space::global, Order::relaxed,
       Scope::sys, 1, 0, 1},
      {"fence.acq_rel.sys;", Kind::fence, Type::none, Space::generic, Order::acq_rel, Scope::sys, 1, 0, 0},
      {"fence.cluster;", Kind::fence, Type::none, Space::generic, Order::acq_rel, Scope::cluster, 1, 0, 0},
      {"membar.gl;", Kind::fence, Type::none, Space::generic, Order::seq_cst, Scope::gpu, 1, 0, 0},
      {"bar.sync 0;", Kind::barrier, Type::none, Space::generic, Order::weak, Scope::none, 1, 0, 2},
      {"bar.red.popc.u32 %r1, 1, 64, %p1;", Kind::barrier_reduce, Type::u32, Space::generic, Order::weak, Scope::none,
       1, 1, 3},
      {"shfl.sync.idx.b32 %r1, %r2, 3, 31, -1;", Kind::shuffle, Type::b32, Space::generic, Order::weak, Scope::none, 1,
       2, 4},
      {"vote.sync.ballot.b32 %r1, %p1, -1;", Kind::vote, Type::b32, Space::generic, Order::weak, Scope::none, 1, 1, 2},
      {"cvta.shared.u64 %rd1, s;", Kind::to_generic, Type::u64, Space::shared, Order::weak, Scope::none, 1, 1, 1},
      {"nanosleep.u32 20;", Kind::sleep, Type::none, Space::generic, Order::weak, Scope::none, 1, 0, 1},
      {"prefetch.global.L2 [%rd1];", Kind::nothing, Type::none, Space::global, Order::weak, Scope::none, 1, 0, 0}};
  for (const Case& each : cases) {
    const Module module(in_kernel(each.text), each.text);
    const Instruction& i = module.function("k").code.at(0);
    EXPECT_EQ(i.kind, each.kind) << each.text;
    EXPECT_EQ(i.type, each.type) << each.text;
    EXPECT_EQ(i.space, each.space) << each.text;
    EXPECT_EQ(i.order, each.order) << each.text;
    EXPECT_EQ(i.scope, each.scope) << each.text;
    EXPECT_EQ(i.vector, each.vector) << each.text;
    EXPECT_EQ(i.to_count, each.to) << each.text;
    EXPECT_EQ(i.from_count, each.from) << each.text;
  }
}

TEST(Parse, ReadsFlagsThatOnlySomeInstructionsHave) {
  const Module module(in_kernel("ld.global.nc.u32 %r1, [%rd1]; st.volatile.u32 [%rd1], %r1; barrier.sync 1;\n"
                                "bar.sync 1; multimem.ld_reduce.relaxed.sys.global.add.acc::f32.f16x2 %r1, [%rd1];\n"
                                "@!%p1 ld.u32 %r1, [%rd1+-8];"),
                      "flags");
  const std::vector<Instruction>& code = module.function("k").code;
  EXPECT_TRUE(code.at(0).non_coherent);
  EXPECT_TRUE(code.at(1).is_volatile);
  EXPECT_FALSE(code.at(2).aligned);
  EXPECT_TRUE(code.at(3).aligned);
  EXPECT_TRUE(code.at(4).accumulates_wider);
  EXPECT_TRUE(code.at(5).guard_negated);
  EXPECT_NE(code.at(5).guard, kNoSlot);
  EXPECT_EQ(code.at(5).offset, -8);
}

TEST(Parse, ANegatedOperandIsComputedJustBefore) {
  const Module module(in_kernel("setp.eq.and.s32 %p1, %r1, 3, !%p2;"), "negated");
  const std::vector<Instruction>& code = module.function("k").code;
  ASSERT_EQ(code.size(), 3u);
  std::uint64_t slots[1 << 10] = {};
  code[0].compute(slots, code[0]);
  EXPECT_EQ(slots[code[0].to[0]], 1u);
  EXPECT_EQ(code[1].from[2], code[0].to[0]);
}

TEST(Parse, ReadingAClockIsAnInstructionOfItsOwn) {
  const Module module(in_kernel("mov.u64 %rd1, %clock64; mov.u32 %r1, %tid.x;"), "clocks");
  const std::vector<Instruction>& code = module.function("k").code;
  EXPECT_EQ(code.at(0).kind, Kind::clock);
  EXPECT_EQ(code.at(0).operation, static_cast<std::uint8_t>(Clock::clock64));
  EXPECT_EQ(code.at(1).from[0], code.at(0).to[0]);
  EXPECT_EQ(code.at(2).from[0], tid_x);
}

TEST(Parse, AVectorAtomicIsOneAtomicForEachElement) {
  const Module module(in_kernel("atom.global.add.v4.f32 {%f1,%f2,%f3,_}, [%rd1+16], {%f5,%f6,%f7,%f8};"), "vector");
  const std::vector<Instruction>& code = module.function("k").code;
  ASSERT_EQ(code.size(), 5u);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(code[k].kind, Kind::atomic);
    EXPECT_EQ(code[k].vector, 1);
    EXPECT_EQ(code[k].offset, 16 + 4 * static_cast<std::int64_t>(k));
    EXPECT_EQ(code[k].from_count, 1);
  }
  EXPECT_EQ(code[3].to[0], nowhere);
  EXPECT_NE(code[0].from[0], code[1].from[0]);
}

TEST(Parse, RegistersAndLabelsOfAnInnerScopeHideOuterOnes) {
  const Module module(in_kernel("mov.u32 %r1, 1; L: { .reg .b64 %r<3>; mov.b64 %r1, 2; bra L; L: } bra L;"), "scopes");
  const std::vector<Instruction>& code = module.function("k").code;
  ASSERT_EQ(kinds_of(module.function("k")),
            (std::vector<Kind>{Kind::compute, Kind::compute, Kind::branch, Kind::branch, Kind::ret}));
  EXPECT_EQ(code[2].target, 3);
  EXPECT_EQ(code[3].target, 1);
}

TEST(Parse, ABranchTableLeadsToItsLabels) {
  const Module module(in_kernel("T: .branchtargets B, A, B; brx.idx %r1, T; A: mov.u32 %r1, 1; B: mov.u32 %r1, 2;"),
                      "m");
  const Function& kernel = module.function("k");
  EXPECT_EQ(kernel.code.at(0).kind, Kind::branch_indexed);
  EXPECT_EQ(kernel.tables.at(0), (std::vector<std::int32_t>{2, 1, 2}));
}

TEST(Parse, ALabelAtTheEndIsAReturn) {
  const Module module(in_module(".entry k() { .reg .pred p; @p bra L; trap; L: }"), "end");
  const Function& kernel = module.function("k");
  EXPECT_EQ(kinds_of(kernel), (std::vector<Kind>{Kind::branch, Kind::trap, Kind::ret}));
  EXPECT_EQ(kernel.code[0].target, 2);
}

TEST(Parse, AKernelPaysForTheSharedMemoryThatItUses) {
  const Module module(
      in_module(".shared .align 4 .b8 a[100];\n.shared .align 16 .b8 b[32];\n"
                ".extern .shared .align 16 .b8 dynamic[];\n"
                ".entry both() { .reg .b32 r; .shared .b8 own[4]; mov.u32 r, own; mov.u32 r, a; mov.u32 r, b; "
                "mov.u32 r, dynamic+8; ret; }\n"
                ".extern .shared .align 4 .b8 sized[24];\n"
                ".entry elsewhere() { .reg .b32 r; mov.u32 r, sized; ret; }\n"
                ".entry one() { .reg .b32 r; mov.u32 r, b+4; ret; }\n.entry none() { ret; }\n"),
      "shared");
  const Function& both = module.function("both");
  EXPECT_EQ(both.shared_bytes, 144u);  // 4, 100 up to 104, 112 .. 144
  EXPECT_EQ(constant_of(both, both.code.at(0).from[0]), 0u);
  EXPECT_EQ(constant_of(both, both.code.at(1).from[0]), 4u);
  EXPECT_EQ(constant_of(both, both.code.at(2).from[0]), 112u);
  EXPECT_EQ(constant_of(both, both.code.at(3).from[0]), 256u + 8);
  EXPECT_EQ(module.function("one").shared_bytes, 32u);
  EXPECT_EQ(constant_of(module.function("one"), module.function("one").code.at(0).from[0]), 4u);
  EXPECT_EQ(module.function("none").shared_bytes, 0u);
  EXPECT_EQ(module.function("elsewhere").shared_bytes, 24u);
}

TEST(Parse, KernelsAndFunctionsAgreeWhereSharedMemoryIs) {
  const Module module(in_module(".shared .align 4 .b8 a[100];\n.extern .shared .align 16 .b8 dynamic[];\n"
                                ".func f() { .reg .b32 r; .shared .b8 own[8]; mov.u32 r, own; mov.u32 r, a; "
                                "mov.u32 r, dynamic; ret; }\n"
                                ".entry k() { .reg .b32 r; .shared .b8 own[300]; mov.u32 r, own; mov.u32 r, a; "
                                "mov.u32 r, dynamic; call f; ret; }\n.entry other() { ret; }\n"),
                      "agree");
  const Function &f = module.function("f"), &k = module.function("k");
  const auto at = [](const Function& function, std::size_t instruction) {
    return constant_of(function, function.code.at(instruction).from[0]);
  };
  EXPECT_EQ(at(f, 0), 100u);
  EXPECT_EQ(at(k, 0), 108u);
  EXPECT_EQ(at(f, 1), at(k, 1));
  EXPECT_EQ(at(f, 2), 512u);
  EXPECT_EQ(at(k, 2), 512u);
  EXPECT_EQ(k.shared_bytes, 408u);
  EXPECT_EQ(module.function("other").shared_bytes, 408u);
}

TEST(Parse, CallsPassParameterVariablesInTheFrame) {
  const Module module(
      in_module(".func (.param .b32 result) f(.param .b64 a, .param .align 4 .b8 b[12])\n"
                "{ .reg .b32 r; ld.param.b32 r, [b+4]; st.param.b32 [result], r; ret; }\n"
                ".entry k() { .reg .b32 r; .reg .b64 rd; .local .align 8 .b8 depot[40];\n"
                "{ .param .b64 p0; st.param.b64 [p0], rd; .param .align 4 .b8 p1[12]; .param .b32 r0;\n"
                "call.uni (r0), f, (p0, p1); ld.param.b32 r, [r0]; }\n"
                "{ .param .b64 p0; .param .align 4 .b8 p1[12]; .param .b32 r0; call (r0), f, (p0, p1); }\n"
                "mov.u64 rd, f; { .param .b64 p0; .param .align 4 .b8 p1[12]; .param .b32 r0;\n"
                "type : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[12]);\n"
                "call (r0), rd, (p0, p1), type; } ret; }\n"),
      "calls");
  const Function &f = module.function("f"), &k = module.function("k");
  EXPECT_EQ(f.code.at(0).space, Space::param);
  EXPECT_EQ(f.code.at(0).offset, 4);
  EXPECT_EQ(constant_of(f, f.code.at(0).address), 8u);
  EXPECT_EQ(f.code.at(1).space, Space::local);
  EXPECT_EQ(f.local_bytes, 4u);
  EXPECT_EQ(k.code.at(0).space, Space::local);
  EXPECT_EQ(k.code.at(2).space, Space::local);
  ASSERT_EQ(k.calls.size(), 3u);
  EXPECT_EQ(k.calls[0].callee, "f");
  EXPECT_EQ(k.calls[0].arguments.at(0).offset, 40u);
  EXPECT_EQ(k.calls[0].arguments.at(1).offset, 48u);
  EXPECT_EQ(k.calls[0].results.at(0).offset, 60u);
  EXPECT_EQ(k.calls[1].arguments.at(0).offset, 40u) << "calls one after the other share their memory";
  EXPECT_EQ(k.local_bytes, 64u);
  EXPECT_EQ(k.calls[2].callee, "");
  EXPECT_NE(k.calls[2].through, kNoSlot);
  const auto of_function = std::find_if(k.constants.begin(), k.constants.end(),
                                        [](const Constant& c) { return c.of == Constant::Of::function; });
  ASSERT_NE(of_function, k.constants.end());
  EXPECT_EQ(module.functions().at(of_function->symbol), "f");
}

TEST(Parse, PlacesNameTheChainOfCallsThatWereInlined) {
  const Module module(in_kernel(".loc 1 10 3\n.loc 2 20 5, function_name $name, inlined_at 1 10 3\n"
                                ".loc 2 30 7, function_name $name+4, inlined_at 2 20 5\nmov.u32 %r1, 1;\n"
                                ".loc 1 11 3\nmov.u32 %r1, 2;\n.loc 2 20 5, function_name $name, inlined_at 1 11 3\n"
                                ".loc 2 30 7, function_name $name, inlined_at 2 20 5\nmov.u32 %r1, 3;\n") +
                          ".file 1 \"dir/kernel.cu\"\n.file 2 \"/x/ring.hpp\"\n",
                      "places");
  const Function& kernel = module.function("k");
  const auto source = [&](std::size_t k) { return module.source(kernel, kernel.code.at(k)); };
  EXPECT_EQ(source(0), "ring.hpp:30 in ring.hpp:20 in kernel.cu:10");
  EXPECT_EQ(source(1), "kernel.cu:11");
  EXPECT_EQ(source(2), "ring.hpp:30 in ring.hpp:20 in kernel.cu:11");
  EXPECT_EQ(module.text(kernel.code.at(1)), "mov.u32 %r1, 2;");
}

TEST(Parse, WithoutPlacesTheSourceIsUnknown) {
  const Module module(in_kernel("mov.u32 %r1, 1;"), "none");
  EXPECT_EQ(module.source(module.function("k"), module.function("k").code.at(0)), "unknown");
}

}  // namespace
}  // namespace tutti::emulator

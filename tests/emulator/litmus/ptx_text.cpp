#include "tests/emulator/litmus/ptx_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/emulator/litmus/parse.hpp"

namespace tutti::emulator::litmus {
namespace {

constexpr std::size_t kLine = 64;

std::string order_and_scope(const Instruction& instruction) {
  if (instruction.is_volatile) return "volatile";
  if (instruction.order == Order::weak) return "weak";
  const char* const scope = instruction.scope == Scope::cta ? "cta" : (instruction.scope == Scope::gpu ? "gpu" : "sys");
  return fmt::format("{}.{}", spelling_of(instruction.order), scope);
}

const char* comparison_word(Comparison comparison) {
  switch (comparison) {
    case Comparison::equal: return "eq";
    case Comparison::not_equal: return "ne";
    case Comparison::less: return "lo";
    case Comparison::less_equal: return "ls";
    case Comparison::greater: return "hi";
    case Comparison::greater_equal: return "hs";
  }
  return "?";
}

/// The operation with its type: bits or unsigned, as the ISA wants it.
std::string atomic_word(const Instruction& instruction) {
  const int bits = 8 * instruction.width;
  switch (instruction.operation) {
    case AtomicOperation::add: return fmt::format("add.u{}", bits);
    case AtomicOperation::min: return fmt::format("min.u{}", bits);
    case AtomicOperation::max: return fmt::format("max.u{}", bits);
    case AtomicOperation::bit_and: return fmt::format("and.b{}", bits);
    case AtomicOperation::bit_or: return fmt::format("or.b{}", bits);
    case AtomicOperation::bit_xor: return fmt::format("xor.b{}", bits);
    case AtomicOperation::exchange: return fmt::format("exch.b{}", bits);
    case AtomicOperation::compare_and_swap: return fmt::format("cas.b{}", bits);
    default: throw std::runtime_error("an atomic that litmus tests do not have");
  }
}

/// The instructions of one thread.
class ThreadText {
 public:
  ThreadText(const Program& program, int thread, const std::vector<std::size_t>& offsets)
      : program_(program),
        thread_(program.threads[static_cast<std::size_t>(thread)]),
        number_(thread),
        offsets_(offsets) {}

  std::string make() {
    line(fmt::format("T{}:", number_));
    for (std::size_t r = 0; r < thread_.registers.size(); ++r) line(fmt::format("mov.u64 {}, 0;", name(r)));
    for (const Instruction& instruction : thread_.code) add(instruction);
    for (std::size_t r = 0; r < thread_.registers.size(); ++r)
      line(fmt::format("st.weak.global.u64 [%results+{}], {};",
                       8 * index_of_register(program_, number_, static_cast<int>(r)), name(r)));
    line("ret;");
    return text_;
  }

 private:
  void line(const std::string& words) { text_ += words + '\n'; }
  std::string name(std::size_t reg) const { return fmt::format("%r{}_{}", number_, reg); }
  std::string name(int reg) const { return name(static_cast<std::size_t>(reg)); }
  std::string label() { return fmt::format("L{}_{}", number_, labels_++); }

  void add(const Instruction& instruction) {
    const std::string end = instruction.guard ? label() : "";
    if (instruction.guard) {
      ask(*instruction.guard);
      line(fmt::format("@!%holds bra {};", end));
    }
    const std::string again = instruction.until ? label() : "";
    if (instruction.until) line(again + ":");
    execute(instruction);
    if (instruction.until) {
      ask(*instruction.until);
      line(fmt::format("@!%holds bra {};", again));
    }
    if (instruction.guard) line(end + ":");
  }

  void ask(const RegisterTest& test) {
    line(fmt::format("mov.u64 %asked, {};", name(test.reg)));
    if (test.part == Part::high) line("shr.u64 %asked, %asked, 32;");
    if (test.part == Part::low) line("and.b64 %asked, %asked, 4294967295;");
    line(fmt::format("setp.{}.u64 %holds, %asked, {};", comparison_word(test.comparison), test.constant));
  }

  void execute(const Instruction& instruction) {
    switch (instruction.kind) {
      case Kind::load: return load(instruction);
      case Kind::store: return store(instruction);
      case Kind::atomic:
      case Kind::reduction: return atomic(instruction);
      case Kind::fence: return line(fmt::format("fence.{};", order_and_scope(instruction)));
      case Kind::barrier: return line(fmt::format("barrier.sync {};", instruction.barrier));
      case Kind::barrier_arrive: throw std::runtime_error("bar.arrive needs a number of threads that warps divide");
    }
  }

  std::string address(const Instruction& instruction) const {
    const std::size_t offset =
        offsets_[static_cast<std::size_t>(instruction.location)] + static_cast<std::size_t>(instruction.offset);
    return fmt::format("[%memory+{}]", offset);
  }

  /// Registers of the access's own type: %v0 and on.
  std::string values(const Instruction& instruction) const {
    std::string list;
    for (int e = 0; e < instruction.vector; ++e) list += fmt::format("{}{}", e == 0 ? "" : ", ", value(instruction, e));
    return instruction.vector == 1 ? list : "{" + list + "}";
  }
  static std::string value(const Instruction& instruction, int index) {
    return fmt::format("%v{}_{}", register_bits(instruction), index);
  }
  /// Bytes travel in registers of 16 bits.
  static int register_bits(const Instruction& instruction) { return std::max(16, 8 * instruction.width); }
  static std::string vector_word(const Instruction& instruction) {
    return instruction.vector == 1 ? "" : fmt::format(".v{}", instruction.vector);
  }

  void set_value(const Instruction& instruction, int index) {
    const Operand& operand = instruction.from[static_cast<std::size_t>(index)];
    if (operand.reg < 0)
      line(fmt::format("mov.u64 %operand, {};", operand.plus));
    else
      line(fmt::format("add.u64 %operand, {}, {};", name(operand.reg), operand.plus));
    const int bits = register_bits(instruction);
    line(bits == 64 ? fmt::format("mov.u64 {}, %operand;", value(instruction, index))
                    : fmt::format("cvt.u{}.u64 {}, %operand;", bits, value(instruction, index)));
  }
  void get_value(const Instruction& instruction, int index) {
    const int bits = register_bits(instruction);
    const std::string to = name(instruction.to[static_cast<std::size_t>(index)]);
    line(bits == 64 ? fmt::format("mov.u64 {}, {};", to, value(instruction, index))
                    : fmt::format("cvt.u64.u{} {}, {};", bits, to, value(instruction, index)));
  }

  void load(const Instruction& instruction) {
    line(fmt::format("ld.{}.global{}.u{} {}, {};", order_and_scope(instruction), vector_word(instruction),
                     8 * instruction.width, values(instruction), address(instruction)));
    for (int e = 0; e < instruction.vector; ++e) get_value(instruction, e);
  }
  void store(const Instruction& instruction) {
    for (int e = 0; e < instruction.vector; ++e) set_value(instruction, e);
    line(fmt::format("st.{}.global{}.u{} {}, {};", order_and_scope(instruction), vector_word(instruction),
                     8 * instruction.width, address(instruction), values(instruction)));
  }
  void atomic(const Instruction& instruction) {
    const int operands = static_cast<int>(instruction.from.size());
    for (int o = 0; o < operands; ++o) set_value(instruction, o);
    const std::string from =
        operands == 1 ? value(instruction, 0) : value(instruction, 0) + ", " + value(instruction, 1);
    const bool returns = instruction.kind == Kind::atomic;
    line(fmt::format("{}.{}.global.{} {}{}, {};", returns ? "atom" : "red", order_and_scope(instruction),
                     atomic_word(instruction), returns ? value(instruction, 0) + ", " : "", address(instruction),
                     from));
    if (returns) get_value(instruction, 0);
  }

  const Program& program_;
  const Thread& thread_;
  const int number_;
  const std::vector<std::size_t>& offsets_;
  std::string text_;
  int labels_ = 0;
};

/// How many kernels come before that of each thread.
std::vector<int> depths(const Program& program) {
  std::vector<int> depth(program.threads.size());
  for (std::size_t t = 0; t < depth.size(); ++t)  // `after` names threads that come earlier in the text
    for (const int earlier : program.threads[t].after)
      depth[t] = std::max(depth[t], 1 + depth[static_cast<std::size_t>(earlier)]);
  for (std::size_t t = 0; t < depth.size(); ++t) {
    for (std::size_t u = 0; u < depth.size(); ++u) {
      const std::vector<int>& after = program.threads[t].after;
      const bool named = std::find(after.begin(), after.end(), static_cast<int>(u)) != after.end();
      const bool same_gpu = program.threads[u].gpu == program.threads[t].gpu;
      if (depth[u] == depth[t] - 1 ? named != same_gpu : named && depth[u] >= depth[t])
        throw std::runtime_error(fmt::format("the kernels of GPU {} are no stream", program.threads[t].gpu));
      if (same_gpu && depth[u] > depth[t] && program.threads[u].after.empty())
        throw std::runtime_error(fmt::format("the kernels of GPU {} are no stream", program.threads[t].gpu));
    }
  }
  return depth;
}

void check_barriers(const Program& program) {
  for (const Thread& thread : program.threads)
    for (const Thread& other : program.threads) {
      if (thread.gpu != other.gpu || thread.cta != other.cta) continue;
      const auto barriers = [](const Thread& t) {
        std::set<int> numbers;
        for (const Instruction& i : t.code)
          if (i.kind == litmus::Kind::barrier) numbers.insert(i.barrier);
        return numbers;
      };
      if (barriers(thread) != barriers(other))
        throw std::runtime_error(
            fmt::format("threads {} and {} do not come to the same barriers", thread.name, other.name));
    }
}

}  // namespace

PtxModule to_ptx(const Program& program) {
  check_barriers(program);
  PtxModule module;
  for (const Location& location : program.locations) {
    module.offsets.push_back(module.memory_bytes);
    module.memory_bytes += (static_cast<std::size_t>(location.width * location.elements) + kLine - 1) / kLine * kLine;
  }
  module.results_bytes =
      8 * std::max<std::size_t>(1, index_of_register(program, static_cast<int>(program.threads.size()), 0));

  module.text = ".version 8.8\n.target sm_90\n.address_size 64\n";
  const std::vector<int> depth = depths(program);
  std::map<std::pair<int, int>, std::map<int, std::vector<int>>> launches;  // (depth, gpu): CTA: threads
  for (std::size_t t = 0; t < depth.size(); ++t)
    launches[{depth[t], program.threads[t].gpu}][program.threads[t].cta].push_back(static_cast<int>(t));
  for (const auto& [which, ctas] : launches) {
    Kernel kernel{.entry = fmt::format("litmus_{}_{}", which.second, which.first), .gpu = which.second};
    std::string choices, bodies, registers;
    for (const auto& [cta, threads] : ctas) {
      for (std::size_t i = 0; i < threads.size(); ++i) {
        const int t = threads[i];
        choices += fmt::format("setp.eq.u32 %holds, %which, {};\n@%holds bra T{};\n",
                               static_cast<std::size_t>(kernel.blocks) * 32 + i, t);
        bodies += ThreadText(program, t, module.offsets).make();
        if (const auto& names = program.threads[static_cast<std::size_t>(t)].registers; !names.empty())
          registers += fmt::format(".reg .b64 %r{}_<{}>;\n", t, names.size());
      }
      ++kernel.blocks;
      kernel.threads = std::max(kernel.threads, static_cast<int>(threads.size()));
    }
    module.text += fmt::format(
        ".visible .entry {}(.param .u64 the_memory, .param .u64 the_results)\n{{\n"
        ".reg .pred %holds;\n.reg .b16 %v16_<4>;\n.reg .b32 %v32_<4>;\n.reg .b64 %v64_<4>;\n"
        ".reg .b32 %which, %thread;\n.reg .b64 %memory, %results, %asked, %operand;\n{}"
        "ld.param.u64 %memory, [the_memory];\nld.param.u64 %results, [the_results];\n"
        "mov.u32 %which, %ctaid.x;\nmov.u32 %thread, %tid.x;\nshl.b32 %which, %which, 5;\n"
        "add.u32 %which, %which, %thread;\n{}ret;\n{}}}\n",
        kernel.entry, registers, choices, bodies);
    module.kernels.push_back(kernel);
  }
  return module;
}

}  // namespace tutti::emulator::litmus

// A litmus test as data: a few threads, what each executes, and what is expected of all executions together.
// parse.hpp has the text form, memory_model.hpp decides.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/ptx/types.hpp"

namespace tutti::emulator::litmus {

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
/// Numbers are unsigned.
bool compare(std::uint64_t left, Comparison comparison, std::uint64_t right);

/// Which 32 bits of a value are meant: a packet is one word with data in its low part and a tag in its high part.
enum class Part : std::uint8_t { whole, low, high };
std::uint64_t part_of(std::uint64_t value, Part part);

/// A constant, or a register plus a constant.
struct Operand {
  int reg = -1;
  std::uint64_t plus = 0;
};

/// A question to a register of the own thread.
struct RegisterTest {
  int reg = 0;
  Part part = Part::whole;
  Comparison comparison = Comparison::equal;
  std::uint64_t constant = 0;
};

enum class Kind : std::uint8_t { load, store, atomic, reduction, fence, barrier, barrier_arrive };

struct Instruction {
  Kind kind = Kind::load;
  Order order = Order::weak;
  Scope scope = Scope::none;
  bool is_volatile = false;  ///< relaxed.sys in all that the model says
  int location = -1;
  int offset = 0;  ///< bytes from the start of the location
  int width = 4;   ///< bytes of an element of the access
  int vector = 1;
  AtomicOperation operation = AtomicOperation::add;
  std::vector<int> to;                ///< registers, one for each element
  std::vector<Operand> from;          ///< values, one for each element; compare_and_swap: compared, then new
  int barrier = 0;                    ///< number of the barrier within the CTA
  std::optional<RegisterTest> guard;  ///< runs only if it holds
  std::optional<RegisterTest> until;  ///< a load that is repeated until it holds
  int line = 0;                       ///< of the text, 0 if there is none
};

struct Thread {
  std::string name;
  int gpu = 0;
  int cta = 0;                         ///< within the GPU
  std::vector<int> after;              ///< threads of earlier kernels of the stream: all they did is complete
  std::vector<std::string> registers;  ///< 64 bits each, 0 at the start
  std::vector<Instruction> code;
};

/// Memory that threads share: an array of `elements` numbers. No two locations touch.
struct Location {
  std::string name;
  int width = 4;  ///< bytes of an element
  int elements = 1;
  std::uint64_t initial = 0;  ///< of each element
};

struct Program {
  std::vector<Location> locations;
  std::vector<Thread> threads;
};

/// What can be seen of an execution when it is over: the registers of all threads, in order, then the elements of all
/// locations. A register that was never written holds 0.
using Outcome = std::vector<std::uint64_t>;
std::size_t outcome_size(const Program& program);
std::size_t index_of_register(const Program& program, int thread, int reg);
std::size_t index_of_memory(const Program& program, int location, int element);
/// "writer.r0=1 [data]=2", for messages.
std::string describe(const Program& program, const Outcome& outcome);

/// A formula over an outcome.
struct Condition {
  enum class Kind : std::uint8_t { comparison, all, any, negation };
  struct Term {
    bool constant = true;
    std::uint64_t value = 0;  ///< of a constant
    std::size_t index = 0;    ///< in the outcome
    Part part = Part::whole;
  };
  Kind kind = Kind::comparison;
  std::vector<Condition> parts{};
  Term left{}, right{};
  Comparison comparison = Comparison::equal;

  bool holds(const Outcome& outcome) const;
};

struct Expectation {
  enum class Kind : std::uint8_t {
    race_free,  ///< no execution has a data race
    racy,       ///< some has
    allowed,    ///< the condition holds at the end of some execution
    forbidden,  ///< of none
    required,   ///< of all, and there is one
  };
  Kind kind = Kind::race_free;
  Condition condition;
  std::string text;  ///< as it was written
};

struct LitmusTest {
  std::string name;
  Program program;
  std::vector<Expectation> expectations;
};

/// Throws std::runtime_error, naming thread and instruction, if a program asks for what the model leaves out.
void validate(const Program& program);

}  // namespace tutti::emulator::litmus

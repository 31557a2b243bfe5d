#include "tests/emulator/litmus/random_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace tutti::emulator::litmus {
namespace {

/// The accesses of a well-known test: threads apart by spaces, R or W and a location.
using Shape = std::string_view;
constexpr std::array<Shape, 16> kShapes = {"WxWy RyRx",         // message passing
                                           "WxRy WyRx",         // store buffering
                                           "RxWy RyWx",         // load buffering; with data in x, credit
                                           "WxWy RyWx",         // S
                                           "WxWy WyRx",         // R
                                           "WxWy WyWx",         // 2+2W
                                           "Wx RxRx",           // CoRR
                                           "Wx Wx RxRx",        // the same with two writers
                                           "WxRx Wx",           // CoWR
                                           "RxWx Wx",           // CoRW
                                           "Wx RxWy RyRx",      // WRC
                                           "WxWy RyWz RzRx",    // ISA2
                                           "Wx RxRy WyRx",      // RWC
                                           "WxWy Wy RyRx",      // a flag of two writers
                                           "WxWyWy RyRx",       // two counts
                                           "Wx RxRy Wy RyRx"};  // IRIW

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) {}

  Program make() {
    strong_only_ = chance(40);
    atomics_ = chance(50);
    wrong_scopes_ = chance(40);
    mixed_sizes_ = chance(12);
    if (chance(55)) {
      follow(pick(kShapes));
    } else {
      make_locations(2 + (chance(30) ? 1 : 0));
      make_threads(2 + (chance(45) ? 1 : 0));
      for (std::size_t t = 0; t < program_.threads.size(); ++t) fill(t);
    }
    if (chance(12)) add_kernel();
    if (!strong_only_ || chance(20)) add_barriers();
    return std::move(program_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T, std::size_t n>
  T pick(const std::array<T, n>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(n)))];
  }

  /// In programs that are not strong only, the first location holds data and the others are flags.
  void make_locations(int count) {
    for (int l = 0; l < count; ++l) {
      Location location;
      location.name = std::string(1, static_cast<char>('x' + l));
      location.width = chance(20) ? 8 : 4;
      if (l == 0 && mixed_sizes_) location.width = 4;
      if (l == 0 && location.width == 4 && (mixed_sizes_ || chance(15))) location.elements = 2;
      program_.locations.push_back(location);
    }
  }

  void make_threads(int count) {
    const int gpus = 1 + below(2), ctas = 1 + below(2);
    for (int t = 0; t < count; ++t) {
      Thread thread;
      thread.name = fmt::format("T{}", t);
      thread.gpu = below(gpus);
      thread.cta = below(ctas);
      program_.threads.push_back(thread);
    }
  }

  /// The shape with orders, scopes, fences and guards of its own.
  void follow(Shape shape) {
    make_locations(3);
    make_threads(1 + static_cast<int>(std::count(shape.begin(), shape.end(), ' ')));
    const bool fences = chance(35);
    std::size_t t = 0;
    for (std::size_t i = 0; i < shape.size(); i += 2) {
      if (shape[i] == ' ') {
        ++t;
        ++i;
      }
      if (fences && !program_.threads[t].code.empty() && chance(75)) fence(t);
      wanted_ = shape[i + 1] - 'x';
      if (atomics_ && wanted_ != 0 && chance(15))
        atomic(t);
      else if (shape[i] == 'R')
        load(t);
      else
        store(t);
    }
    wanted_ = -1;
  }

  void fill(std::size_t t) {
    const int most = program_.threads.size() == 2 ? 3 : 2;
    const int count = 2 + below(most);
    for (int i = 0; i < count && program_.threads[t].code.size() < 4; ++i) {
      const int what = below(100);
      if (what < 12)
        fence(t);
      else if (atomics_ && what < 27)
        atomic(t);
      else if (what < 64)
        load(t);
      else
        store(t);
    }
  }

  int add_register(Thread& thread) {
    thread.registers.push_back(fmt::format("r{}", thread.registers.size()));
    return static_cast<int>(thread.registers.size()) - 1;
  }

  /// The narrowest scope that holds all threads, or a wider one, or in some programs any.
  Scope scope() {
    if (wrong_scopes_ && chance(35)) return pick(std::array{Scope::cta, Scope::gpu, Scope::sys});
    Scope least = Scope::cta;
    for (const Thread& thread : program_.threads) {
      const Thread& first = program_.threads.front();
      if (thread.gpu != first.gpu)
        least = Scope::sys;
      else if (thread.cta != first.cta && least == Scope::cta)
        least = Scope::gpu;
    }
    return chance(60) ? least : Scope::sys;
  }

  Instruction access(Kind kind) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.location = wanted_ >= 0 ? wanted_ : below(static_cast<int>(program_.locations.size()));
    const Location& location = program_.locations[static_cast<std::size_t>(instruction.location)];
    instruction.width = location.width;
    if (location.elements == 2 && mixed_sizes_ && kind != Kind::atomic && kind != Kind::reduction && chance(50)) {
      instruction.width = 8;
    } else if (location.elements == 2) {
      if (chance(50))
        instruction.vector = 2;
      else
        instruction.offset = 4 * below(2);
    }
    return instruction;
  }

  void set_order(Instruction& instruction, Order strongest) {
    const bool data = instruction.location == 0 && !strong_only_;
    if (chance(data ? 85 : (strong_only_ ? 0 : 4))) return;  // weak
    if (chance(6)) {
      instruction.order = Order::relaxed;
      instruction.scope = Scope::sys;
      instruction.is_volatile = true;
      return;
    }
    instruction.order = chance(50) ? strongest : Order::relaxed;
    instruction.scope = scope();
  }

  void load(std::size_t t) {
    Thread& thread = program_.threads[t];
    Instruction instruction = access(Kind::load);
    set_order(instruction, Order::acquire);
    maybe_guard(thread, instruction);
    for (int e = 0; e < instruction.vector; ++e) instruction.to.push_back(add_register(thread));
    thread.code.push_back(instruction);
  }

  void store(std::size_t t) {
    Thread& thread = program_.threads[t];
    Instruction instruction = access(Kind::store);
    set_order(instruction, Order::release);
    maybe_guard(thread, instruction);
    for (int e = 0; e < instruction.vector; ++e) {
      if (!thread.registers.empty() && chance(15))
        instruction.from.push_back({below(static_cast<int>(thread.registers.size())), 0});
      else
        instruction.from.push_back({-1, ++value_});
    }
    thread.code.push_back(instruction);
  }

  void atomic(std::size_t t) {
    Thread& thread = program_.threads[t];
    Instruction instruction = access(chance(25) ? Kind::reduction : Kind::atomic);
    instruction.offset = 0;
    instruction.vector = 1;
    const bool returns = instruction.kind == Kind::atomic;
    instruction.order = returns ? pick(std::array{Order::relaxed, Order::acquire, Order::release, Order::acq_rel})
                                : pick(std::array{Order::relaxed, Order::release});
    instruction.scope = scope();
    instruction.operation =
        returns ? pick(std::array{AtomicOperation::add, AtomicOperation::exchange, AtomicOperation::compare_and_swap})
                : AtomicOperation::add;
    maybe_guard(thread, instruction);
    if (instruction.operation == AtomicOperation::compare_and_swap)
      instruction.from = {{-1, chance(60) ? 0 : value_}, {-1, ++value_}};
    else
      instruction.from = {{-1, instruction.operation == AtomicOperation::add ? 16u : ++value_}};
    if (returns) instruction.to.push_back(add_register(thread));
    thread.code.push_back(instruction);
  }

  void fence(std::size_t t) {
    Instruction instruction;
    instruction.kind = Kind::fence;
    instruction.order = pick(std::array{Order::seq_cst, Order::seq_cst, Order::acq_rel, Order::acq_rel});
    instruction.scope = scope();
    program_.threads[t].code.push_back(instruction);
  }

  /// Often what comes after a load runs only if the load saw something.
  void maybe_guard(const Thread& thread, Instruction& instruction) {
    if (thread.registers.empty() || !chance(strong_only_ ? 15 : 55)) return;
    RegisterTest test;
    test.reg = static_cast<int>(thread.registers.size()) - 1;
    test.comparison = Comparison::not_equal;
    instruction.guard = test;
  }

  /// Makes the last thread a kernel of its own, behind all others of its GPU.
  void add_kernel() {
    Thread& last = program_.threads.back();
    for (std::size_t t = 0; t + 1 < program_.threads.size(); ++t)
      if (program_.threads[t].gpu == last.gpu) last.after.push_back(static_cast<int>(t));
    if (!last.after.empty()) last.cta = 9;
  }

  void add_barriers() {
    for (std::size_t t = 0; t < program_.threads.size(); ++t) {
      for (std::size_t u = t + 1; u < program_.threads.size(); ++u) {
        const Thread &a = program_.threads[t], &b = program_.threads[u];
        if (a.gpu != b.gpu || a.cta != b.cta || !chance(60)) continue;
        for (Thread& thread : program_.threads) {
          if (thread.gpu != a.gpu || thread.cta != a.cta) continue;
          Instruction barrier;
          barrier.kind = Kind::barrier;
          const int at = below(static_cast<int>(thread.code.size()) + 1);
          thread.code.insert(thread.code.begin() + at, barrier);
        }
        return;
      }
    }
  }

  std::mt19937_64 random_;
  Program program_;
  std::uint64_t value_ = 0;
  int wanted_ = -1;  ///< the location of the next access, or any
  bool strong_only_ = false, atomics_ = false, wrong_scopes_ = false, mixed_sizes_ = false;
};

}  // namespace

Program random_program(std::uint64_t seed) { return Generator(seed).make(); }

}  // namespace tutti::emulator::litmus

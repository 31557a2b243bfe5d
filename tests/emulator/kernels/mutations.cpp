#include "tests/emulator/kernels/mutations.hpp"

#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator {
namespace {

bool in_memory(const Instruction& i) { return i.space == Space::global || i.space == Space::generic; }
bool loads(const Instruction& i) { return i.kind == Kind::load && in_memory(i); }
bool stores(const Instruction& i) { return i.kind == Kind::store && in_memory(i); }

struct Change {
  const char* name;
  bool (*fits)(const Instruction&);
  void (*make)(Instruction&);
};

const Change kChanges[] = {
    {"release made relaxed", [](const Instruction& i) { return stores(i) && i.order == Order::release; },
     [](Instruction& i) { i.order = Order::relaxed; }},
    {"release made volatile", [](const Instruction& i) { return stores(i) && i.order == Order::release; },
     [](Instruction& i) { i.order = Order::relaxed, i.is_volatile = true; }},
    {"release made weak", [](const Instruction& i) { return stores(i) && i.order == Order::release; },
     [](Instruction& i) { i.order = Order::weak; }},
    {"release at GPU scope", [](const Instruction& i) { return stores(i) && i.order == Order::release; },
     [](Instruction& i) { i.scope = Scope::gpu; }},
    {"acquire made relaxed", [](const Instruction& i) { return loads(i) && i.order == Order::acquire; },
     [](Instruction& i) { i.order = Order::relaxed; }},
    {"acquire at GPU scope", [](const Instruction& i) { return loads(i) && i.order == Order::acquire; },
     [](Instruction& i) { i.scope = Scope::gpu; }},
    {"acquire left out", [](const Instruction& i) { return loads(i) && i.order == Order::acquire; },
     [](Instruction& i) { i.kind = Kind::nothing; }},
    {"relaxed load made weak", [](const Instruction& i) { return loads(i) && i.order == Order::relaxed; },
     [](Instruction& i) { i.order = Order::weak; }},
    {"relaxed load at GPU scope", [](const Instruction& i) { return loads(i) && i.order == Order::relaxed; },
     [](Instruction& i) { i.scope = Scope::gpu; }},
    {"relaxed store made weak", [](const Instruction& i) { return stores(i) && i.order == Order::relaxed; },
     [](Instruction& i) { i.order = Order::weak; }},
    {"relaxed store at GPU scope", [](const Instruction& i) { return stores(i) && i.order == Order::relaxed; },
     [](Instruction& i) { i.scope = Scope::gpu; }},
    {"half a packet stored",
     [](const Instruction& i) { return stores(i) && i.order == Order::relaxed && bytes_of(i.type) == 8; },
     [](Instruction& i) { i.type = Type::b32; }},
    {"barrier left out", [](const Instruction& i) { return i.kind == Kind::barrier; },
     [](Instruction& i) { i.kind = Kind::nothing; }},
    {"vote of the block left to each thread", [](const Instruction& i) { return i.kind == Kind::barrier_reduce; },
     [](Instruction& i) {
       i.kind = Kind::compute;
       i.compute = find_computation("mov.pred").compute;
       i.from[0] = i.from[2];
     }},
    {"load one element further", [](const Instruction& i) { return loads(i) && !i.strong(); },
     [](Instruction& i) { i.offset += bytes_of(i.type) * i.vector; }},
    {"store one element further", [](const Instruction& i) { return stores(i) && !i.strong(); },
     [](Instruction& i) { i.offset += bytes_of(i.type) * i.vector; }},
    {"load off by a byte", [](const Instruction& i) { return loads(i) && bytes_of(i.type) * i.vector > 1; },
     [](Instruction& i) { i.offset += 1; }},
    {"store left out", [](const Instruction& i) { return stores(i); }, [](Instruction& i) { i.kind = Kind::nothing; }},
    {"load through the non-coherent path", [](const Instruction& i) { return loads(i) && !i.strong(); },
     [](Instruction& i) { i.non_coherent = true; }},
};

}  // namespace

std::vector<Mutation> mutations_of(const Function& function, const std::set<std::size_t>& among) {
  std::vector<Mutation> all;
  for (const std::size_t at : among)
    for (const Change& change : kChanges)
      if (change.fits(function.code[at])) all.push_back({change.name, at, change.make});
  return all;
}

Function mutated(const Function& function, const Mutation& mutation) {
  Function changed = function;
  mutation.change(changed.code[mutation.at]);
  return changed;
}

}  // namespace tutti::emulator

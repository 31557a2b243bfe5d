#include "tests/emulator/kernels/mutations.hpp"

#include <string_view>

#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator {
namespace {

/// An instruction and the lines of the sources that it comes from.
struct Site {
  const Instruction& i;
  std::string_view source;

  bool loads() const { return i.kind == Kind::load && in_memory(); }
  bool stores() const { return i.kind == Kind::store && in_memory(); }
  bool in_memory() const { return i.space == Space::global || i.space == Space::generic; }
  /// One of the accesses of copy, reduce and packets to the caller's data or a slot, rather than to a table of places.
  bool moves_data() const {
    const auto from = [this](std::string_view file) { return source.find(file) != source.npos; };
    return !i.strong() && source.starts_with("ptx.cuh") &&
           (from("copy_cuda.cuh") || from("reduce_cuda.cuh") || from("packets_cuda.cuh"));
  }
  bool is_packet() const {
    return i.order == Order::relaxed && source.find("packets_cuda.cuh") != source.npos && bytes_of(i.type) == 8;
  }
};

struct Change {
  const char* name;
  bool everywhere;  ///< in the kernel at once; else one instruction at a time
  bool (*fits)(const Site&);
  void (*make)(Instruction&);
};

bool releases(const Site& s) { return s.stores() && s.i.order == Order::release; }
bool acquires(const Site& s) { return s.loads() && s.i.order == Order::acquire; }
bool puts_packet(const Site& s) { return s.stores() && s.is_packet(); }
bool polls_packet(const Site& s) { return s.loads() && s.is_packet(); }
bool polls_flag(const Site& s) { return s.loads() && s.i.order == Order::relaxed && !s.is_packet(); }

const Change kChanges[] = {
    {"releases made relaxed", true, releases, [](Instruction& i) { i.order = Order::relaxed; }},
    {"releases made volatile", true, releases, [](Instruction& i) { i.order = Order::relaxed, i.is_volatile = true; }},
    {"releases made weak", true, releases, [](Instruction& i) { i.order = Order::weak; }},
    {"releases at GPU scope", true, releases, [](Instruction& i) { i.scope = Scope::gpu; }},
    {"acquires made relaxed", true, acquires, [](Instruction& i) { i.order = Order::relaxed; }},
    {"acquires at GPU scope", true, acquires, [](Instruction& i) { i.scope = Scope::gpu; }},
    {"acquires left out", true, acquires, [](Instruction& i) { i.kind = Kind::nothing; }},
    {"polls made weak", true, polls_flag, [](Instruction& i) { i.order = Order::weak; }},
    {"polls at GPU scope", true, polls_flag, [](Instruction& i) { i.scope = Scope::gpu; }},
    {"packets stored weakly", true, puts_packet, [](Instruction& i) { i.order = Order::weak; }},
    {"packets stored at GPU scope", true, puts_packet, [](Instruction& i) { i.scope = Scope::gpu; }},
    {"packets loaded weakly", true, polls_packet, [](Instruction& i) { i.order = Order::weak; }},
    {"packets loaded at GPU scope", true, polls_packet, [](Instruction& i) { i.scope = Scope::gpu; }},
    {"loads of data through the non-coherent path", true, [](const Site& s) { return s.loads() && s.moves_data(); },
     [](Instruction& i) { i.non_coherent = true; }},
    {"barrier left out", false, [](const Site& s) { return s.i.kind == Kind::barrier; },
     [](Instruction& i) { i.kind = Kind::nothing; }},
    {"vote of the block left to each thread", false, [](const Site& s) { return s.i.kind == Kind::barrier_reduce; },
     [](Instruction& i) {
       i.kind = Kind::compute;
       i.compute = find_computation("mov.pred").compute;
       i.from[0] = i.from[2];
     }},
    {"load one element further", false, [](const Site& s) { return s.loads() && s.moves_data(); },
     [](Instruction& i) { i.offset += bytes_of(i.type) * i.vector; }},
    {"store one element further", false, [](const Site& s) { return s.stores() && s.moves_data(); },
     [](Instruction& i) { i.offset += bytes_of(i.type) * i.vector; }},
    {"store left out", false, [](const Site& s) { return s.stores() && s.moves_data(); },
     [](Instruction& i) { i.kind = Kind::nothing; }},
};

}  // namespace

std::vector<Mutation> mutations_of(const Module& module, const Function& function, const std::set<std::size_t>& among) {
  std::vector<Mutation> all;
  for (const Change& change : kChanges) {
    Mutation everywhere{change.name, {}, change.make};
    for (const std::size_t at : among) {
      const std::string source = module.source(function, function.code[at]);
      if (!change.fits({function.code[at], source})) continue;
      if (change.everywhere)
        everywhere.at.push_back(at);
      else
        all.push_back({change.name, {at}, change.make});
    }
    if (!everywhere.at.empty()) all.push_back(everywhere);
  }
  return all;
}

Function mutated(const Function& function, const Mutation& mutation) {
  Function changed = function;
  for (const std::size_t at : mutation.at) mutation.change(changed.code[at]);
  return changed;
}

}  // namespace tutti::emulator

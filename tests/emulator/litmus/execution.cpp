#include "tests/emulator/litmus/execution.hpp"

#include <bit>

namespace tutti::emulator::litmus {
namespace {

std::uint64_t mask_of(int bytes) { return bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1; }

std::uint64_t combine(AtomicOperation operation, std::uint64_t old, std::uint64_t operand) {
  switch (operation) {
    case AtomicOperation::add: return old + operand;
    case AtomicOperation::min: return old < operand ? old : operand;
    case AtomicOperation::max: return old > operand ? old : operand;
    case AtomicOperation::bit_and: return old & operand;
    case AtomicOperation::bit_or: return old | operand;
    case AtomicOperation::bit_xor: return old ^ operand;
    default: return operand;  // exchange, and a compare-and-swap that found what it looked for
  }
}

template <class Visit>
void for_each(EventSet set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(std::countr_zero(set));
}

}  // namespace

Execution::Execution(const Skeleton& the_skeleton)
    : skeleton(the_skeleton),
      reads_from(skeleton.events()),
      observation(skeleton.events()),
      fence_order(skeleton.events()),
      base_causality(skeleton.events()),
      causality(skeleton.events()),
      coherence(skeleton.events()),
      from_reads(skeleton.events()),
      values(skeleton.path.events.size()),
      sources_(skeleton.path.events.size() * skeleton.path.cells.size(), kInitial),
      cells_(skeleton.path.cells.size()) {}

void Execution::read_from(int read, int cell, int write) {
  sources_[static_cast<std::size_t>(read) * cells_ + static_cast<std::size_t>(cell)] = write;
}

int Execution::source(int read, int cell) const {
  return sources_[static_cast<std::size_t>(read) * cells_ + static_cast<std::size_t>(cell)];
}

std::uint64_t Execution::value(const Symbol& symbol) const {
  return symbol.plus + (symbol.read < 0 ? 0 : values[static_cast<std::size_t>(symbol.read)]);
}

std::uint64_t Execution::read_value(int read) const {
  const Event& event = skeleton.event(read);
  std::uint64_t result = 0;
  for (int c = event.cell; c < event.cell + event.cells; ++c) {
    const Cell& cell = skeleton.path.cells[static_cast<std::size_t>(c)];
    const int write = source(read, c);
    const std::uint64_t bits =
        write == kInitial ? cell.initial
                          : values[static_cast<std::size_t>(write)] >> (8 * (cell.begin - skeleton.event(write).begin));
    result |= (bits & mask_of(cell.width)) << (8 * (cell.begin - event.begin));
  }
  return result;
}

std::uint64_t Execution::written_value(int write) const {
  const Event& event = skeleton.event(write);
  std::uint64_t result = value(event.value);
  if (event.is_atomic)
    result = combine(event.operation, values[static_cast<std::size_t>(event.partner)], result & mask_of(event.width));
  return result & mask_of(event.width);
}

bool Execution::evaluate() {
  reads_from = Relation(skeleton.events());
  std::array<EventSet, Relation::kMostEvents> needs{};  // what must be known before
  EventSet left = 0;
  for (int i = 0; i < skeleton.events(); ++i) {
    const Event& event = skeleton.event(i);
    EventSet& need = needs[static_cast<std::size_t>(i)];
    for (const int read : event.depends) need |= EventSet{1} << read;
    if (event.is_memory()) left |= EventSet{1} << i;
    if (!event.is_read()) continue;
    for (int c = event.cell; c < event.cell + event.cells; ++c) {
      if (const int write = source(i, c); write != kInitial) {
        reads_from.add(write, i);
        need |= EventSet{1} << write;
      }
    }
  }
  for (bool found = true; found && left != 0;) {
    found = false;
    for_each(left, [&](int i) {
      if ((needs[static_cast<std::size_t>(i)] & left) != 0) return;
      values[static_cast<std::size_t>(i)] = skeleton.event(i).is_read() ? read_value(i) : written_value(i);
      left &= ~(EventSet{1} << i);
      found = true;
    });
  }
  return left == 0;
}

bool Execution::fits_path() const {
  for (const Constraint& constraint : skeleton.path.constraints)
    if (compare(part_of(value(constraint.left), constraint.part), constraint.comparison, value(constraint.right)) !=
        constraint.expected)
      return false;
  return true;
}

void Execution::observe() {
  observation = reads_from;
  observation &= skeleton.morally_strong;
  // A chain of n atomics needs n rounds; reads and what depends on them have no circle, so it ends.
  for (bool grew = true; grew;) {
    grew = false;
    for (int write = 0; write < skeleton.events(); ++write) {
      for_each(observation.row(write), [&](int read) {
        const int partner = skeleton.event(read).partner;
        if (partner < 0 || (observation.row(partner) & ~observation.row(write)) == 0) return;
        observation.row(write) |= observation.row(partner);
        grew = true;
      });
    }
  }
}

void Execution::derive_causality() {
  base_causality = skeleton.fixed_causality;
  base_causality |= fence_order;
  for (const ReleasePattern& release : skeleton.releases)
    for (const AcquirePattern& acquire : skeleton.acquires)
      if (observation.has(release.write, acquire.read) && skeleton.morally_strong.has(release.first, acquire.last))
        base_causality.add(release.first, acquire.last);
  base_causality.close_transitively();
  causality = base_causality;
  for (int write = 0; write < skeleton.events(); ++write)
    for_each(observation.row(write), [&](int read) { causality.row(write) |= base_causality.row(read); });
}

void Execution::derive_from_reads() {
  from_reads = Relation(skeleton.events());
  for (int read = 0; read < skeleton.events(); ++read) {
    const Event& event = skeleton.event(read);
    if (!event.is_read()) continue;
    for (int c = event.cell; c < event.cell + event.cells; ++c) {
      const int seen = source(read, c);
      for (const int write : skeleton.writers[static_cast<std::size_t>(c)])
        if (write != seen && (seen == kInitial || coherence.has(seen, write))) from_reads.add(read, write);
    }
  }
}

bool satisfies_coherence(const Execution& execution) {
  const Skeleton& skeleton = execution.skeleton;
  if (!execution.coherence.irreflexive()) return false;
  for (int a = 0; a < skeleton.events(); ++a)
    for (int b = 0; b < skeleton.events(); ++b)
      if (skeleton.event(a).is_write() && skeleton.event(b).is_write() && execution.causality.has(a, b) &&
          skeleton.overlap(a, b) && !execution.coherence.has(a, b))
        return false;
  return true;
}

bool satisfies_fence_sc(const Execution& execution) {
  for (const auto& [a, b] : execution.skeleton.fences)
    if ((execution.fence_order.has(a, b) && execution.base_causality.has(b, a)) ||
        (execution.fence_order.has(b, a) && execution.base_causality.has(a, b)))
      return false;
  return true;
}

bool satisfies_atomicity(const Execution& execution) {
  const Skeleton& skeleton = execution.skeleton;
  for (int read = 0; read < skeleton.events(); ++read) {
    const EventSet replaced = execution.from_reads.row(read) & skeleton.morally_strong.row(read);
    bool atomic = true;
    for_each(replaced, [&](int write) {
      if (execution.reads_from.has(write, read)) atomic = false;  // a part of it seen, and a part of what it replaced
      const int own = skeleton.event(read).partner;
      if (own >= 0 && own != write && execution.coherence.has(write, own) && skeleton.morally_strong.has(write, own))
        atomic = false;  // a write between the read and the write of an atomic
    });
    if (!atomic) return false;
  }
  return true;
}

bool satisfies_sc_per_location(const Execution& execution) {
  Relation order = execution.reads_from;
  order |= execution.coherence;
  order |= execution.from_reads;
  order &= execution.skeleton.morally_strong;
  order |= execution.skeleton.order_per_location;
  return order.acyclic();
}

bool reads_nothing_from_the_future(const Execution& execution) {
  for (int write = 0; write < execution.skeleton.events(); ++write) {
    bool past = true;
    for_each(execution.reads_from.row(write), [&](int read) { past = past && !execution.causality.has(read, write); });
    if (!past) return false;
  }
  return true;
}

bool reads_nothing_replaced(const Execution& execution) {
  for (int read = 0; read < execution.skeleton.events(); ++read) {
    bool current = true;
    for_each(execution.from_reads.row(read),
             [&](int write) { current = current && !execution.causality.has(write, read); });
    if (!current) return false;
  }
  return true;
}

}  // namespace tutti::emulator::litmus

#include "tests/emulator/litmus/skeleton.hpp"

namespace tutti::emulator::litmus {
namespace {

/// Whether the scope of an operation of one thread has the other thread in it.
bool includes(Scope scope, const Thread& own, const Thread& other) {
  switch (scope) {
    case Scope::cta: return own.gpu == other.gpu && own.cta == other.cta;
    case Scope::gpu: return own.gpu == other.gpu;
    case Scope::sys: return true;
    default: return false;
  }
}

bool can_release(const Event& event) {
  if (event.kind == Event::Kind::fence) return event.order != Order::acquire;
  return event.is_write() && event.order == Order::release;
}

bool can_acquire(const Event& event) {
  if (event.kind == Event::Kind::fence) return event.order != Order::release;
  return event.is_read() && event.order == Order::acquire;
}

bool same_place(const Event& a, const Event& b) {
  return a.location == b.location && a.cell == b.cell && a.cells == b.cells;
}

}  // namespace

bool Skeleton::overlap(int a, int b) const {
  const Event &x = event(a), &y = event(b);
  return x.is_memory() && y.is_memory() && x.location == y.location && x.cell < y.cell + y.cells &&
         y.cell < x.cell + x.cells;
}

Skeleton::Skeleton(const Program& the_program, const Path& the_path)
    : program(the_program),
      path(the_path),
      program_order(events()),
      order_per_location(events()),
      fixed_order(events()),
      fixed_causality(events()),
      morally_strong(events()),
      depends(events()),
      writers(path.cells.size()) {
  for (const auto& [a, b] : path.program_order) {
    program_order.add(a, b);
    if (overlap(a, b)) order_per_location.add(a, b);
  }
  fixed_order = program_order;
  for (const auto& [a, b] : path.across) fixed_order.add(a, b);
  fixed_causality = fixed_order;
  fixed_causality.close_transitively();

  for (int i = 0; i < events(); ++i) {
    for (const int read : event(i).depends) depends.add(read, i);
    if (event(i).is_write())
      for (int c = 0; c < event(i).cells; ++c) writers[static_cast<std::size_t>(event(i).cell + c)].push_back(i);
  }

  const auto thread = [&](int i) -> const Thread& {
    return program.threads[static_cast<std::size_t>(event(i).thread)];
  };
  for (int i = 0; i < events(); ++i) {
    for (int j = 0; j < events(); ++j) {
      const Event &a = event(i), &b = event(j);
      if (i == j || a.kind == Event::Kind::arrive || a.kind == Event::Kind::depart || b.kind == Event::Kind::arrive ||
          b.kind == Event::Kind::depart)
        continue;
      const bool same_thread = a.thread == b.thread;
      const bool in_scope = a.strong() && b.strong() && includes(a.scope, thread(i), thread(j)) &&
                            includes(b.scope, thread(j), thread(i));
      const bool places = !a.is_memory() || !b.is_memory() || same_place(a, b);
      if ((same_thread || in_scope) && places) morally_strong.add(i, j);
      if (i > j || same_thread) continue;
      const bool strong = morally_strong.has(i, j);
      if (overlap(i, j) && (a.is_write() || b.is_write()) && !strong) suspects.emplace_back(i, j);
      if (overlap(i, j) && a.is_write() && b.is_write() && strong) writes.emplace_back(i, j);
      if (a.kind == Event::Kind::fence && b.kind == Event::Kind::fence && a.order == Order::seq_cst &&
          b.order == Order::seq_cst && strong)
        fences.emplace_back(i, j);
    }
  }

  for (int first = 0; first < events(); ++first) {
    if (!can_release(event(first))) continue;
    if (event(first).is_write()) releases.push_back({first, first});
    for (int later = 0; later < events(); ++later)
      if (program_order.has(first, later) && event(later).is_write() && event(later).strong() &&
          (!event(first).is_memory() || same_place(event(first), event(later))))
        releases.push_back({first, later});
  }
  for (int last = 0; last < events(); ++last) {
    if (!can_acquire(event(last))) continue;
    if (event(last).is_read() && !event(last).reduction) acquires.push_back({last, last});
    for (int earlier = 0; earlier < events(); ++earlier)
      if (program_order.has(earlier, last) && event(earlier).is_read() && event(earlier).strong() &&
          !event(earlier).reduction && (!event(last).is_memory() || same_place(event(earlier), event(last))))
        acquires.push_back({earlier, last});
  }
}

}  // namespace tutti::emulator::litmus

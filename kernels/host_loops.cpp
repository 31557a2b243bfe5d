// Which of the compiled sets of loops this process uses.
#include "kernels/host_loops.hpp"

#include <cstdio>
#include <cstdlib>

#include "kernels/host_loops_sets.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tutti::host {
namespace {

struct Set {
  const char* name;
  const Loops* loops;
  bool runs_here;
};

/// Best first.
template <class F>
const Loops* first_set(F&& wanted) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const Set sets[] = {{"v4", &loops_v4, __builtin_cpu_supports("x86-64-v4") != 0},
                      {"v3", &loops_v3, __builtin_cpu_supports("x86-64-v3") != 0},
                      {"v2", &loops_v2, true}};
#else
  const Set sets[] = {{"generic", &loops_generic, true}};
#endif
  for (const Set& set : sets) {
    if (set.runs_here && wanted(set.name)) return set.loops;
  }
  return nullptr;
}

const Loops& chosen_loops() {
  const Loops* best = first_set([](const char*) { return true; });
  const char* asked = std::getenv("TUTTI_ISA");
  if (asked == nullptr || *asked == 0) return *best;
  if (const Loops* named = loops_named(asked)) return *named;
  std::fprintf(stderr,
               "tutti: TUTTI_ISA=%s names no instruction set of this CPU and build; using %s (known: v2, v3, v4)\n",
               asked, best->name);
  return *best;
}

}  // namespace

const Loops* loops_named(const char* name) {
  return first_set([name](const char* set) { return std::strcmp(set, name) == 0; });
}

const Loops& loops() {
  static const Loops& chosen = chosen_loops();
  return chosen;
}

void fence_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace tutti::host

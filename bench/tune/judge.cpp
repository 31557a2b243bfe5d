#include "bench/tune/judge.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/geometry_gpu.hpp"
#include "collectives/geometry_host.hpp"

namespace tutti::tune {

Geometry choosing_geometry(bool on_gpu, int ranks) {
  return on_gpu ? tutti::choosing_geometry(gpu_geometry(ranks)) : host_geometry(ranks, 1, 1);
}

std::vector<Judged> judge(std::span<const Timing> timings, const Tuning& tuning, bool on_gpu) {
  const auto call_of = [](const Timing& each) {
    return std::tuple(each.of->collective, each.c.ranks, each.c.bytes, each.c.root, each.memory, each.placement);
  };
  std::map<decltype(call_of(timings[0])), std::vector<const Timing*>> calls;
  std::vector<const Timing*> firsts;
  for (const Timing& each : timings) {
    std::vector<const Timing*>& call = calls[call_of(each)];
    if (call.empty()) firsts.push_back(&each);
    call.push_back(&each);
  }
  std::vector<Judged> judged;
  for (const Timing* const first : firsts) {
    const std::vector<const Timing*>& call = calls[call_of(*first)];
    if (call.size() < 2) continue;
    const Chooser chooser(choosing_geometry(on_gpu, first->c.ranks), false, tuning);
    const Request request = request_of(first->c, first->of->collective);
    const Kernel kernel = choose(request, chooser).kernel;
    const auto chosen =
        std::find_if(call.begin(), call.end(), [&](const Timing* each) { return each->of->kernel == kernel; });
    if (chosen == call.end()) continue;  // it was left out: no call of this size ran by it
    const Timing& fastest = **std::min_element(
        call.begin(), call.end(), [](const Timing* a, const Timing* b) { return a->seconds < b->seconds; });
    judged.push_back({**chosen, fastest, chooser.nanoseconds(*(*chosen)->of, request) * 1e-9});
  }
  return judged;
}

}  // namespace tutti::tune

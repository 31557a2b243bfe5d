#include "bench/demo_by_hand.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "bench/by_hand.hpp"
#include "bench/sizes.hpp"
#include "bench/stopwatch.hpp"
#include "bench/tensor.hpp"

namespace tutti::bench {
namespace {

constexpr int kSamples = 15;
constexpr int kRoot = 0;

struct Pair {
  const char* name;
  bool adds;
  int lines;
  std::function<void()> by_hand;
  std::function<void()> collective;
};

}  // namespace

bool show_by_hand(Session& session, bool timed, InOrder& out) {
  const auto n = static_cast<std::size_t>(session.size());
  Communicator comm = session.communicator();
  Stopwatch watch(session, comm, kSamples);
  out.once(
      fmt::format("Collectives beside the same written by hand with send and recv (bench/by_hand.cpp), {} rank{}\n"
                  "lines: of code, in a function's body; time: median of {} calls in turn, the slowest rank counts;\n"
                  "ratio: how many times as fast the collective is.\n\n"
                  "  {:<11}{:>8}   {:>17}   {:>17}\n"
                  "  {:<11}{:>8}   {:>5}{:>12}   {:>5}{:>12}{:>9}\n",
                  n, n > 1 ? "s" : "", kSamples, "", "", "by hand", "the collective", "", "size", "lines", "time",
                  "lines", "time", "ratio"));
  bool same = true;
  for (const std::size_t count : {std::size_t{256}, std::size_t{timed ? 256u : 16u} << 10}) {
    // A rank's values are small integers, so that the order of sums does not show.
    std::vector<float> start(count);
    for (std::size_t i = 0; i < count; ++i)
      start[i] = static_cast<float>((i + 3 * static_cast<std::size_t>(session.rank())) % 7);
    Tensor in(comm, count), to(comm, n * count), theirs(comm, count);
    const std::vector<Pair> pairs = {
        {"broadcast", false, kBroadcastLines, [&] { broadcast_by_hand(comm, to.data(), count, kRoot); },
         [&] { comm.broadcast(to.data(), count, kRoot); }},
        {"reduce", true, kReduceLines, [&] { reduce_by_hand(comm, in.data(), to.data(), theirs.data(), count, kRoot); },
         [&] { comm.reduce(in.data(), to.data(), count, ReduceOp::sum, kRoot); }},
        {"all_gather", false, kAllGatherLines, [&] { all_gather_by_hand(comm, in.data(), to.data(), count); },
         [&] { comm.all_gather(in.data(), to.data(), count); }},
        {"all_reduce", true, kAllReduceLines, [&] { all_reduce_by_hand(comm, to.data(), theirs.data(), count); },
         [&] { comm.all_reduce(to.data(), to.data(), count, ReduceOp::sum); }},
    };
    for (const Pair& pair : pairs) {
      if (pair.adds && session.on_gpu()) continue;
      const auto prepare = [&] {
        in.set(start);
        to.set(start);
      };
      const auto result_of = [&](const std::function<void()>& call) {
        prepare();
        call();
        return to.values();
      };
      const std::vector<float> by_hand = result_of(pair.by_hand), collective = result_of(pair.collective);
      same = same && std::memcmp(by_hand.data(), collective.data(), by_hand.size() * sizeof(float)) == 0;
      std::string time[2] = {"-", "-"}, ratio = "-";
      if (timed) {
        const std::vector<double> times = watch.times(prepare, {pair.by_hand, pair.collective});
        for (int which : {0, 1}) time[which] = readable_duration(times[static_cast<std::size_t>(which)]);
        ratio = fmt::format("{:.2f}x", times[0] / times[1]);
      }
      out.once(fmt::format("  {:<11}{:>8}   {:>5}{:>12}   {:>5}{:>12}{:>9}\n", pair.name,
                           readable_bytes(static_cast<double>(count * sizeof(float))), pair.lines, time[0], 1, time[1],
                           ratio));
    }
  }
  const std::vector<char> all = session.bootstrap_all_gather(static_cast<char>(same));
  same = std::count(all.begin(), all.end(), 0) == 0;
  if (session.on_gpu()) out.once("\n  To add by hand needs a kernel, so reduce and all_reduce are left out on GPUs.\n");
  out.once(same ? "\n  Both ways gave the same bits on every rank.\n"
                : "\n  WRONG: the two ways differ on some rank.\n");
  return same;
}

}  // namespace tutti::bench

// tutti-topo: where ranks and devices are, and how fast each pair talks.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "bench/arguments.hpp"
#include "bench/machine.hpp"
#include "bench/topo_arguments.hpp"
#include "bench/topo_text.hpp"
#include "collectives/environment.hpp"
#include "collectives/free_memory.hpp"
#include "kernels/connection.hpp"

namespace tutti::bench {
namespace {

void print(bool shown, const std::string& text) {
  if (!shown) return;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void hold_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Where every rank is; on CPUs this rank is held on its own from here on, if asked for.
std::vector<RankPlace> place_ranks(Session& session, const void* memory, bool hold) {
  RankPlace mine = this_place();
  if (session.on_gpu()) mine.gpu = gpu_of(memory);
  std::vector<RankPlace> places = session.bootstrap_all_gather(mine);
  if (hold && !session.on_gpu()) {
    const std::vector<int> cpus = cpus_to_hold(places);
    for (std::size_t rank = 0; rank < places.size(); ++rank) places[rank].cpu = cpus[rank];
    const int cpu = cpus[static_cast<std::size_t>(session.rank())];
    if (cpu >= 0) hold_on(cpu);
  }
  return places;
}

// What the runtime says of the way from each rank's GPU to each; empty on CPUs.
std::vector<std::vector<PeerAccess>> all_access(Session& session, const std::vector<RankPlace>& places) {
  if (!session.on_gpu()) return {};
  std::vector<RankGpu> gpus;
  for (const RankPlace& place : places) gpus.push_back(place.gpu);
  const std::vector<PeerAccess> mine = peer_access(gpus[static_cast<std::size_t>(session.rank())], gpus);
  std::array<PeerAccess, kMaxRanks> row{};
  std::copy_n(mine.begin(), std::min(mine.size(), row.size()), row.begin());
  std::vector<std::vector<PeerAccess>> all;
  for (const auto& theirs : session.bootstrap_all_gather(row))
    all.emplace_back(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(std::min(places.size(), row.size())));
  return all;
}

// Returns when every rank has called it; sleeps meanwhile, since ranks that measure may be on the same CPU.
void meet_asleep(Communicator& communicator) {
  Handle everyone = communicator.barrier_async();
  while (!everyone.test()) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

// One pair after the other, the same result on all ranks.
std::vector<MeasuredPair> measure_pairs(Session& session, Communicator& communicator, std::byte* memory,
                                        const TopoArguments& arguments) {
  const int ranks = session.size(), rank = session.rank();
  const int count = ranks * (ranks - 1) / 2;
  std::vector<MeasuredPair> pairs;
  std::vector<PairSpeed> mine;  // of the pairs that this rank leads
  const double seconds = arguments.seconds / count;
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b) {
      if (rank == a)
        mine.push_back(measure_pair(communicator, a, b, memory, arguments.bytes, seconds));
      else if (rank == b)
        measure_pair(communicator, a, b, memory, arguments.bytes, seconds);
      pairs.push_back({a, b, {}});
      meet_asleep(communicator);
    }
  std::array<PairSpeed, kMaxRanks> row{};
  std::copy_n(mine.begin(), std::min(mine.size(), row.size()), row.begin());
  const auto rows = session.bootstrap_all_gather(row);
  for (MeasuredPair& pair : pairs)
    pair.speed = rows[static_cast<std::size_t>(pair.a)][static_cast<std::size_t>(pair.b - pair.a - 1)];
  return pairs;
}

std::string command_line(int ranks, const std::vector<std::string>& arguments) {
  std::string line = fmt::format("tutti -n {} topo", ranks);
  for (const std::string& argument : arguments) line.append(" ").append(argument);
  return line;
}

int show(const TopoArguments& arguments, const std::vector<std::string>& words) {
  SessionOptions native;
  native.backend = BackendKind::native;
  Session session(native);
  const int ranks = session.size();
  const bool first = session.rank() == 0;
  std::size_t free = free_memory();
  for (std::size_t found : session.bootstrap_all_gather(free)) free = std::min(free, found);
  check_topo(arguments, ranks, free);

  Communicator communicator = session.communicator();
  const Machine machine = this_machine(session.on_gpu());
  const bool measures = arguments.measure && ranks > 1 && !machine.emulated;
  auto memory = communicator.allocate<std::byte>(measures ? arguments.bytes : 8);
  const CpuMap cpus;
  const PciMap pci;
  const TopoMap map(place_ranks(session, memory.data(), arguments.hold && measures), cpus, pci);
  const auto access = all_access(session, map.places());
  print(first, topo_header(map, machine, device_of(session.on_gpu(), machine)) + link_matrix(map));

  std::vector<MeasuredPair> pairs;
  if (measures) {
    pairs = measure_pairs(session, communicator, memory.data(), arguments);
    print(first, speed_matrices(map, pairs, arguments.bytes));
  } else if (arguments.measure && machine.emulated) {
    print(first, "\nThe GPUs are emulated on the CPU, so times mean nothing: nothing is measured.\n");
  } else if (arguments.measure) {
    print(first, "\nOne rank has no pair to measure: ./tutti -n 2 topo\n");
  }
  bool good = true;
  if (first && !arguments.json.empty()) {
    std::ofstream file(arguments.json);
    file << topo_report(map, machine, command_line(ranks, words), access, pairs, arguments.bytes) << std::flush;
    if (!file) {
      fmt::print(stderr, "tutti topo: cannot write '{}'\n", arguments.json);
      good = false;
    }
  }
  session.bootstrap_barrier();
  return good ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  const bool speaks = launched_rank() == 0;
  try {
    const TopoArguments arguments = parse_topo(words);
    if (arguments.help) {
      if (speaks) fmt::print("{}", *arguments.help);
      return 0;
    }
    if (const std::string fault = environment_fault(); !fault.empty()) throw ArgumentError(fault);
    if (arguments.check_only) {
      check_topo(arguments, arguments.ranks, free_memory());
      return 0;
    }
    return show(arguments, words);
  } catch (const ArgumentError& error) {
    if (speaks) fmt::print(stderr, "tutti topo: {}\n", error.what());
    let_rank_0_speak();
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti topo: rank {}: {}\n", launched_rank(), error.what());
    // The other ranks may be waiting for this one: leaving at once lets the launcher end them.
    std::fflush(nullptr);
    _exit(1);
  }
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::run({argv + 1, argv + argc}); }

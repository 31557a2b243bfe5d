// tutti topo: what is read of a machine, how it is shown, and what is measured.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/arguments.hpp"
#include "bench/pair_speed.hpp"
#include "bench/topo_arguments.hpp"
#include "bench/topo_map.hpp"
#include "bench/topo_text.hpp"
#include "tests/topo_machine.hpp"

namespace tutti::bench {
namespace {

using test::kGpuClass;
using test::kNetworkClass;
using test::Sysfs;

// Two packages of two NUMA nodes; each node has two cores of two threads, whose second-level cache the cores 0 and 1 of
// node 0 share, and a third-level cache in nodes 0, 2 and 3. CPU c and c + 8 are one core.
void two_packages(Sysfs& sys) {
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8, node = core / 2;
    const std::string siblings = std::to_string(core) + "," + std::to_string(core + 8);
    const std::string of_node = cpu_list({2 * node, 2 * node + 1, 2 * node + 8, 2 * node + 9});
    sys.cpu(cpu, node / 2, core % 4, siblings, node == 0 ? of_node : siblings, node == 1 ? siblings : of_node);
  }
  for (int node = 0; node < 4; ++node) sys.node(node, cpu_list({2 * node, 2 * node + 1, 2 * node + 8, 2 * node + 9}));
  sys.write("devices/system/cpu/cpufreq/boost", "1");  // no CPU
  sys.write("devices/system/node/node4/cpulist", "");  // memory alone
}

RankPlace rank_that_may_use(const std::vector<int>& cpus) {
  RankPlace place;
  place.pid = 1234;
  CPU_ZERO(&place.allowed);
  for (int cpu : cpus) CPU_SET(cpu, &place.allowed);
  return place;
}

RankPlace rank_on(int cpu) {
  RankPlace place = rank_that_may_use({cpu});
  place.cpu = cpu;
  return place;
}

RankPlace rank_on_gpu(const std::string& address, const std::string& name = "a GPU") {
  RankPlace place = rank_that_may_use({0});
  address.copy(place.gpu.address.data(), place.gpu.address.size() - 1);
  name.copy(place.gpu.name.data(), place.gpu.name.size() - 1);
  return place;
}

TEST(CpuLists, AreReadAndWrittenAsTheKernelDoes) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_EQ(parse_cpu_list("8,0-1"), (std::vector<int>{0, 1, 8}));
  EXPECT_EQ(parse_cpu_list(""), (std::vector<int>{}));
  EXPECT_EQ(parse_cpu_list("nonsense"), (std::vector<int>{}));
  EXPECT_EQ(cpu_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list({5, 7}), "5,7");
  EXPECT_EQ(cpu_list({}), "");
}

TEST(CpuMap, NamesTheInnermostThingThatTwoCpusShare) {
  Sysfs sys;
  two_packages(sys);
  const CpuMap map(sys.root());
  EXPECT_EQ(map.packages(), 2);
  EXPECT_EQ(map.nodes(), 4);
  EXPECT_EQ(map.place(13).package, 1);
  EXPECT_EQ(map.place(13).core, 1);
  EXPECT_EQ(map.place(13).node, 2);
  EXPECT_EQ(map.cpus_of_node(1), (std::vector<int>{2, 3, 10, 11}));
  const struct {
    int a, b;
    CpuLink expected;
  } pairs[] = {{3, 3, CpuLink::same_cpu}, {3, 11, CpuLink::same_core},     {0, 1, CpuLink::same_l2},
               {4, 5, CpuLink::same_l3},  {2, 3, CpuLink::same_node},      {0, 2, CpuLink::same_package},
               {0, 4, CpuLink::system},   {12, 14, CpuLink::same_package}, {0, 99, CpuLink::system}};
  for (const auto& [a, b, expected] : pairs) {
    EXPECT_EQ(map.link(a, b), expected) << "CPUs " << a << " and " << b;
    EXPECT_EQ(map.link(b, a), expected) << "CPUs " << b << " and " << a;
  }
}

TEST(CpuMap, OfAMachineThatTellsNothingKnowsNothing) {
  Sysfs sys;
  const CpuMap map(sys.root());
  EXPECT_EQ(map.packages(), 1);
  EXPECT_EQ(map.nodes(), 1);
  EXPECT_EQ(map.place(0).core, -1);
  EXPECT_EQ(map.link(0, 0), CpuLink::same_cpu);
  EXPECT_EQ(map.link(0, 1), CpuLink::system);
}

TEST(CpuMap, OfThisMachineHasThisProcessesCpus) {
  const CpuMap map;
  const std::vector<int> all = map.cpus_of_node(-1);
  for (int cpu : cpus_of(this_place().allowed))
    EXPECT_NE(std::find(all.begin(), all.end(), cpu), all.end()) << "CPU " << cpu << " is not among " << cpu_list(all);
}

TEST(PciAddresses, AreReadInBothSpellings) {
  EXPECT_EQ(parse_pci("0000:3b:00.0"), (PciAddress{0, 0x3b, 0, 0}));
  EXPECT_EQ(parse_pci("00000000:3B:00.0"), (PciAddress{0, 0x3b, 0, 0}));
  EXPECT_EQ(parse_pci("0001:c1:1f.7"), (PciAddress{1, 0xc1, 0x1f, 7}));
  for (const char* text : {"", "virtio3", "0000:3b:00", "0000:3b:00.0x"})
    EXPECT_EQ(parse_pci(text), std::nullopt) << text;
  EXPECT_EQ(name_of({0, 0x3b, 0, 0}), "0000:3b:00.0");
}

// Two GPUs and an adapter behind one switch, a GPU behind another switch of the same root port, one at the same host
// bridge, one at another of the same node, and one of the other node.
void with_devices(Sysfs& sys) {
  const std::string port = "pci0000:10/0000:10:01.0", one = port + "/0000:11:00.0/0000:12:00.0";
  sys.pci(one + "/0000:13:00.0", "0000:14:00.0", kGpuClass, 0);
  sys.pci(one + "/0000:13:01.0", "0000:15:00.0", kGpuClass, 0);
  sys.pci(one + "/0000:13:02.0", "0000:16:00.0", kNetworkClass, 0);
  sys.pci(port + "/0000:11:00.0/0000:12:01.0/0000:17:00.0/0000:18:00.0", "0000:19:00.0", kGpuClass, 0);
  sys.pci("pci0000:10/0000:10:02.0", "0000:1a:00.0", kGpuClass, 0);
  sys.pci("pci0000:20/0000:20:01.0", "0000:21:00.0", kGpuClass, 0);
  sys.pci("pci0000:90/0000:90:01.0", "0000:91:00.0", kGpuClass, 1);
  sys.link("class/infiniband/mlx5_0/device", "devices/" + one + "/0000:13:02.0/0000:16:00.0");
}

TEST(PciMap, NamesWhatTheWayBetweenTwoDevicesCrosses) {
  Sysfs sys;
  with_devices(sys);
  const PciMap map(sys.root());
  ASSERT_EQ(map.gpus().size(), 6u);
  EXPECT_EQ(map.gpus()[5].node, 1);
  ASSERT_EQ(map.adapters().size(), 1u);
  EXPECT_EQ(map.adapters()[0].name, "mlx5_0");
  const struct {
    const char* other;
    PciLink expected;
  } ways[] = {{"0000:14:00.0", PciLink::same_device}, {"0000:15:00.0", PciLink::one_switch},
              {"0000:16:00.0", PciLink::one_switch},  {"0000:19:00.0", PciLink::switches},
              {"0000:1a:00.0", PciLink::host_bridge}, {"0000:21:00.0", PciLink::same_node},
              {"0000:91:00.0", PciLink::system},      {"0000:ff:00.0", PciLink::system}};
  const PciAddress here = *parse_pci("0000:14:00.0");
  for (const auto& [other, expected] : ways) {
    EXPECT_EQ(map.link(here, *parse_pci(other)), expected) << "from 0000:14:00.0 to " << other;
    EXPECT_EQ(map.link(*parse_pci(other), here), expected) << "from " << other << " to 0000:14:00.0";
  }
}

TEST(Holding, GivesRanksOfTheSameCpusOneEachAndThenInTurn) {
  std::vector<RankPlace> places;
  for (int rank = 0; rank < 3; ++rank) places.push_back(rank_that_may_use({4, 6}));
  places.push_back(rank_that_may_use({9}));
  places.push_back(rank_that_may_use({}));
  EXPECT_EQ(cpus_to_hold(places), (std::vector<int>{4, 6, 4, 9, -1}));
}

TEST(Holding, TellsWhetherRanksShareCpus) {
  EXPECT_FALSE(share_cpus({rank_on(0), rank_on(1)}));
  EXPECT_TRUE(share_cpus({rank_on(0), rank_on(1), rank_on(0)}));
  EXPECT_FALSE(share_cpus({rank_that_may_use({0, 1}), rank_that_may_use({0, 1})}));
  EXPECT_TRUE(share_cpus({rank_that_may_use({0, 1}), rank_that_may_use({0, 1}), rank_that_may_use({1})}));
}

TEST(TopoMap, LabelsRanksOnCpusAndDevices) {
  Sysfs sys;
  two_packages(sys);
  with_devices(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const TopoMap map({rank_on(0), rank_on(1), rank_on(4), rank_that_may_use({0, 1, 2, 3})}, cpus, pci);
  ASSERT_EQ(map.spots().size(), 4u + 6u + 1u);
  EXPECT_EQ(map.spots()[4].label, "G0");
  EXPECT_EQ(map.spots()[10].label, "N0");
  EXPECT_EQ(map.link(0, 1), "L2");
  EXPECT_EQ(map.link(0, 2), "SYS");
  EXPECT_EQ(map.link(0, 3), "PKG") << "the farthest that a rank that moves can be";
  EXPECT_EQ(map.link(map.spots()[0], map.spots()[4]), "NODE");
  EXPECT_EQ(map.link(map.spots()[0], map.spots()[9]), "SYS");
  EXPECT_EQ(map.link(map.spots()[4], map.spots()[10]), "PIX");
  EXPECT_EQ(map.node_of(map.spots()[3]), -1) << "CPUs of two nodes";
}

TEST(TopoMap, RanksThatMoveAreAsFarAsTheyCanGetWhicheverComesFirst) {
  Sysfs sys;
  two_packages(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const TopoMap map({rank_on(0), rank_that_may_use({0}), rank_that_may_use({0, 2}), rank_that_may_use({0, 1, 4}),
                     rank_that_may_use({})},
                    cpus, pci);
  const struct {
    int a, b;
    const char* expected;
  } pairs[] = {{0, 1, "CPU"}, {0, 2, "PKG"}, {1, 2, "PKG"}, {1, 3, "SYS"}, {2, 3, "SYS"}, {0, 4, "SYS"}, {3, 4, "SYS"}};
  for (const auto& [a, b, expected] : pairs) {
    EXPECT_EQ(map.link(a, b), expected) << "ranks " << a << " and " << b;
    EXPECT_EQ(map.link(b, a), expected) << "ranks " << b << " and " << a;
  }
}

TEST(TopoMap, PutsRanksOnGpusWhereTheirGpusAre) {
  Sysfs sys;
  two_packages(sys);
  with_devices(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const TopoMap map({rank_on_gpu("0000:14:00.0"), rank_on_gpu("0000:1A:00.0"), rank_on_gpu("0000:14:00.0")}, cpus, pci);
  ASSERT_EQ(map.spots().size(), 3u + 4u + 1u) << "GPUs with a rank are not shown twice";
  EXPECT_EQ(map.spots()[3].label, "G1") << "numbered as all GPUs are";
  EXPECT_EQ(map.link(0, 1), "PHB");
  EXPECT_EQ(map.link(0, 2), "GPU");
  EXPECT_EQ(map.node_of(map.spots()[0]), 0);
}

TEST(TopoMap, ExplainsEveryLabel) {
  for (const char* label : {"X", "CPU", "SMT", "L2", "L3", "PKG", "NODE", "SYS", "GPU", "PIX", "PXB", "PHB", "NV18"})
    EXPECT_EQ(explain_link(label).find("not told"), std::string::npos) << label;
}

// One pair after the other, so that each value has a place of its own.
std::vector<MeasuredPair> some_pairs(int ranks) {
  std::vector<MeasuredPair> pairs;
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b) {
      PairSpeed speed;
      speed.latency = (10 * a + b) * 1e-6;
      speed.bandwidth_up = (10 * a + b) * 1e9;
      speed.bandwidth_down = (10 * b + a) * 1e9;
      pairs.push_back({a, b, speed});
    }
  return pairs;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TopoText, ShowsEveryValueInTheRowOfTheSenderAndTheColumnOfTheReceiver) {
  Sysfs sys;
  two_packages(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const TopoMap map({rank_on(0), rank_on(1), rank_on(4)}, cpus, pci);
  const std::vector<std::string> lines = lines_of(speed_matrices(map, some_pairs(3), 8 << 20));
  const std::vector<std::string> expected = {
      "",
      "Latency in us: half of a round trip of 8 bytes",
      "",
      "        R0     R1     R2",
      "  R0     X   1.00   2.00",
      "  R1  1.00      X  12.00",
      "  R2  2.00  12.00      X",
      "",
      "Bandwidth in GB/s: messages of 8 MiB, from the row's rank to the column's",
      "",
      "         R0     R1     R2",
      "  R0      X   1.00   2.00",
      "  R1  10.00      X  12.00",
      "  R2  20.00  21.00      X",
      "",
      "By link: medians over the pairs",
      "",
      "  link  pairs  latency, us  (least .. most)  GB/s   (least .. most)",
      "  L2    1      1.00         (1.00 .. 1.00)   5.50   (1.00 .. 10.00)",
      "  SYS   2      7.00         (2.00 .. 12.00)  16.00  (2.00 .. 21.00)",
  };
  EXPECT_EQ(lines, expected);
}

TEST(TopoText, TheMatrixOfLinksHasALegendForWhatItShows) {
  Sysfs sys;
  two_packages(sys);
  with_devices(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const std::string text = link_matrix(TopoMap({rank_on(0), rank_on(8)}, cpus, pci));
  EXPECT_NE(text.find("  R0  X "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  SMT   two hardware threads"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  N0    network adapter mlx5_0, 0000:16:00.0"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  L3  "), std::string::npos) << "a legend for what is not shown:\n" << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 120u) << line;
}

TEST(TopoText, AMatrixThatIsTooWideIsLeftToTheFile) {
  Sysfs sys;
  two_packages(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  std::vector<RankPlace> places;
  for (int rank = 0; rank < 17; ++rank) places.push_back(rank_on(rank % 16));
  const TopoMap map(places, cpus, pci);
  const std::string links = link_matrix(map), speeds = speed_matrices(map, some_pairs(17), 8);
  EXPECT_NE(links.find("too wide to show (17 rows); --json has it"), std::string::npos) << links;
  EXPECT_EQ(speeds.find("Latency in us"), std::string::npos) << speeds;
  EXPECT_NE(speeds.find("\n  CPU   1 "), std::string::npos) << speeds;
  for (const std::string& line : lines_of(links + speeds)) EXPECT_LE(line.size(), 120u) << line;
}

TEST(TopoReport, HasEveryRankLinkAndPair) {
  Sysfs sys;
  two_packages(sys);
  with_devices(sys);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const TopoMap map({rank_on_gpu("0000:14:00.0"), rank_on_gpu("0000:15:00.0"), rank_on_gpu("0000:91:00.0")}, cpus, pci);
  const std::vector<std::vector<PeerAccess>> access(3, std::vector<PeerAccess>(3, {1, 0, 7}));
  const auto json = nlohmann::json::parse(topo_report(map, {}, "tutti topo", access, some_pairs(3), 4096));
  EXPECT_EQ(json["ranks"].size(), 3u);
  EXPECT_EQ(json["ranks"][2]["gpu"]["bus_id"], "0000:91:00.0");
  EXPECT_EQ(json["devices"].size(), 4u);
  EXPECT_EQ(json["links"].size(), 7u * 6 / 2);
  EXPECT_EQ(json["links"][0]["link"], "PIX");
  EXPECT_EQ(json["links"][0]["access"]["performance_rank"], 7);
  ASSERT_EQ(json["pairs"].size(), 3u);
  EXPECT_EQ(json["pairs"][2]["a"], 1);
  EXPECT_EQ(json["pairs"][2]["b"], 2);
  EXPECT_DOUBLE_EQ(json["pairs"][2]["bandwidth_a_to_b"], 12);
  EXPECT_DOUBLE_EQ(json["pairs"][2]["bandwidth_b_to_a"], 21);
  EXPECT_EQ(json["message_bytes"], 4096);
}

TEST(PairSpeed, MeasuresEveryPairInBothDirections) {
  constexpr int kRanks = 3;
  constexpr std::size_t kBytes = 1 << 16;
  run_threads(kRanks, [](Session& session) {
    Communicator communicator = session.communicator();
    const auto memory = communicator.allocate<std::byte>(kBytes);
    for (int a = 0; a < kRanks; ++a)
      for (int b = a + 1; b < kRanks; ++b) {
        session.bootstrap_barrier();
        const int rank = session.rank();
        if (rank != a && rank != b) continue;
        const PairSpeed speed = measure_pair(communicator, a, b, memory.data(), kBytes, 0.02);
        if (rank != a) continue;
        EXPECT_GT(speed.latency, 0) << "ranks " << a << " and " << b;
        EXPECT_LE(speed.latency_least, speed.latency);
        EXPECT_GE(speed.latency_most, speed.latency);
        EXPECT_GT(speed.bandwidth_up, 0) << "from " << a << " to " << b;
        EXPECT_GT(speed.bandwidth_down, 0) << "from " << b << " to " << a;
        EXPECT_GE(speed.round_trips, 1);
        EXPECT_GE(speed.messages, 2);
      }
  });
}

TEST(TopoArguments, AreReadAndRefusedWithWhatWouldBeRight) {
  const TopoArguments arguments = parse_topo({"-b", "4K", "--seconds", "0.5", "--no-hold", "--json", "x.json"});
  EXPECT_EQ(arguments.bytes, 4096u);
  EXPECT_EQ(arguments.seconds, 0.5);
  EXPECT_FALSE(arguments.hold);
  EXPECT_TRUE(arguments.measure);
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"-b", "4"}, "from 8 on"},       {{"-b", "x"}, "whole number"}, {{"--seconds", "0"}, "above 0"},
      {{"--seconds", "-1"}, "above 0"}, {{"--json", ""}, "file name"}, {{"surplus"}, "surplus"}};
  for (const auto& [words, expected] : wrong) {
    try {
      parse_topo(words);
      FAIL() << words.front() << " was accepted";
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(check_topo(parse_topo({"-b", "1G"}), 4, std::size_t{1} << 30), ArgumentError);
  EXPECT_NO_THROW(check_topo(parse_topo({"-b", "1G", "--map-only"}), 4, std::size_t{1} << 30));
  EXPECT_THROW(check_topo(parse_topo({"--json", "no/such/folder/x.json"}), 2, 1 << 30), ArgumentError);
}

}  // namespace
}  // namespace tutti::bench

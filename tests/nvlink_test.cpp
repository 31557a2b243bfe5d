// How NVLinks are counted, with a library that stands in for NVIDIA's (nvml_stand_in.cpp).
#include "bench/nvlink.hpp"

#include <gtest/gtest.h>

#include "bench/topo_map.hpp"
#include "tests/topo_machine.hpp"

namespace tutti::bench {
namespace {

PciAddress at(unsigned bus) { return {0, bus, 0, 0}; }

TEST(NvLinks, AreCountedWhereTheyAreActiveDirectAndThroughSwitches) {
  const NvLinks links({at(0x10), at(0x11), at(0x12), at(0x20), at(0x21), at(0x30)});
  ASSERT_TRUE(links.known());
  const struct {
    unsigned a, b;
    int expected;
  } pairs[] = {{0x10, 0x11, 3}, {0x10, 0x12, 2}, {0x11, 0x12, 0}, {0x20, 0x21, 16},
               {0x10, 0x20, 0}, {0x20, 0x20, 0}, {0x20, 0x30, 0}, {0x20, 0x77, 0}};
  for (const auto& [a, b, expected] : pairs) {
    EXPECT_EQ(links.between(at(a), at(b)), expected) << std::hex << a << " and " << b;
    EXPECT_EQ(links.between(at(b), at(a)), expected) << std::hex << b << " and " << a;
  }
}

TEST(NvLinks, AreNotLookedForWithoutGpus) { EXPECT_FALSE(NvLinks({}).known()); }

TEST(TopoMap, ShowsNvLinksBeforeTheWayOverPci) {
  test::Sysfs sys;
  for (const char* bus : {"10", "11", "12", "20", "21"})
    sys.pci("pci0000:00/0000:00:01.0", "0000:" + std::string(bus) + ":00.0", test::kGpuClass, 0);
  std::vector<RankPlace> places(2);
  for (int rank = 0; rank < 2; ++rank)
    std::string(rank == 0 ? "0000:20:00.0" : "0000:21:00.0").copy(places[rank].gpu.address.data(), 23);
  const CpuMap cpus(sys.root());
  const PciMap pci(sys.root());
  const TopoMap map(places, cpus, pci);
  EXPECT_EQ(map.link(0, 1), "NV16");
  EXPECT_EQ(map.nvlinks(0, 1), 16);
  EXPECT_EQ(map.link(map.spots()[0], map.spots()[2]), "PIX");
  EXPECT_EQ(explain_link("NV16"), "16 NVLinks, direct or through switches");
}

}  // namespace
}  // namespace tutti::bench

// Where a CPU's caches have the lines, and what they take from there, reckoned by hand.
#include "kernels/timed_caches.hpp"

#include <gtest/gtest.h>

namespace tutti::timed {
namespace {

Machine machine(int last_caches) {
  Machine m;
  m.is_gpu = false;
  m.cores = 2;
  m.core_cache = 1 << 20;
  m.last_cache = 8 << 20;
  m.last_caches = last_caches;
  m.own_load = 64;
  m.own_store = 32;
  m.peer_load = 16;
  m.peer_add = 8;
  m.peer_store = 4;
  m.last_load = 20;
  m.last_store = 10;
  m.memory_load = 5;
  m.memory_store = 2;
  m.stream_store = 12;
  m.load = 100;
  return m;
}

/// A core of a machine with two, and buffers that stand nowhere.
struct Cores {
  explicit Cores(int last_caches = 1) : caches(machine(last_caches)) {}
  static Bytes buffer(int number, std::size_t size) {
    return {reinterpret_cast<const void*>((std::uintptr_t{1} << 40) + (static_cast<std::uintptr_t>(number) << 30)),
            size};
  }
  Caches::Work read(int core, Bytes from) { return caches.move(core, std::span(&from, 1), {}, false); }
  Caches::Work write(int core, Bytes to, bool streaming = false) {
    return caches.move(core, {}, std::span(&to, 1), streaming);
  }
  Caches caches;
};

constexpr std::size_t kSize = 64 << 10;
constexpr double kBytes = kSize;

TEST(TimedCaches, WhatACoreTouchedLastIsItsOwn) {
  Cores cores;
  const Bytes a = Cores::buffer(0, kSize);
  EXPECT_DOUBLE_EQ(cores.read(0, a).ns, kBytes / 5) << "from memory";
  EXPECT_DOUBLE_EQ(cores.read(0, a).ns, kBytes / 64);
  EXPECT_DOUBLE_EQ(cores.write(0, a).ns, kBytes / 32);
  EXPECT_DOUBLE_EQ(cores.write(0, a).memory, 0);
}

TEST(TimedCaches, ReadingFromAnotherCoreLeavesLinesWithBoth) {
  Cores cores;
  const Bytes a = Cores::buffer(0, kSize);
  cores.write(0, a);
  EXPECT_DOUBLE_EQ(cores.read(1, a).ns, kBytes / 16 + 100) << "the first byte takes its way";
  EXPECT_DOUBLE_EQ(cores.read(1, a).ns, kBytes / 64);
  EXPECT_DOUBLE_EQ(cores.read(0, a).ns, kBytes / 64);
}

TEST(TimedCaches, WritingTakesLinesAwayFromOthers) {
  Cores cores;
  const Bytes a = Cores::buffer(0, kSize);
  cores.write(0, a);
  cores.read(1, a);
  EXPECT_DOUBLE_EQ(cores.write(0, a).ns, kBytes / 4 + 100) << "its own lines, but not alone its own";
  EXPECT_DOUBLE_EQ(cores.write(0, a).ns, kBytes / 32);
  EXPECT_DOUBLE_EQ(cores.read(1, a).ns, kBytes / 16 + 100) << "core 1 has lost them";
}

TEST(TimedCaches, SeveralSourcesAreReadFromPeersAtARateOfTheirOwn) {
  Cores cores;
  const Bytes both[] = {Cores::buffer(0, kSize), Cores::buffer(1, kSize)};
  cores.write(0, both[0]);
  cores.write(1, both[1]);
  EXPECT_DOUBLE_EQ(cores.caches.move(1, both, {}, false).ns, kBytes / 8 + kBytes / 64 + 100);
}

TEST(TimedCaches, WhatDoesNotFitACoresCachesIsInTheLastLevel) {
  Cores cores;
  const Bytes large = Cores::buffer(0, 2 << 20);
  cores.write(0, large);
  EXPECT_DOUBLE_EQ(cores.read(0, large).ns, (2 << 20) / 20.0);
  EXPECT_DOUBLE_EQ(cores.read(1, large).ns, (2 << 20) / 20.0) << "near: the same last-level cache";
}

TEST(TimedCaches, FarCoresHaveLastLevelCachesOfTheirOwn) {
  Cores cores(2);
  const Bytes large = Cores::buffer(0, 2 << 20);
  cores.write(0, large);
  EXPECT_DOUBLE_EQ(cores.read(1, large).ns, (2 << 20) / 16.0 + 100);
}

TEST(TimedCaches, WhatDoesNotFitTheLastLevelIsInMemory) {
  Cores cores;
  const Bytes huge = Cores::buffer(0, 32 << 20);
  cores.write(0, huge);
  const Caches::Work again = cores.read(0, huge);
  EXPECT_DOUBLE_EQ(again.ns, (32 << 20) / 5.0);
  EXPECT_DOUBLE_EQ(again.memory, 32 << 20);
  EXPECT_DOUBLE_EQ(cores.write(0, huge).memory, 2.0 * (32 << 20)) << "each line comes and goes";
}

TEST(TimedCaches, StreamingStoresLeaveLinesInNoCache) {
  Cores cores;
  const Bytes a = Cores::buffer(0, kSize);
  cores.read(1, a);
  const Caches::Work streamed = cores.write(0, a, true);
  EXPECT_DOUBLE_EQ(streamed.ns, kBytes / 12);
  EXPECT_DOUBLE_EQ(streamed.memory, kBytes);
  EXPECT_DOUBLE_EQ(cores.read(1, a).ns, kBytes / 5);
  EXPECT_DOUBLE_EQ(cores.read(0, a).ns, kBytes / 16 + 100);
}

TEST(TimedCaches, PartsOfABufferAreWhereEachWasTouchedLast) {
  Cores cores;
  const Bytes whole = Cores::buffer(0, kSize);
  const Bytes half = {static_cast<const char*>(whole.at) + kSize / 2, kSize / 2};
  cores.write(0, whole);
  cores.write(1, half);
  EXPECT_DOUBLE_EQ(cores.read(0, whole).ns, kBytes / 2 / 64 + kBytes / 2 / 16 + 100);
}

TEST(TimedCaches, BytesCountAsTheirWholeLines) {
  Cores cores;
  const Bytes word = {static_cast<const char*>(Cores::buffer(0, 64).at) + 60, 8};
  EXPECT_DOUBLE_EQ(cores.read(0, word).ns, 128.0 / 5);
}

}  // namespace
}  // namespace tutti::timed

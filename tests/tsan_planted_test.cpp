// ThreadSanitizer must see what the words of the CPU block do: for each word a broken kernel has a planted race, run in
// a process of its own, which must report it and fail; the same kernel made right must not.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/block_host.hpp"
#include "kernels/fiber.hpp"

namespace tutti {
namespace {

/// Two ranks of one process with an arena each, and a buffer that both reach.
class Pair {
 public:
  Pair()
      : layout_(layout_of({.ranks = 2,
                           .blocks = 2,
                           .packet_blocks = 2,
                           .message_blocks = 2,
                           .slot_bytes = 64 << 10,
                           .p2p_slot_bytes = 1024,
                           .packet_bytes = 1024})) {
    for (auto& arena : arenas_) {
      arena.resize(layout_.bytes / sizeof(Flag) + 1);
      memory_.emplace_back(64 << 10);
    }
    for (int r = 0; r < 2; ++r) {
      auto** const table = reinterpret_cast<char**>(arena(r) + layout_.arenas);
      for (int peer = 0; peer < 2; ++peer) table[peer] = arena(peer);
      teams_[r] = {.arena = arena(r), .rank = r, .layout = layout_};
    }
  }
  const Team& team(int rank) const { return teams_[rank]; }
  char* memory(int rank) { return memory_[static_cast<std::size_t>(rank)].data(); }

 private:
  char* arena(int rank) { return reinterpret_cast<char*>(arenas_[rank].data()); }
  Layout layout_;
  std::vector<Flag> arenas_[2];
  std::vector<std::vector<char>> memory_;
  Team teams_[2];
};

void yield_core(void*) { sched_yield(); }

HostBlock block_of(const Team& team, const Call& call, StorePolicy stores = {}, int index = 0) {
  return HostBlock(team, call, index, 2, {.spins = 10, .pause = yield_core, .timeout = std::chrono::seconds(20)},
                   stores);
}

/// Long enough for the other thread to be far ahead: the checker needs the order, not the moment.
void be_late() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

void on_two_threads(const std::function<void(int rank)>& body) {
  std::thread other([&] { body(1); });
  body(0);
  other.join();
}

/// Rank 0 fills rank 1's slot, rank 1 reads it; with or without the signal between.
void move(StorePolicy stores, bool reducing, bool signalled) {
  Pair pair;
  constexpr std::size_t kBytes = 32 << 10;
  on_two_threads([&](int rank) {
    Call call;
    HostBlock block = block_of(pair.team(rank), call, stores);
    if (rank == 0) {
      if (reducing) {
        block.reduce(one(block.next_slot(0)), two(pair.memory(0), pair.memory(0)), kBytes / 4, {});
      } else {
        block.copy(one(block.next_slot(0)), pair.memory(0), kBytes);
      }
      if (signalled) block.signal(data(1), 1);
    } else {
      if (signalled) {
        block.wait(data(0), 1);
      } else {
        be_late();
      }
      block.copy(one(pair.memory(1)), block.my_slot(0), kBytes);
    }
  });
}

/// A caller that overwrites its buffer while a peer may still read it; `leave` is what is missing.
void overwrite(bool left) {
  Pair pair;
  on_two_threads([&](int rank) {
    Call call;
    HostBlock block = block_of(pair.team(rank), call);
    if (rank == 0) {
      block.copy(one(pair.memory(0)), pair.memory(1), 100);
      if (left) block.leave();
    } else {
      if (left) {
        block.leave();
      } else {
        be_late();
      }
      for (int i = 0; i < 100; ++i) pair.memory(1)[i] = 1;
    }
  });
}

/// Rank 0 puts packets; then it puts others into the same half, though rank 1 may still read; or, right, into the next.
void put_twice(std::size_t count, bool advances) {
  Pair pair;
  on_two_threads([&](int rank) {
    Call call;
    call.count = count;
    HostBlock block = block_of(pair.team(rank), call);
    std::vector<float> in(count, 1.0f), out(count);
    auto* const from = reinterpret_cast<const char*>(in.data());
    block.put_packets(call, from, count, 0, kAll);
    if (rank == 1) return block.reduce_packets(call, reinterpret_cast<char*>(out.data()), from, count);
    be_late();
    if (advances) block.advance_uses(Region::packets, 1);
    block.put_packets(call, from, count, 0, kAll);
  });
}

/// Two blocks of one rank, as fibers of one thread: the second reads what the first wrote; a flag orders them or not.
void across_fibers(bool signalled) {
  Pair pair;
  Call call;
  std::vector<float> in(100, 1.0f);
  const auto bytes = in.size() * sizeof(float);
  Fiber first([&] {
    HostBlock block = block_of(pair.team(0), call);
    block.copy(one(pair.memory(0)), in.data(), bytes);
    if (signalled) block.signal(data(1), 1);
    Fiber::yield();
  });
  Fiber second([&] {
    HostBlock block = block_of(pair.team(1), call);
    if (signalled) block.wait(data(0), 1);
    block.copy(one(pair.memory(1)), pair.memory(0), bytes);
    Fiber::yield();
  });
  first.resume();
  second.resume();
  first.resume();
  second.resume();
}

struct Plant {
  const char* name;
  std::function<void()> run;
  bool racy;
};

const std::vector<Plant>& plants() {
  const StorePolicy streaming{host::Stores::streaming, host::Stores::streaming};
  static const std::vector<Plant> all = {
      {"PlainCopy", [] { move({}, false, false); }, true},
      {"PlainCopySignalled", [] { move({}, false, true); }, false},
      {"StreamedCopy", [=] { move(streaming, false, false); }, true},
      {"StreamedCopySignalled", [=] { move(streaming, false, true); }, false},
      {"PlainReduce", [] { move({}, true, false); }, true},
      {"PlainReduceSignalled", [] { move({}, true, true); }, false},
      {"StreamedReduce", [=] { move(streaming, true, false); }, true},
      {"StreamedReduceSignalled", [=] { move(streaming, true, true); }, false},
      {"CallerOverwrites", [] { overwrite(false); }, true},
      {"CallerOverwritesAfterLeave", [] { overwrite(true); }, false},
      {"ShortPacket", [] { put_twice(4, false); }, true},
      {"LongPacket", [] { put_twice(200, false); }, true},
      {"ShortPacketInTurn", [] { put_twice(4, true); }, false},
      {"LongPacketInTurn", [] { put_twice(200, true); }, false},
      {"AcrossFibers", [] { across_fibers(false); }, true},
      {"AcrossFibersSignalled", [] { across_fibers(true); }, false},
  };
  return all;
}

class Planted : public testing::TestWithParam<std::size_t> {};

TEST_P(Planted, RacesAreReportedAndOnlyThey) {
  const Plant& plant = plants()[GetParam()];
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const std::string command = "'" + std::string(self) + "' --plant " + plant.name + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char piece[4096];
  while (const std::size_t got = fread(piece, 1, sizeof piece, pipe)) output.append(piece, got);
  const int status = pclose(pipe);
  const bool reported = output.find("WARNING: ThreadSanitizer: data race") != std::string::npos;
  EXPECT_EQ(reported, plant.racy) << output;
  EXPECT_EQ(WIFEXITED(status) && WEXITSTATUS(status) == 0, !plant.racy) << "status " << status << "\n" << output;
}

INSTANTIATE_TEST_SUITE_P(Words, Planted, testing::Range(std::size_t{0}, plants().size()),
                         [](const auto& plant) { return plants()[plant.param].name; });

}  // namespace

int run_plant(const char* name) {
  for (const Plant& plant : plants()) {
    if (std::strcmp(plant.name, name) != 0) continue;
    plant.run();
    return 0;
  }
  std::fprintf(stderr, "no plant is named %s\n", name);
  return 2;
}

}  // namespace tutti

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--plant") == 0) return tutti::run_plant(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// Libraries that are measured in processes of their own: what the bench orders is done, and what goes wrong is told.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "bench/peers/job.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench::peers {
namespace {

const Setting kCopier{"copier", "tutti-peer-copier", {}, "copier-dev", true};

Case case_of_bytes(std::size_t bytes, DataType type = DataType::f32) {
  Case shape;
  shape.type = type;
  return case_of(bytes, shape);
}

class Peers : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TUTTI_COPIER"); }
  std::string fault_of(const Setting& setting, const std::function<void(Job&)>& use = {}) {
    try {
      Job job(*bootstraps_[0], setting, 4096, 4096);
      if (use) use(job);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_ = thread_bootstraps(1);
};

TEST_F(Peers, DoAsManyCallsAsTheyAreTold) {
  Job job(*bootstraps_[0], kCopier, 4096, 4096);
  EXPECT_EQ(job.version(), "Copier 1");
  const Case c = case_of_bytes(1024);
  EXPECT_EQ(job.run({.kind = Order::Kind::verify, .c = c}).wrong, 0u);
  for (const bool together : {false, true})
    for (const bool steady : {false, true}) {
      const Batch batch{.calls = 100, .turn = 7, .together = together, .steady = steady};
      const Job::Result result = job.run({.kind = Order::Kind::batch, .c = c, .batch = batch});
      EXPECT_EQ(result.wrong, 0u);
      EXPECT_GT(result.seconds, 0);
      EXPECT_LT(result.seconds, 1);
    }
}

TEST_F(Peers, RefuseACaseThatTheirLibraryLacksAndGoOn) {
  Job job(*bootstraps_[0], kCopier, 4096, 4096);
  EXPECT_EQ(job.run({.kind = Order::Kind::verify, .c = case_of_bytes(64, DataType::f16)}).refusal, "no halves");
  EXPECT_EQ(job.run({.kind = Order::Kind::verify, .c = case_of_bytes(64)}).refusal, "");
}

TEST_F(Peers, ThatGetItWrongAreCounted) {
  setenv("TUTTI_COPIER", "wrong", 1);
  Job job(*bootstraps_[0], kCopier, 4096, 4096);
  const Case c = case_of_bytes(64);
  EXPECT_EQ(job.run({.kind = Order::Kind::verify, .c = c}).wrong, 1u);
  EXPECT_EQ(job.run({.kind = Order::Kind::batch, .c = c, .batch = {.calls = 10}}).wrong, 10u);
}

TEST_F(Peers, ThatAreNotThereAreToldWithWhatToDo) {
  Setting absent = kCopier;
  absent.program = "tutti-peer-none";
  EXPECT_EQ(
      fault_of(absent),
      "peer copier: tutti-peer-none is not built: it needs the package copier-dev; install it, then ./tutti bench "
      "builds it");
  Setting no_launcher = kCopier;
  no_launcher.launcher = {"no-such-launcher"};
  EXPECT_EQ(fault_of(no_launcher),
            "peer copier: no-such-launcher does not start: No such file or directory (package copier-dev)");
  setenv("TUTTI_COPIER", "absent", 1);
  EXPECT_EQ(fault_of(kCopier), "peer copier: no such library tonight");
}

TEST_F(Peers, OfWhichOneRankDoesNotStartAreEndedAtOnce) {
  // The launcher stays when its program has failed, as one whose other ranks wait for the missing one.
  Setting lingering = kCopier;
  lingering.launcher = {"sh", "-c",
                        "echo $$ >\"$TUTTI_COPIER_LOG\"; \"$2\" \"$3\" \"$4\" \"$5\" \"$6\"; exec sleep 300"};
  const std::string log = testing::TempDir() + "/tutti-copier-" + std::to_string(getpid());
  setenv("TUTTI_COPIER", "absent", 1);
  setenv("TUTTI_COPIER_LOG", log.c_str(), 1);
  EXPECT_EQ(fault_of(lingering), "peer copier: no such library tonight");
  pid_t launcher = 0;
  std::ifstream(log) >> launcher;
  ASSERT_GT(launcher, 0);
  EXPECT_EQ(kill(launcher, 0), -1) << "the launcher " << launcher << " is still there";
  std::remove(log.c_str());
}

TEST_F(Peers, ThatDieAreToldOnceAndWaitedForNoMore) {
  setenv("TUTTI_COPIER", "dies", 1);
  const auto begin = std::chrono::steady_clock::now();
  const std::string fault = fault_of(
      kCopier, [](Job& job) { job.run({.kind = Order::Kind::batch, .c = case_of_bytes(64), .batch = {.calls = 10}}); });
  EXPECT_EQ(fault, "peer copier: was ended by signal 9");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(Peers, EndWithTheBenchEvenIfItIsKilled) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t bench = fork();
  if (bench == 0) {
    Job job(*bootstraps_[0], kCopier, 4096, 4096);
    [[maybe_unused]] const ssize_t told = write(pipes[1], "x", 1);
    pause();
    _exit(0);
  }
  // The peer holds the pipe's end too, so its end is the peer's.
  close(pipes[1]);
  char byte;
  ASSERT_EQ(read(pipes[0], &byte, 1), 1);
  kill(bench, SIGKILL);
  waitpid(bench, nullptr, 0);
  EXPECT_EQ(read(pipes[0], &byte, 1), 0);
  close(pipes[0]);
}

TEST(PeersByName, OpenMpisBestIsSeveralSettings) {
  EXPECT_EQ(peers_named({"openmpi-best"}).size(), 5u);
  const auto both = peers_named({"openmpi-best", "openmpi", "gloo"});
  ASSERT_EQ(both.size(), 6u);
  EXPECT_TRUE(both[0].named);
  EXPECT_FALSE(both[1].named);
  EXPECT_TRUE(both[5].named);
  EXPECT_TRUE(peers_named({"mpich", "carrier-pigeon"}).empty());
}

}  // namespace
}  // namespace tutti::bench::peers

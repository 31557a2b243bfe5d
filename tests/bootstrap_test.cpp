#include "collectives/bootstrap.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sstream>

#include "collectives/error.hpp"
#include "collectives/process_identity.hpp"
#include "collectives/share_descriptors.hpp"
#include "tests/jobs.hpp"
#include "tests/left_behind.hpp"

namespace tutti {
namespace {

using test::run_job;

Descriptor memory_file(const std::string& text) {
  Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return file;
}

std::string text_of(int fd) {
  char text[64];
  const ssize_t length = ::pread(fd, text, sizeof text, 0);
  return length < 0 ? std::string("unreadable") : std::string(text, static_cast<std::size_t>(length));
}

std::string text_of_rank(int rank) { return "from rank " + std::to_string(rank); }

/// Every rank but `without` hands over a file; checks that each arrives and is the owner's own, not a copy.
void check_share(Bootstrap& job, int without, const std::function<std::vector<Descriptor>(int)>& share) {
  const Descriptor mine = job.rank() == without ? Descriptor() : memory_file(text_of_rank(job.rank()));
  const std::vector<Descriptor> all = share(mine.get());
  ASSERT_EQ(all.size(), static_cast<std::size_t>(job.size()));
  for (int peer = 0; peer < job.size(); ++peer) {
    const int theirs = all[static_cast<std::size_t>(peer)].get();
    if (peer == without) {
      EXPECT_EQ(theirs, -1) << "on rank " << job.rank() << " from " << peer;
      continue;
    }
    EXPECT_EQ(text_of(theirs), text_of_rank(peer)) << "on rank " << job.rank() << " from " << peer;
    EXPECT_NE(theirs, mine.get()) << "rank " << job.rank() << " must own what it got";
  }
  job.barrier();
  const int next = (job.rank() + 1) % job.size();
  if (next != without) {
    EXPECT_EQ(::pwrite(all[static_cast<std::size_t>(next)].get(), "x", 1, 0), 1);
  }
  job.barrier();
  if (job.rank() != without) {
    EXPECT_EQ(text_of(mine.get())[0], 'x') << "rank " << job.rank() << "'s file was not its peer's";
  }
}

ErrorCode code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "no error was thrown";
  return ErrorCode::system;
}

class Bootstraps : public test::Job {};

TEST_P(Bootstraps, GiveEveryRankAllValuesInRankOrder) {
  run_job(GetParam(), [](Bootstrap& job) {
    for (std::size_t length : {0u, 1u, 8u, 4099u, 1u, 70000u, 2000000u}) {
      std::vector<std::byte> mine(length, static_cast<std::byte>(job.rank() + 1));
      std::vector<std::byte> all(length * static_cast<std::size_t>(job.size()), std::byte{0xee});
      job.all_gather(mine, all);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(static_cast<std::size_t>(all[i]), i / length + 1) << "rank " << job.rank() << " index " << i;
      }
    }
    for (int round = 0; round < 200; ++round) {
      const auto all = job.all_gather(std::array{job.rank(), round});
      for (int peer = 0; peer < job.size(); ++peer) {
        ASSERT_EQ(all[static_cast<std::size_t>(peer)], (std::array{peer, round})) << "rank " << job.rank();
      }
    }
  });
}

TEST_P(Bootstraps, LetNobodyPassABarrierBeforeAllHaveArrived) {
  run_job(GetParam(), [](Bootstrap& job) {
    Descriptor mine(job.rank() == 0 ? ::memfd_create("counter", MFD_CLOEXEC) : -1);
    if (job.rank() == 0) {
      ASSERT_EQ(::ftruncate(mine.get(), 4096), 0);
    }
    const auto files = job.share(mine.get());
    void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, files[0].get(), 0);
    ASSERT_NE(page, MAP_FAILED);
    auto& arrived = *static_cast<std::atomic<int>*>(page);
    for (int round = 1; round <= 100; ++round) {
      ++arrived;
      job.barrier();
      ASSERT_EQ(arrived.load(), round * job.size()) << "rank " << job.rank() << " round " << round;
      job.barrier();
    }
    ::munmap(page, 4096);
  });
}

TEST_P(Bootstraps, HandOverTheDescriptorsOfAllRanks) {
  run_job(GetParam(), [](Bootstrap& job) {
    check_share(job, -1, [&](int fd) { return job.share(fd); });
    check_share(job, job.size() - 1, [&](int fd) { return job.share(fd); });
  });
}

TEST_P(Bootstraps, LeaveNoDescriptorBehind) {
  run_job(GetParam(), [](Bootstrap& job) {
    for (int round = 0; round < 2; ++round) {
      job.barrier();
      const std::size_t before = test::open_descriptors();
      job.barrier();
      for (int i = 0; i < 30; ++i) check_share(job, -1, [&](int fd) { return job.share(fd); });
      job.barrier();
      // In the first round MPI may open files of its own. Threads listing /proc/self/fd hold one each meanwhile.
      const std::size_t listing = job.shares_memory() ? static_cast<std::size_t>(job.size()) : 0;
      if (round > 0) {
        EXPECT_LE(test::open_descriptors(), before + listing) << "rank " << job.rank();
      }
    }
  });
}

TEST_P(Bootstraps, CountWhatTheySend) {
  run_job(GetParam(), [](Bootstrap& job) {
    const std::uint64_t before = job.bytes();
    job.all_gather(std::array<char, 24>{});
    job.all_gather(std::array<char, 8>{});
    job.barrier();
    EXPECT_EQ(job.bytes() - before, 32u);
    const std::uint64_t until_share = job.bytes();
    job.share(-1);
    EXPECT_GT(job.bytes(), until_share);
  });
}

TEST_P(Bootstraps, CallEveryRankAliveWhileItRuns) {
  run_job(GetParam(), [](Bootstrap& job) {
    for (int peer = 0; peer < job.size(); ++peer) EXPECT_TRUE(job.alive(peer)) << "rank " << job.rank() << ": " << peer;
    job.barrier();
  });
}

TEST_P(Bootstraps, RefuseAResultOfTheWrongLength) {
  run_job(GetParam(), [](Bootstrap& job) {
    std::vector<std::byte> mine(4), all(4 * static_cast<std::size_t>(job.size()) + 1);
    try {
      job.all_gather(mine, all);
      ADD_FAILURE() << "rank " << job.rank() << " was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
    job.barrier();  // nothing was changed
  });
}

TEST_P(Bootstraps, CanBeMadeAgainAfterTheyHaveEnded) {
  for (int round = 0; round < 3; ++round) {
    run_job(GetParam(), [&](Bootstrap& job) { EXPECT_EQ(job.all_gather(round).back(), round); });
  }
}

/// The ranks of the same parity, highest first.
std::vector<int> same_parity(const Bootstrap& job) {
  std::vector<int> members;
  for (int rank = job.size(); rank-- > 0;) {
    if (rank % 2 == job.rank() % 2) members.push_back(rank);
  }
  return members;
}

TEST_P(Bootstraps, SplitIntoGroupsInTheOrderAskedFor) {
  run_job(GetParam(), [](Bootstrap& job) {
    const std::vector<int> members = same_parity(job);
    const auto group = job.subgroup(members);
    ASSERT_EQ(group->size(), static_cast<int>(members.size()));
    ASSERT_EQ(members[static_cast<std::size_t>(group->rank())], job.rank());
    EXPECT_EQ(group->bytes(), 0u);
    for (int round = 0; round < 20; ++round) {
      const auto all = group->all_gather(std::array{job.rank(), round});
      for (std::size_t peer = 0; peer < members.size(); ++peer) {
        ASSERT_EQ(all[peer], (std::array{members[peer], round})) << "rank " << job.rank() << " peer " << peer;
      }
      if (job.rank() % 2 == 0) group->barrier();
    }
    EXPECT_EQ(group->bytes(), 20 * 8u);
    for (int peer = 0; peer < group->size(); ++peer) EXPECT_TRUE(group->alive(peer)) << "rank " << job.rank();
    group->barrier();
    check_share(*group, -1, [&](int fd) { return group->share(fd); });
    job.barrier();
  });
}

TEST_P(Bootstraps, LeaveOutOfAGroupWhoNamesNobody) {
  run_job(GetParam(), [](Bootstrap& job) {
    const int alone = job.size() - 1;
    const auto group = job.subgroup(job.rank() == alone ? std::vector{alone} : std::vector<int>());
    ASSERT_EQ(group != nullptr, job.rank() == alone);
    if (group != nullptr) {
      EXPECT_EQ(group->all_gather(7), std::vector{7});
    }
    job.barrier();
  });
}

TEST_P(Bootstraps, EndInAnyOrderWithTheirGroups) {
  run_job(GetParam(), [](Bootstrap& job) {
    std::vector<int> everyone(static_cast<std::size_t>(job.size()));
    for (int rank = 0; rank < job.size(); ++rank) everyone[static_cast<std::size_t>(rank)] = rank;
    auto parent = job.subgroup(everyone);
    auto child = parent->subgroup(same_parity(*parent));
    auto grandchild = child->subgroup(std::vector{child->rank()});
    if (job.rank() % 2 == 0) parent.reset();
    EXPECT_EQ(child->all_gather(job.rank()).size(), static_cast<std::size_t>(child->size()));
    if (job.rank() % 3 == 0) child.reset();
    EXPECT_EQ(grandchild->all_gather(5), std::vector{5}) << "rank " << job.rank();
    job.barrier();
  });
}

TEST_P(Bootstraps, LeaveNothingOfAThousandGroupsBehind) {
  run_job(GetParam(), [](Bootstrap& job) {
    const int rounds = job.size() > 3 ? 200 : 1000;
    std::size_t before = 0;
    for (int round = 0; round < rounds; ++round) {
      if (round == 10) {
        job.barrier();
        before = test::open_descriptors();
        job.barrier();
      }
      auto group = job.subgroup(same_parity(job));
      const auto all = group->all_gather(round);
      for (int value : all) ASSERT_EQ(value, round) << "rank " << job.rank();
    }
    job.barrier();
    // Threads listing /proc/self/fd hold one each meanwhile.
    EXPECT_LE(test::open_descriptors(), before + static_cast<std::size_t>(job.size())) << "rank " << job.rank();
    job.barrier();
  });
}

TEST_P(Bootstraps, RefuseListsOfMembersThatAreAtOdds) {
  run_job(GetParam(), [](Bootstrap& job) {
    std::string message;
    const auto group_of = [&](std::vector<int> members) { return [&, members] { job.subgroup(members); }; };
    const auto expect = [&](std::vector<int> members, ErrorCode code, const std::string& words) {
      EXPECT_EQ(code_of(group_of(members), &message), code) << "rank " << job.rank();
      EXPECT_NE(message.find(words), std::string::npos) << "rank " << job.rank() << ": " << message;
    };
    const bool last = job.rank() == job.size() - 1;
    const std::vector<int> alone{job.rank()};
    expect(last ? std::vector{job.size()} : alone, ErrorCode::invalid_argument,
           "rank " + std::to_string(job.size() - 1) + " of " + std::to_string(job.size()) + ": subgroup: there is no");
    expect(last ? std::vector{-1} : alone, ErrorCode::invalid_argument, "there is no rank -1");
    expect(last ? std::vector{job.rank(), job.rank()} : alone, ErrorCode::invalid_argument, "named twice");
    if (job.size() > 1) {
      expect(last ? std::vector{0} : std::vector<int>(), ErrorCode::invalid_argument, "not among its members 0");
      expect(last ? std::vector{job.rank(), 0} : alone, ErrorCode::mismatch, "the same list");
      expect(last ? std::vector{0, job.rank()} : alone, ErrorCode::mismatch, "the same list");
    }
    job.barrier();  // nothing was changed
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Bootstraps, testing::Values(1, 2, 3, 5, 8), test::name_of_job);
INSTANTIATE_TEST_SUITE_P(Sockets, Bootstraps, testing::Values(-1, -2, -3, -5, -8), test::name_of_job);
INSTANTIATE_TEST_SUITE_P(Processes, Bootstraps, testing::Values(test::kProcesses), test::name_of_job);

TEST(ThreadBootstraps, FindDifferentLengthsOnAllRanks) {
  run_job(3, [](Bootstrap& job) {
    std::vector<std::byte> mine(job.rank() == 1 ? 8 : 4), all(mine.size() * 3);
    EXPECT_EQ(code_of([&] { job.all_gather(mine, all); }), ErrorCode::mismatch) << "rank " << job.rank();
    EXPECT_EQ(code_of([&] { job.barrier(); }), ErrorCode::mismatch) << "rank " << job.rank() << " did not stay failed";
  });
}

TEST(ThreadBootstraps, NameTheRanksThatNeverArrived) {
  std::atomic<int> failed{0};
  run_job(
      4,
      [&](Bootstrap& job) {
        if (job.rank() == 2) {
          while (failed < 3) std::this_thread::yield();
          return;
        }
        std::string message;
        EXPECT_EQ(code_of([&] { job.barrier(); }, &message), ErrorCode::timeout) << "rank " << job.rank();
        EXPECT_NE(message.find("for ranks 2"), std::string::npos) << message;
        ++failed;
      },
      0.3);
}

TEST(ThreadBootstraps, NoticeARankThatHasEnded) {
  run_job(3, [](Bootstrap& job) {
    if (job.rank() == 1) return;
    std::string message;
    EXPECT_EQ(code_of([&] { job.barrier(); }, &message), ErrorCode::peer_failed) << "rank " << job.rank();
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_FALSE(job.alive(1));
  });
}

TEST(ThreadBootstraps, NameAMissingMemberByItsRankInTheGroup) {
  run_job(4, [](Bootstrap& job) {
    const auto group = job.subgroup(job.rank() == 1 ? std::vector<int>() : std::vector{3, 2, 0});
    if (job.rank() == 1 || job.rank() == 2) return;
    std::string message;
    EXPECT_EQ(code_of([&] { group->barrier(); }, &message), ErrorCode::peer_failed) << "rank " << job.rank();
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_FALSE(group->alive(1));
    EXPECT_TRUE(group->alive(0) || job.rank() == 0);
  });
}

TEST(ThreadBootstraps, RefuseAnEmptyJob) {
  EXPECT_EQ(code_of([] { thread_bootstraps(0); }), ErrorCode::invalid_argument);
}

// The way of processes, tried by threads: here sanitizers see all of its ends at once.
TEST(Sockets, HandDescriptorsToEveryPeerAtAnyWorldSize) {
  for (int ranks : {1, 2, 3, 5, 8, 40}) {
    run_job(ranks, [](Bootstrap& job) {
      check_share(job, -1, [&](int fd) { return share_descriptors(job, fd, 30); });
      check_share(job, job.size() / 2, [&](int fd) { return share_descriptors(job, fd, 30); });
    });
  }
}

/// Connects to each abstract socket of this process that listens, and says something untrue.
int disturb_listeners(int type) {
  int reached = 0;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream fields(line);
    std::string field, inode, path;
    for (int i = 0; i < 6; ++i) fields >> field;
    if (!(fields >> inode >> path) || path[0] != '@') continue;
    bool ours = false;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code closed_meanwhile;
      ours |= std::filesystem::read_symlink(entry, closed_meanwhile) == "socket:[" + inode + "]";
    }
    if (!ours) continue;
    const Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, path.data() + 1, path.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), length) != 0) continue;
    // As long as a message of share_descriptors, but without its token; the beginning of one of a rendezvous.
    char lie[24] = "tutti-1";
    reached += ::send(socket.get(), lie, sizeof lie, MSG_NOSIGNAL) == sizeof lie;
  }
  return reached;
}

/// Runs `job` again and again while a stranger talks to its sockets of this type.
void among_strangers(int type, const std::function<void()>& job) {
  std::atomic<bool> over{false};
  std::atomic<int> lies{0};
  std::thread stranger([&] {
    while (!over) lies += disturb_listeners(type);
  });
  // Until some have certainly been told, and no longer than a slow machine needs.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int rounds = 0;
  while (lies < 20 && std::chrono::steady_clock::now() < end) {
    job();
    ++rounds;
  }
  over = true;
  stranger.join();
  EXPECT_GT(lies, 0) << "the stranger reached nobody in " << rounds << " rounds";
}

TEST(Sockets, AreNotMisledByAStranger) {
  among_strangers(SOCK_SEQPACKET, [] {
    run_job(3, [](Bootstrap& job) { check_share(job, -1, [&](int fd) { return share_descriptors(job, fd, 30); }); });
  });
}

TEST(Sockets, FormJobsAndGroupsAmongStrangers) {
  among_strangers(SOCK_STREAM, [] {
    run_job(-3, [](Bootstrap& job) {
      for (int round = 0; round < 10; ++round) {
        const auto group = job.subgroup(same_parity(job));
        ASSERT_EQ(group->all_gather(round), std::vector<int>(static_cast<std::size_t>(group->size()), round));
      }
    });
  });
}

TEST(Sockets, FormLargeJobs) {
  run_job(-64, [](Bootstrap& job) {
    const auto group = job.subgroup(same_parity(job));
    ASSERT_EQ(group->all_gather(job.rank() % 2), std::vector<int>(32, job.rank() % 2));
  });
}

TEST(Processes, AreKnownToHaveEndedOnceKilled) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ProcessIdentity identity = identify_this_process();
    ::_exit(::write(pipe[1], &identity, sizeof identity) == sizeof identity && ::pause() != 0);
  }
  ProcessIdentity identity{};
  ASSERT_EQ(::read(pipe[0], &identity, sizeof identity), static_cast<ssize_t>(sizeof identity));
  EXPECT_EQ(identity.pid, child);
  EXPECT_TRUE(still_running(identity));
  ProcessIdentity predecessor = identity;
  --predecessor.start;
  EXPECT_FALSE(still_running(predecessor)) << "a reused pid was taken for the old process";
  ProcessIdentity elsewhere = predecessor;
  ++elsewhere.pid_namespace;
  EXPECT_TRUE(still_running(elsewhere)) << "what cannot be seen must not be called ended";
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(still_running(identity)) << "as a zombie";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(still_running(identity)) << "after it was reaped";
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(Hosts, AreNamedIfTheyDiffer) {
  std::vector<ProcessIdentity> ranks(3, identify_this_process());
  require_one_host(ranks);
  std::strcpy(ranks[2].boot_id, "another");
  std::strcpy(ranks[2].host, "faraway");
  std::string message;
  EXPECT_EQ(code_of([&] { require_one_host(ranks); }, &message), ErrorCode::unsupported);
  EXPECT_NE(message.find("rank 2 on host faraway"), std::string::npos) << message;
}

// Run by launchers that leave the others alone when a process dies; see CMakeLists.txt.
TEST(KilledRank, IsNoticedByTheOthers) {
  const auto job = process_bootstrap(60);
  const int victim = job->size() - 1;
  if (victim == 0) GTEST_SKIP() << "needs a launcher and at least two ranks";
  std::vector<int> reversed;  // in which the victim is rank 0
  for (int rank = job->size(); rank-- > 0;) reversed.push_back(rank);
  const auto group = job->subgroup(reversed);
  job->barrier();
  if (job->rank() == victim) ::kill(::getpid(), SIGKILL);
  const auto expect = [&](Bootstrap& bootstrap, int ended) {
    std::string message;
    EXPECT_EQ(code_of([&] { bootstrap.barrier(); }, &message), ErrorCode::peer_failed) << "rank " << job->rank();
    EXPECT_NE(message.find("ranks " + std::to_string(ended) + " have ended"), std::string::npos) << message;
    EXPECT_FALSE(bootstrap.alive(ended)) << "rank " << job->rank();
  };
  expect(*job, victim);
  expect(*group, 0);
  if (!HasFailure()) {
    std::printf("rank %d noticed\n", job->rank());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace tutti

// Jobs that form through sockets: by a unique id, and by the environment that a launcher sets.
#include "collectives/bootstrap_sockets.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "collectives/bootstrap.hpp"
#include "collectives/error.hpp"
#include "collectives/rendezvous.hpp"
#include "collectives/token.hpp"
#include "collectives/tutti.hpp"
#include "collectives/unique_id.hpp"
#include "tests/jobs.hpp"
#include "tests/left_behind.hpp"

extern char** environ;

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// What became of one rank.
struct Outcome {
  std::optional<ErrorCode> code;
  std::string message;
};

Outcome outcome_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// Runs body(i) on `threads` threads and returns what became of each.
std::vector<Outcome> on_threads(int threads, const std::function<void(int)>& body) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { outcomes[static_cast<std::size_t>(i)] = outcome_of([&] { body(i); }); });
  }
  for (std::thread& thread : running) thread.join();
  return outcomes;
}

void expect_all(const std::vector<Outcome>& outcomes, ErrorCode code, const std::string& words) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    ASSERT_TRUE(outcomes[i].code.has_value()) << "thread " << i << " was not refused";
    EXPECT_EQ(*outcomes[i].code, code) << "thread " << i << ": " << outcomes[i].message;
    EXPECT_NE(outcomes[i].message.find(words), std::string::npos) << "thread " << i << ": " << outcomes[i].message;
    EXPECT_EQ(outcomes[i].message.find('\n'), std::string::npos) << outcomes[i].message;
  }
}

void expect_a_job(Bootstrap& job) {
  const auto all = job.all_gather(job.rank());
  for (int peer = 0; peer < job.size(); ++peer) {
    EXPECT_EQ(all[static_cast<std::size_t>(peer)], peer) << "on rank " << job.rank();
  }
  job.barrier();
}

TEST(UniqueIds, FormSeveralJobsAtOnce) {
  constexpr int kJobs = 4, kRanks = 3;
  std::vector<UniqueId> ids;
  for (int i = 0; i < kJobs; ++i) ids.push_back(unique_id());
  const auto outcomes = on_threads(kJobs * kRanks, [&](int i) {
    const auto job = sockets_bootstrap(ids[static_cast<std::size_t>(i % kJobs)], i / kJobs, kRanks, 30);
    EXPECT_EQ(job->all_gather(i % kJobs), std::vector<int>(kRanks, i % kJobs)) << "jobs got mixed up";
    job->barrier();
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
}

TEST(UniqueIds, LetTheThreadsOfOneProcessShareMemory) {
  test::run_job_by_id(3, [](Bootstrap& job) { EXPECT_TRUE(job.shares_memory()) << "rank " << job.rank(); });
}

TEST(UniqueIds, ServeOnce) {
  const UniqueId id = unique_id();
  on_threads(2, [&](int rank) { expect_a_job(*sockets_bootstrap(id, rank, 2, 30)); });
  const auto start = Clock::now();
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_all(on_threads(2, [&](int rank) { sockets_bootstrap(id, rank, 2, 60); }), ErrorCode::invalid_argument,
               "the unique id has been used");
  }
  EXPECT_LT(seconds_since(start), 30) << "a used id was waited for";
}

TEST(UniqueIds, NameTheRanksThatNeverCame) {
  const UniqueId id = unique_id();
  const int came[] = {0, 2, 4};
  const auto start = Clock::now();
  const auto outcomes = on_threads(3, [&](int i) { sockets_bootstrap(id, came[i], 5, 0.5); });
  expect_all(outcomes, ErrorCode::timeout, "waited 0.5 s for ranks 1, 3 of 5");
  EXPECT_LT(seconds_since(start), 30);
  expect_all(on_threads(1, [&](int) { sockets_bootstrap(id, 1, 5, 60); }), ErrorCode::invalid_argument, "used");
}

TEST(UniqueIds, RefuseTwoThatCallThemselvesTheSameRank) {
  const UniqueId id = unique_id();
  const int ranks[] = {0, 1, 1};
  // Whoever comes after the second of the two finds the id used up.
  const auto outcomes = on_threads(3, [&](int i) { sockets_bootstrap(id, ranks[i], 3, 30); });
  const std::string pid = std::to_string(::getpid());
  expect_all({outcomes[1], outcomes[2]}, ErrorCode::mismatch, "two came as rank 1 of 3 (process " + pid + " on ");
}

TEST(UniqueIds, RefuseSizesThatDiffer) {
  const UniqueId id = unique_id();
  const auto outcomes = on_threads(2, [&](int rank) { sockets_bootstrap(id, rank, 2 + rank, 30); });
  expect_all(outcomes, ErrorCode::mismatch, "give all the same size");
  EXPECT_EQ(outcomes[0].message, outcomes[1].message);
}

TEST(UniqueIds, RefuseRanksAndIdsThatCannotBe) {
  const UniqueId id = unique_id();
  for (const auto& [rank, size] : {std::pair{3, 3}, {-1, 3}, {0, 0}, {0, -1}}) {
    expect_all(on_threads(1, [&, r = rank, s = size](int) { sockets_bootstrap(id, r, s, 30); }),
               ErrorCode::invalid_argument, "of a unique id");
  }
  expect_all(on_threads(1, [&](int) { sockets_bootstrap(UniqueId(), 0, 1, 30); }), ErrorCode::invalid_argument,
             "no unique id");
  on_threads(1, [&](int) { expect_a_job(*sockets_bootstrap(id, 0, 1, 30)); });
}

TEST(UniqueIds, TurnAwayWhoHasAnothersTokenAndServeTheOthers) {
  const UniqueId id = unique_id();
  const Invitation invitation = read_invitation(id);
  Arrival arrival{random_token(), 0, 2, 30, {}, identify_this_process()};
  const Descriptor connection = connect_to(invitation.host, Deadline(30));
  expect_all({outcome_of([&] { arrive(connection.get(), invitation.host, arrival); })}, ErrorCode::invalid_argument,
             "the token is wrong");
  const auto outcomes = on_threads(2, [&](int rank) { expect_a_job(*sockets_bootstrap(id, rank, 2, 30)); });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
}

TEST(UniqueIds, AreNotKeptFromFormingByStrangers) {
  const UniqueId id = unique_id();
  const Invitation invitation = read_invitation(id);
  std::vector<Descriptor> open;
  for (int i = 0; i < 400; ++i) {  // more than it listens to at a time
    Descriptor connection = connect_to(invitation.host, Deadline(30));
    ASSERT_GE(connection.get(), 0);
    const std::string said = i % 4 == 0   ? ""
                             : i % 4 == 1 ? "GET / HTTP/1.1\r\n\r\n"
                             : i % 4 == 2 ? "tutti-1"  // a beginning without an end
                                          : std::string(100'000, 'x');
    // It may have been closed already.
    if (::send(connection.get(), said.data(), said.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
    if (i % 2 == 0) open.push_back(std::move(connection));
  }
  const auto outcomes = on_threads(3, [&](int rank) { expect_a_job(*sockets_bootstrap(id, rank, 3, 30)); });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
}

TEST(UniqueIds, LeaveNothingBehind) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  std::size_t descriptors = 0;
  std::ptrdiff_t tasks = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 10) {
      descriptors = test::open_descriptors();
      tasks = threads();
    }
    const UniqueId id = unique_id();
    if (round % 8 == 7) continue;  // and some are never used
    on_threads(2, [&](int rank) { expect_a_job(*sockets_bootstrap(id, rank, 2, 30)); });
  }
  // An unused id keeps a listener, its stop and a thread; the last used ones may not be tidied up yet.
  const std::size_t unused = 190 / 8 + 1;
  EXPECT_LE(test::open_descriptors(), descriptors + 2 * unused + 4);
  EXPECT_LE(threads(), tasks + static_cast<std::ptrdiff_t>(unused) + 2);
}

#ifndef __SANITIZE_ADDRESS__  // whose leak check takes what the maker's thread holds for lost in the fork
TEST(UniqueIds, LetAForkOfTheirMakerEnd) {
  const UniqueId id = unique_id();
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  int status = -1;
  const auto start = Clock::now();
  while (::waitpid(child, &status, WNOHANG) == 0 && seconds_since(start) < 30) ::usleep(1000);
  EXPECT_EQ(status, 0);
  on_threads(1, [&](int) { expect_a_job(*sockets_bootstrap(id, 0, 1, 30)); });
}

#ifndef __SANITIZE_THREAD__  // which allows a fork of several threads none
TEST(UniqueIds, OfAForkAreItsOwnAndLeaveItsParentsAlone) {
  const UniqueId id = unique_id();
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const UniqueId own = unique_id();
      const auto job = sockets_bootstrap(own, 0, 1, 30);
      std::exit(job->size() == 1 ? 0 : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the fork: %s\n", error.what());
      std::exit(2);
    }
  }
  int status = -1;
  const auto start = Clock::now();
  while (::waitpid(child, &status, WNOHANG) == 0 && seconds_since(start) < 30) ::usleep(1000);
  EXPECT_EQ(status, 0) << "the fork ended wrongly, or hung (-1)";
  if (status == -1) ::kill(child, SIGKILL);
  const auto outcomes = on_threads(2, [&](int rank) { expect_a_job(*sockets_bootstrap(id, rank, 2, 30)); });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
}
#endif
#endif

/// A copy of this program that runs Spawned.*, with `variables` in its environment.
pid_t spawn(std::vector<std::string> variables) {
  std::string program = "/proc/self/exe", argument = "--gtest_filter=Spawned.*";
  std::string disabled_too = "--gtest_also_run_disabled_tests";
  char* arguments[] = {program.data(), argument.data(), disabled_too.data(), nullptr};
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  environment.push_back(nullptr);
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
  return child;
}

std::string hex_of(const UniqueId& id) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(id.bytes.data()), id.bytes.size()});
}

/// Sums over all ranks and over those of the same parity.
void expect_collectives(const UniqueId& id, int rank, int size) {
  SessionOptions options;
  options.timeout_s = 30;
  Session session(id, rank, size, options);
  Communicator all = session.communicator();
  std::vector<float> values(1000, static_cast<float>(rank + 1));
  all.all_reduce(values.data(), values.data(), values.size(), ReduceOp::sum);
  const auto expected = static_cast<float>(size * (size + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], expected) << "rank " << rank << " index " << i;
  Communicator half = all.split(rank % 2, rank);
  std::vector<int> members(static_cast<std::size_t>(half.size()));
  half.all_gather(&rank, members.data(), 1);
  for (std::size_t i = 0; i < members.size(); ++i) {
    ASSERT_EQ(members[i], static_cast<int>(2 * i) + rank % 2) << "rank " << rank << " of the half " << i;
  }
  auto shared = half.allocate<float>(100);
  for (float& x : shared) x = 1;
  half.all_reduce(shared.data(), shared.data(), shared.size(), ReduceOp::sum);
  ASSERT_EQ(shared[99], static_cast<float>(half.size())) << "rank " << rank;
}

/// Not a test of its own: what the processes that others spawn do.
TEST(Spawned, DISABLED_Rank) {
  const char* const text = std::getenv("SPAWNED_ID");
  ASSERT_NE(text, nullptr);
  UniqueId id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    id.bytes[i] = static_cast<char>(std::stoi(std::string(text + 2 * i, 2), nullptr, 16));
  }
  const int rank = std::atoi(std::getenv("SPAWNED_RANK")), size = std::atoi(std::getenv("SPAWNED_SIZE"));
  if (std::getenv("SPAWNED_SESSION") != nullptr) return expect_collectives(id, rank, size);
  const auto job = sockets_bootstrap(id, rank, size, 30);
  EXPECT_EQ(job->shares_memory(), size == 1);
  expect_a_job(*job);
}

TEST(UniqueIds, FormAJobOfProcesses) {
  const std::string id = hex_of(unique_id());
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(spawn({"SPAWNED_ID=" + id, "SPAWNED_RANK=" + std::to_string(rank), "SPAWNED_SIZE=3"}));
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    int status = -1;
    ASSERT_EQ(::waitpid(ranks[rank], &status, 0), ranks[rank]);
    EXPECT_EQ(status, 0) << "rank " << rank;
  }
}

TEST(UniqueIds, MakeSessionsOfThreads) {
  const UniqueId id = unique_id();
  const auto outcomes = on_threads(5, [&](int rank) { expect_collectives(id, rank, 5); });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
}

TEST(UniqueIds, MakeSessionsOfThreadsOfSeveralProcesses) {
  const UniqueId id = unique_id();
  const pid_t other = spawn({"SPAWNED_ID=" + hex_of(id), "SPAWNED_RANK=1", "SPAWNED_SIZE=3", "SPAWNED_SESSION=1"});
  const auto outcomes = on_threads(2, [&](int i) { expect_collectives(id, 2 * i, 3); });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

TEST(UniqueIds, NoticeARankThatIsKilledWhileItWaits) {
  const UniqueId id = unique_id();
  const pid_t victim = spawn({"SPAWNED_ID=" + hex_of(id), "SPAWNED_RANK=2", "SPAWNED_SIZE=3"});
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ::kill(victim, SIGKILL);
    ::waitpid(victim, nullptr, 0);
  });
  const auto outcomes = on_threads(1, [&](int) { sockets_bootstrap(id, 0, 3, 30); });
  killer.join();
  expect_all(outcomes, ErrorCode::peer_failed, "rank 2 (process " + std::to_string(victim) + " on ");
  expect_all(outcomes, ErrorCode::peer_failed, "has ended while it waited for ranks 1");
}

/// Sets a variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Tcp, CarriesTheSameJobs) {
  for (const char* interface : {"lo", "127.0.0.1"}) {
    const Variable asked("TUTTI_SOCKET_INTERFACE", interface);
    EXPECT_EQ(in_words(read_invitation(unique_id()).host).substr(0, 10), "127.0.0.1:");
    test::run_job_by_id(4, [](Bootstrap& job) {
      expect_a_job(job);
      std::vector<std::byte> mine(500'000, static_cast<std::byte>(job.rank())), all(4 * mine.size());
      job.all_gather(mine, all);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(static_cast<std::size_t>(all[i]), i / mine.size()) << "rank " << job.rank() << " index " << i;
      }
      const auto group = job.subgroup(job.rank() % 2 == 0 ? std::vector{2, 0} : std::vector{1, 3});
      expect_a_job(*group);
      EXPECT_EQ(group->share(-1).size(), 2u);
    });
  }
}

TEST(Tcp, NamesTheInterfacesIfThereIsNoneOfThatName) {
  const Variable asked("TUTTI_SOCKET_INTERFACE", "moon0");
  const auto outcome = outcome_of([] { unique_id(); });
  expect_all({outcome}, ErrorCode::invalid_argument, "TUTTI_SOCKET_INTERFACE is 'moon0': give one of ");
  EXPECT_NE(outcome.message.find("lo (127.0.0.1)"), std::string::npos) << outcome.message;
}

TEST(Tcp, TellsThatAnIdHasBeenUsed) {
  const Variable asked("TUTTI_SOCKET_INTERFACE", "lo");
  const UniqueId id = unique_id();
  on_threads(2, [&](int rank) { expect_a_job(*sockets_bootstrap(id, rank, 2, 30)); });
  expect_all(on_threads(2, [&](int rank) { sockets_bootstrap(id, rank, 2, 60); }), ErrorCode::invalid_argument, "used");
}

class Exchanges : public testing::TestWithParam<int> {};

/// Runs `body` on every rank but `absent` of a job of 4, which stays until the others are done.
void without(int absent, double timeout_s, const std::function<void(Bootstrap&)>& body) {
  std::atomic<int> done{0};
  test::run_job_by_id(
      4,
      [&](Bootstrap& job) {
        if (job.rank() != absent) {
          body(job);
          ++done;
        }
        while (done < 3) std::this_thread::yield();
      },
      timeout_s);
}

TEST_P(Exchanges, NameTheRankThatIsMissing) {
  const int absent = GetParam();
  without(absent, 0.5, [&](Bootstrap& job) {
    const auto outcome = outcome_of([&] { job.barrier(); });
    expect_all({outcome}, ErrorCode::timeout, "for ranks " + std::to_string(absent));
    EXPECT_EQ(outcome_of([&] { job.barrier(); }).message, outcome.message) << "it did not stay failed";
  });
}

TEST_P(Exchanges, TellAllRanksOfOneThatHasEnded) {
  const int ended = GetParam();
  test::run_job_by_id(4, [&](Bootstrap& job) {
    if (job.rank() == ended) return;
    const auto start = Clock::now();
    expect_all({outcome_of([&] { job.barrier(); })}, ErrorCode::peer_failed,
               "ranks " + std::to_string(ended) + " have ended");
    EXPECT_LT(seconds_since(start), 20);
    EXPECT_FALSE(job.alive(ended)) << "rank " << job.rank();
  });
}

TEST_P(Exchanges, TellAllRanksOfOneThatBringsAnotherLength) {
  const int other = GetParam();
  test::run_job_by_id(4, [&](Bootstrap& job) {
    std::vector<std::byte> mine(job.rank() == other ? 8 : 4), all(mine.size() * 4);
    const auto outcome = outcome_of([&] { job.all_gather(mine, all); });
    expect_all({outcome}, ErrorCode::mismatch, "call the same on all ranks");
    EXPECT_EQ(outcome_of([&] { job.barrier(); }).message, outcome.message) << "it did not stay failed";
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Exchanges, testing::Values(0, 1, 3));

TEST(Groups, FailAloneAndNameTheirOwnRanks) {
  test::run_job_by_id(4, [&](Bootstrap& job) {
    auto group = job.subgroup(job.rank() == 1 ? std::vector<int>() : std::vector{3, 2, 0});
    if (job.rank() == 2) group.reset();
    if (job.rank() == 3 || job.rank() == 0) {
      expect_all({outcome_of([&] { group->barrier(); })}, ErrorCode::peer_failed, "ranks 1 have ended");
    }
    expect_a_job(job);
  });
}

/// A place to meet that nobody has prepared, as a launcher names it.
class Launched : public testing::Test {
 protected:
  std::unique_ptr<Bootstrap> join(int rank, int size, double timeout_s = 30) const {
    return sockets_bootstrap_at(place_, {token_, rank, size, timeout_s, {}, identify_this_process()});
  }

 private:
  const Token token_ = random_token();
  const SocketAddress place_ = fresh_unix_address();
};

TEST_F(Launched, RanksWaitForRank0) {
  const auto outcomes = on_threads(3, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    expect_a_job(*join(rank, 3));
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.code.has_value()) << outcome.message;
}

TEST_F(Launched, RanksSayThatRank0NeverCame) {
  expect_all(on_threads(2, [&](int i) { join(i + 1, 3, 0.3); }), ErrorCode::timeout, "waited 0.3 s for rank 0");
}

TEST_F(Launched, RanksSayWhoElseNeverCame) {
  expect_all(on_threads(2, [&](int rank) { join(rank, 4, 0.5); }), ErrorCode::timeout,
             "waited 0.5 s for ranks 2, 3 of 4");
}

TEST_F(Launched, RanksRefuseASecondRank0) {
  std::atomic<bool> refused{false};
  const auto outcomes = on_threads(3, [&](int i) {
    if (i < 2) {
      try {
        expect_a_job(*join(0, 2));
      } catch (const Error&) {
        refused = true;
        throw;
      }
    } else {
      while (!refused) std::this_thread::yield();
      expect_a_job(*join(1, 2));
    }
  });
  const bool first_failed = outcomes[0].code.has_value();
  EXPECT_NE(first_failed, outcomes[1].code.has_value());
  expect_all({outcomes[first_failed ? 0 : 1]}, ErrorCode::system, "is there a second rank 0?");
  EXPECT_FALSE(outcomes[2].code.has_value()) << outcomes[2].message;
}

TEST_F(Launched, RanksRefuseTwoOfOneNameAndSizesThatDiffer) {
  const int ranks[] = {0, 1, 1};
  expect_all(on_threads(3, [&](int i) { join(ranks[i], 4); }), ErrorCode::mismatch, "two came as rank 1 of 4");
  expect_all(on_threads(2, [&](int rank) { join(rank, 3 + rank); }), ErrorCode::mismatch,
             "says there are 4 ranks, rank 0 said 3");
}

/// In this process, which no launcher has started.
Outcome launched_with(const char* rendezvous, const char* rank, const char* size) {
  const Variable meets("TUTTI_RENDEZVOUS", rendezvous), is("TUTTI_RANK", rank), of("TUTTI_SIZE", size);
  return outcome_of([] { process_bootstrap(30); });
}

TEST_F(Launched, ProcessesRefuseVariablesThatMakeNoSense) {
  const char* const token = "00112233445566778899aabbccddeeff";
  const auto expect = [&](const Outcome& outcome, const std::string& words) {
    expect_all({outcome}, ErrorCode::invalid_argument, words);
  };
  expect(launched_with("here", "0", "2"), "TUTTI_RENDEZVOUS is 'here': give 32 hexadecimal digits");
  expect(launched_with("00112233445566778899aabbccddeefg", "0", "2"), "32 hexadecimal digits");
  expect(launched_with(token, "2", "2"), "TUTTI_RANK is '2': give a whole number from 0 to 1");
  expect(launched_with(token, "-1", "2"), "TUTTI_RANK is '-1'");
  expect(launched_with(token, "", "2"), "TUTTI_RANK is ''");
  expect(launched_with(token, "1x", "2"), "TUTTI_RANK is '1x'");
  expect(launched_with(token, "0", "0"), "TUTTI_SIZE is '0': give a whole number from 1 to ");
  expect(launched_with(token, "0", "99999999999"), "TUTTI_SIZE is '99999999999'");
  expect(launched_with("", "0", ""), "TUTTI_RANK is set and TUTTI_RENDEZVOUS is not");
  expect(launched_with("", "", "2"), "TUTTI_SIZE is set and TUTTI_RENDEZVOUS is not");
  EXPECT_FALSE(launched_with("", "", "").code.has_value()) << "empty is not unset";
}

}  // namespace
}  // namespace tutti

#include "collectives/segments.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "collectives/error.hpp"
#include "collectives/free_memory.hpp"
#include "tests/jobs.hpp"
#include "tests/left_behind.hpp"

namespace tutti {
namespace {

using test::run_job;

bool memfd_is_forbidden = false;

constexpr std::size_t kAbsurd = std::size_t{1} << 60;

class Segments : public test::Job {};

std::size_t bytes_of(int rank) { return rank == 1 ? 0 : static_cast<std::size_t>(rank + 1) * 100003; }

char letter(int owner, int writer, std::size_t at) {
  return static_cast<char>(static_cast<std::size_t>(owner * 31 + writer * 7) + at % 13 + 1);
}

void check_letters(const Bootstrap& job, const SharedSegment& segment, int writer_distance) {
  for (int owner = 0; owner < job.size(); ++owner) {
    const int writer = (owner + writer_distance) % job.size();
    for (std::size_t i = 0; i < segment.bytes(owner); ++i) {
      ASSERT_EQ(segment.base(owner)[i], letter(owner, writer, i))
          << "on rank " << job.rank() << ", share of rank " << owner << ", index " << i;
    }
  }
}

TEST_P(Segments, LetEveryRankReadAndWriteEveryShare) {
  run_job(GetParam(), [](Bootstrap& job) {
    const auto segment = allocate_host_segment(job, bytes_of(job.rank()));
    for (int owner = 0; owner < job.size(); ++owner) {
      ASSERT_EQ(segment->bytes(owner), bytes_of(owner));
      EXPECT_EQ(segment->base(owner) == nullptr, bytes_of(owner) == 0);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment->base(owner)) % (2 << 20), 0u) << "rank " << owner;
      for (std::size_t i = 0; i < segment->bytes(owner); ++i) {
        ASSERT_EQ(segment->base(owner)[i], 0) << "on rank " << job.rank() << ", share of " << owner << ", index " << i;
      }
    }
    job.barrier();
    for (int distance = 0; distance < 2; ++distance) {
      const int owner = (job.rank() - distance + job.size()) % job.size();
      for (std::size_t i = 0; i < segment->bytes(owner); ++i) segment->base(owner)[i] = letter(owner, job.rank(), i);
      job.barrier();
      check_letters(job, *segment, distance);
      job.barrier();
    }
  });
}

TEST_P(Segments, LiveUntilTheLastRankLetsGo) {
  run_job(GetParam(), [](Bootstrap& job) {
    auto segment = allocate_host_segment(job, bytes_of(job.rank()));
    for (std::size_t i = 0; i < segment->bytes(job.rank()); ++i) {
      segment->base(job.rank())[i] = letter(job.rank(), job.rank(), i);
    }
    job.barrier();
    const int last = job.size() - 1;
    if (job.rank() != last) segment.reset();
    job.barrier();
    if (job.rank() == last) check_letters(job, *segment, 0);
  });
}

/// How many of the pages of a share of `bytes` are there.
std::size_t pages_of(char* base, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present((bytes + page - 1) / page);
  EXPECT_EQ(::mincore(base, bytes, present.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(present.begin(), present.end(), [](unsigned char state) { return state & 1; }));
}

TEST_P(Segments, HaveTheirPagesAtOnceOrWhenTouched) {
  run_job(GetParam(), [](Bootstrap& job) {
    constexpr std::size_t kBytes = 16 << 20;
    const std::size_t all = kBytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto reserved = allocate_host_segment(job, kBytes);
    EXPECT_EQ(pages_of(reserved->base(job.rank()), kBytes), all) << "rank " << job.rank();
    const auto touched = allocate_host_segment(job, kBytes, Pages::when_touched);
    char* const base = touched->base(job.rank());
    if (!memfd_is_forbidden || job.shares_memory()) {
      EXPECT_EQ(pages_of(base, kBytes), 0u) << "rank " << job.rank();
      base[kBytes / 2] = 1;
      const std::size_t some = pages_of(base, kBytes);  // more than one if pages are huge
      EXPECT_GT(some, 0u) << "rank " << job.rank();
      EXPECT_LT(some, all) << "rank " << job.rank();
    } else {
      EXPECT_EQ(pages_of(base, kBytes), all) << "rank " << job.rank();
    }
    job.barrier();
  });
}

TEST_P(Segments, MayBeEmptyOnAllRanks) {
  run_job(GetParam(), [](Bootstrap& job) {
    const auto segment = allocate_host_segment(job, 0);
    for (int owner = 0; owner < job.size(); ++owner) EXPECT_EQ(segment->bytes(owner), 0u);
  });
}

TEST_P(Segments, LeaveNothingBehind) {
  run_job(GetParam(), [](Bootstrap& job) {
    constexpr std::size_t kBytes = 8 << 20;
    allocate_host_segment(job, kBytes);  // MPI and malloc take what they keep
    job.barrier();
    const std::size_t descriptors = test::open_descriptors();
    const std::size_t mapped = test::mapped_bytes();
    job.barrier();
    for (int i = 0; i < 20; ++i) allocate_host_segment(job, kBytes);
    job.barrier();
    const std::size_t listing = job.shares_memory() ? static_cast<std::size_t>(job.size()) : 0;
    EXPECT_LE(test::open_descriptors(), descriptors + listing) << "rank " << job.rank();
    EXPECT_EQ(test::segment_mappings(), 0u) << "rank " << job.rank();
    EXPECT_LT(test::mapped_bytes(), mapped + 10 * kBytes) << "rank " << job.rank();
    job.barrier();
  });
}

/// Allocation on all ranks, which must fail alike with a text that holds `expected`, and leave nothing.
void check_refusal(Bootstrap& job, std::size_t bytes, const std::string& expected) {
  job.barrier();
  const std::size_t descriptors = test::open_descriptors();
  job.barrier();
  std::string message = "no error was thrown";
  try {
    allocate_host_segment(job, bytes);
  } catch (const Error& error) {
    message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::system);
  }
  EXPECT_NE(message.find(expected), std::string::npos) << "rank " << job.rank() << ": " << message;
  std::array<char, 500> text{};
  std::strncpy(text.data(), message.c_str(), text.size() - 1);
  const auto texts = job.all_gather(text);
  EXPECT_STREQ(texts[0].data(), message.c_str()) << "rank " << job.rank() << " says it otherwise than rank 0";
  const std::size_t listing = job.shares_memory() ? static_cast<std::size_t>(job.size()) : 0;
  EXPECT_LE(test::open_descriptors(), descriptors + listing) << "rank " << job.rank();
  EXPECT_EQ(test::segment_mappings(), 0u) << "rank " << job.rank();
  job.barrier();
}

TEST_P(Segments, AreRefusedOnAllRanksIfOneAsksForTooMuch) {
  run_job(GetParam(), [](Bootstrap& job) {
    const int greedy = job.size() > 1 ? 1 : 0;
    const std::string expected = "rank " + std::to_string(greedy) + " the most";
    allocate_host_segment(job, 4096);
    check_refusal(job, job.rank() == greedy ? kAbsurd : 4096, expected);
    check_refusal(job, job.rank() == greedy ? SIZE_MAX : SIZE_MAX / 2, expected);
    // A bit more than there is together, though no rank alone asks for it: nothing may be taken before the refusal.
    const std::size_t part = free_memory() / static_cast<std::size_t>(job.size());
    check_refusal(job, part + (part >> 4), "not enough memory");
    const auto segment = allocate_host_segment(job, 4096);
    EXPECT_EQ(segment->bytes(job.size() - 1), 4096u) << "the job does not work any more";
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Segments, testing::Values(1, 2, 3, 5, 8), test::name_of_job);
INSTANTIATE_TEST_SUITE_P(Sockets, Segments, testing::Values(-1, -3, -5), test::name_of_job);
INSTANTIATE_TEST_SUITE_P(Processes, Segments, testing::Values(test::kProcesses), test::name_of_job);

/// A limit of this process, put back at the end.
class Limit {
 public:
  Limit(__rlimit_resource what, rlim_t value) : what_(what) {
    ::getrlimit(what, &before_);
    rlimit limit = before_;
    limit.rlim_cur = value;
    EXPECT_EQ(::setrlimit(what, &limit), 0);
  }
  ~Limit() { ::setrlimit(what_, &before_); }

 private:
  const __rlimit_resource what_;
  rlimit before_;
};

class ProcessSegments : public test::Job {};

TEST_P(ProcessSegments, AreRefusedOnAllRanksIfOneMayOpenNoMoreFiles) {
  run_job(GetParam(), [](Bootstrap& job) {
    if (job.shares_memory()) return;  // a job of one without MPI needs no files
    allocate_host_segment(job, 4096);
    const std::size_t now = test::open_descriptors() - 1;  // the listing held one
    // 0: no file of its own; 1 to 4: no socket, no copy, no connection, no room for a peer's.
    for (std::size_t room : {0u, 1u, 2u, 3u, 4u}) {
      job.barrier();
      std::string message;
      {
        std::unique_ptr<Limit> limit;
        // free_memory() and the like open files too; they then just know less.
        if (job.rank() == job.size() - 1) limit = std::make_unique<Limit>(RLIMIT_NOFILE, now + room);
        try {
          allocate_host_segment(job, 4096);
        } catch (const Error& error) {
          message = error.what();
          EXPECT_EQ(error.code(), ErrorCode::system) << message;
        }
      }
      const auto failed = job.all_gather(message.empty() ? 0 : 1);
      for (int peer = 0; peer < job.size(); ++peer) {
        EXPECT_EQ(failed[static_cast<std::size_t>(peer)], failed[0]) << "rank " << peer << ", room " << room;
      }
      EXPECT_TRUE(room > 1 || failed[0] == 1) << "room " << room;
      if (failed[0] == 1) {
        EXPECT_NE(message.find("rank " + std::to_string(job.size() - 1)), std::string::npos) << message;
      }
      EXPECT_LE(test::open_descriptors(), now + 1) << "rank " << job.rank() << ", room " << room;
      EXPECT_EQ(test::segment_mappings(), 0u) << "rank " << job.rank() << ", room " << room;
    }
    allocate_host_segment(job, 4096);
  });
}

TEST_P(ProcessSegments, AreRefusedOnAllRanksIfOneHasNoAddressSpace) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer needs the address space that this test takes away";
#endif
  run_job(GetParam(), [](Bootstrap& job) {
    constexpr std::size_t kBytes = 64 << 20;
    // Room for its own share, or not even that.
    for (std::size_t room : {kBytes / 2, kBytes + kBytes / 2}) {
      if (job.size() == 1 && room > kBytes) continue;
      job.barrier();
      std::unique_ptr<Limit> limit;
      if (job.rank() == job.size() - 1) limit = std::make_unique<Limit>(RLIMIT_AS, test::mapped_bytes() + room);
      check_refusal(job, kBytes, "rank " + std::to_string(job.size() - 1));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Processes, ProcessSegments, testing::Values(test::kProcesses), test::name_of_job);

TEST(FreeMemory, IsMoreThanNothingAndNoMoreThanThereIs) {
  const auto all = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::getpagesize());
  EXPECT_GT(free_memory(), std::size_t{1} << 20);
  EXPECT_LE(free_memory(), all);
}

/// From now on memfd_create does not exist for this process, as in a strict container.
void forbid_memfd() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof rules / sizeof *rules, rules};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("seccomp");
    std::exit(77);  // ctest: skipped
  }
  memfd_is_forbidden = true;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "--without-memfd") == 0) tutti::forbid_memfd();
  return RUN_ALL_TESTS();
}

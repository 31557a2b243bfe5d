// What a rank's calls ended in, for tests of errors.
#pragma once
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "tests/collectives_cases.hpp"

namespace tutti::test {

inline constexpr double kLong = 60;   ///< a mismatch must be found long before
inline constexpr double kShort = 1;   ///< where only the limit can tell
inline constexpr double kSlack = 20;  ///< a loaded machine runs this late at most

struct Outcome {
  bool threw = false;
  ErrorCode code{};
  std::string what;
  double seconds = 0;
};

/// What `calls` ended in on this rank.
template <class F>
Outcome outcome_of(F&& calls) {
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  try {
    calls();
  } catch (const Error& error) {
    outcome = {true, error.code(), error.what()};
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A second communicator of the session must not notice that the first one failed.
inline void use(Communicator& comm) {
  std::vector<int> values(5000);
  std::iota(values.begin(), values.end(), comm.rank());
  comm.all_reduce(values.data(), values.data(), values.size(), ReduceOp::sum);
  const int n = comm.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<int>(i) * n + n * (n - 1) / 2) << "rank " << comm.rank() << ", index " << i;
}

/// Runs `calls` on every rank of a new job: each must throw in time, its communicator must stay failed, and another one
/// must work on. Returns what each rank got.
using Calls = std::function<void(Session&, Communicator&)>;
inline std::vector<Outcome> failures(int ranks, double timeout_s, const Calls& calls,
                                     CommunicatorOptions options = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  on_threads(
      ranks,
      [&](Session& session) {
        Communicator comm = session.communicator(options);
        Communicator other = session.communicator();
        session.bootstrap_barrier();
        Outcome& mine = outcomes[static_cast<std::size_t>(session.rank())];
        mine = outcome_of([&] { calls(session, comm); });
        session.bootstrap_barrier();
        if (mine.threw && mine.code != ErrorCode::invalid_argument) {
          const Outcome again = outcome_of([&] { comm.barrier(); });
          EXPECT_TRUE(again.threw) << "rank " << session.rank() << ": the communicator did not stay failed";
          EXPECT_EQ(again.what, mine.what) << "rank " << session.rank();
          EXPECT_LT(again.seconds, kSlack);
        }
        use(other);
      },
      timeout_s);
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    EXPECT_TRUE(outcomes[r].threw) << "rank " << r << " got no error";
    EXPECT_LT(outcomes[r].seconds, (timeout_s == kLong ? 0 : timeout_s) + kSlack) << "rank " << r;
  }
  return outcomes;
}

}  // namespace tutti::test

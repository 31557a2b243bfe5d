// What tune makes of times: constants, and how good the choices are.
#include <gtest/gtest.h>

#include <random>

#include "bench/tune/fitting.hpp"
#include "bench/tune/judge.hpp"
#include "bench/tune/nonnegative.hpp"
#include "bench/tune/tune_report.hpp"

namespace tutti::tune {
namespace {

using bench::Case;
using bench::Operation;

double squares(const std::vector<std::vector<double>>& rows, const std::vector<double>& b,
               const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double off = -b[r];
    for (std::size_t i = 0; i < x.size(); ++i) off += rows[r][i] * x[i];
    sum += off * off;
  }
  return sum;
}

TEST(LeastSquares, FindsWhatMadeTheNumbers) {
  const std::vector<std::vector<double>> rows = {{1, 0, 2}, {1, 1, 0}, {1, 3, 1}, {1, 5, 5}};
  const std::vector<double> x = nonnegative_least_squares(rows, std::vector<double>{4 + 14, 4 + 2, 4 + 6 + 7, 4 + 45});
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[0], 4, 1e-5);
  EXPECT_NEAR(x[1], 2, 1e-5);
  EXPECT_NEAR(x[2], 7, 1e-5);
}

TEST(LeastSquares, IsNeverNegativeAndNoneNearIsBetter) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<double>> rows(12, std::vector<double>(6));
    std::vector<double> b(12);
    for (auto& row : rows)
      for (double& each : row) each = number(random);
    for (double& each : b) each = number(random) - 0.2;
    const std::vector<double> x = nonnegative_least_squares(rows, b);
    const double least = squares(rows, b, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_GE(x[i], 0) << "trial " << trial;
      for (const double move : {-0.01, 0.01}) {
        std::vector<double> near = x;
        near[i] = std::max(near[i] + move, 0.0);
        EXPECT_GE(squares(rows, b, near), least - 1e-7) << "trial " << trial << ", unknown " << i;
      }
    }
  }
}

TEST(LeastSquares, SharesWhatItCannotTellApart) {
  const std::vector<double> x =
      nonnegative_least_squares(std::vector<std::vector<double>>{{1, 2, 0}, {1, 2, 0}}, std::vector<double>{8, 8});
  EXPECT_NEAR(x[0] + 2 * x[1], 8, 1e-5);
  EXPECT_GT(x[0], 1);
  EXPECT_GT(x[1], 1);
  EXPECT_EQ(x[2], 0);
}

Case case_of_size(std::size_t bytes, int ranks, Operation operation = Operation::all_reduce) {
  return bench::case_of(bytes, {.operation = operation, .ranks = ranks});
}

/// Times that `truth` promises, of sizes from 8 bytes to 16 MiB.
std::vector<Timing> times_of(const Tuning& truth, std::span<const int> worlds) {
  std::vector<Timing> timings;
  for (const int ranks : worlds) {
    const Chooser chooser(choosing_geometry(false, ranks), false, truth);
    for (std::size_t bytes = 8; bytes <= std::size_t{16} << 20; bytes *= 2)
      for (const Implementation& each : implementations()) {
        const Case c = case_of_size(bytes, ranks);
        const Request request = request_of(c, each.collective);
        if (each.collective != Collective::all_reduce || !chooser.may_serve(each, request)) continue;
        timings.push_back({&each, c, bench::MemoryKind::peer_mapped, bench::Placement::near,
                           chooser.nanoseconds(each, request) * 1e-9});
      }
  }
  return timings;
}

TEST(Fits, PromiseTheTimesThatTheyAreFittedTo) {
  const Tuning& truth = default_tuning(false, false);
  const std::vector<Timing> timings = times_of(truth, std::array{2, 3, 5});
  const Tuning found = fitted(Tuning{}, timings, choosing_geometry(false, 2).blocks);
  for (const Timing& each : timings) {
    const Chooser chooser(choosing_geometry(false, each.c.ranks), false, found);
    EXPECT_NEAR(chooser.nanoseconds(*each.of, request_of(each.c, each.of->collective)) * 1e-9, each.seconds,
                0.01 * each.seconds)
        << name_of(each.of->algorithm) << ", " << each.c.ranks << " ranks, " << each.c.bytes << " bytes";
  }
  EXPECT_FALSE(found.of(Kernel::ring_broadcast).known) << "nothing was timed";
}

TEST(Fits, ForgetTimesOfMemoryThatIsNotMapped) {
  std::vector<Timing> timings = times_of(default_tuning(false, false), std::array{2});
  const Formula before = fit(*timings[0].of, timings, 2);
  Timing slow = timings[0];
  slow.memory = bench::MemoryKind::any;
  slow.seconds *= 100;
  timings.push_back(slow);
  EXPECT_EQ(fit(*timings[0].of, timings, 2).byte, before.byte);
  EXPECT_EQ(fit(*timings[0].of, timings, 2).base, before.base);
}

TEST(Fits, TakeATimeThatIsAboveThatOfALongerCallForDisturbed) {
  std::vector<Timing> timings = times_of(default_tuning(false, false), std::array{2});
  const Implementation& two_shot = *implementation_of(Collective::all_reduce, Algorithm::two_shot);
  const Formula before = fit(two_shot, timings, 2);
  for (Timing& each : timings)
    if (each.of == &two_shot && each.c.bytes == 4096) each.seconds *= 1000;
  const Quantities quantities = quantities_of(two_shot, 2, 4096, 2);
  EXPECT_LT(nanoseconds(fit(two_shot, timings, 2), quantities), 2 * nanoseconds(before, quantities));
}

TEST(Fits, GoOnBeyondTheTimesAsTheLastOfThem) {
  std::vector<Timing> timings = times_of(default_tuning(false, false), std::array{2});
  std::erase_if(timings, [](const Timing& each) { return each.c.bytes > 4096; });
  const Formula formula = fit(*implementation_of(Collective::all_reduce, Algorithm::ring), timings, 2);
  EXPECT_GT(formula.byte.back(), 0);
}

TEST(Judging, TellsHowMuchSlowerTheChoiceIsThanTheFastest) {
  const Tuning& truth = default_tuning(false, false);
  std::vector<Timing> timings = times_of(truth, std::array{4});
  for (const Judged& each : judge(timings, truth, false)) {
    EXPECT_EQ(each.chosen.of, each.fastest.of) << each.chosen.c.bytes;
    EXPECT_EQ(each.ratio(), 1);
    EXPECT_NEAR(each.expected, each.chosen.seconds, 1e-6 * each.expected);
  }
  // Of one size another becomes three times as fast as the chosen one, which the constants do not know.
  const Judged once = judge(timings, truth, false)[10];
  for (Timing& each : timings)
    if (each.c.bytes == once.chosen.c.bytes && each.of->algorithm == Algorithm::tree)
      each.seconds = once.chosen.seconds / 3;
  const std::vector<Judged> judged = judge(timings, truth, false);
  EXPECT_NEAR(judged[10].ratio(), 3, 1e-9);
  EXPECT_EQ(judged[10].fastest.of->algorithm, Algorithm::tree);
  const std::string text = choices_text(judged, "made up");
  EXPECT_NE(text.find("takes at most 3.00 times as long"), std::string::npos) << text;
  EXPECT_NE(text.find("above 1.3 in 1 of"), std::string::npos) << text;
}

}  // namespace
}  // namespace tutti::tune

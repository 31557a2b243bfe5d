// Pipeline schedules: sound ones pass the validator and have the bubble of the formula, damaged ones are named.
#include <gtest/gtest.h>

#include <algorithm>

#include "trainers/schedule.hpp"

namespace tutti::trainers {
namespace {

constexpr ScheduleKind kKinds[] = {ScheduleKind::gpipe, ScheduleKind::one_f_one_b};

TEST(Schedule, EveryKindIsSoundForEveryNumberOfStagesAndMicroBatches) {
  for (const ScheduleKind kind : kKinds)
    for (int p = 1; p <= 9; ++p)
      for (int m = 1; m <= 12; ++m)
        EXPECT_EQ(validate(make_schedule(kind, p, m)).error, "") << name_of(kind) << " p " << p << " m " << m;
  for (int p = 1; p <= 9; ++p)
    for (int m = 1; m <= 12; ++m) EXPECT_EQ(validate(make_forward_schedule(p, m), true).error, "") << p << " " << m;
}

TEST(Schedule, PeakActivationsAreMForGpipeAndStagesLeftFor1f1b) {
  for (int p = 1; p <= 6; ++p)
    for (int m = 1; m <= 9; ++m) {
      const auto gpipe = validate(make_schedule(ScheduleKind::gpipe, p, m)).peak_activations;
      const auto alternating = validate(make_schedule(ScheduleKind::one_f_one_b, p, m)).peak_activations;
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(gpipe[static_cast<std::size_t>(s)], m) << "p " << p << " stage " << s;
        EXPECT_EQ(alternating[static_cast<std::size_t>(s)], std::min(m, p - s))
            << "p " << p << " m " << m << " stage " << s;
      }
    }
}

TEST(Schedule, TheBubbleIsTheClosedFormExactly) {
  // makespan (m + p - 1)(tF + tB), work m (tF + tB) per stage: idle share (p - 1) / (m + p - 1).
  for (const ScheduleKind kind : kKinds)
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 32; ++m)
        for (const auto& [forward, backward] : {std::pair(1, 1), std::pair(1, 2), std::pair(3, 5)}) {
          const Timing timing = simulate(make_schedule(kind, p, m), forward, backward);
          EXPECT_EQ(timing.makespan, (m + p - 1) * (forward + backward)) << name_of(kind) << " p " << p << " m " << m;
          for (const auto busy : timing.busy) EXPECT_EQ(busy, m * (forward + backward));
          EXPECT_NEAR(timing.idle(), static_cast<double>(p - 1) / (m + p - 1), 1e-15);
        }
}

TEST(Schedule, TheLecturesTwoStagesAndFourMicroBatchesIdleAFifth) {
  EXPECT_DOUBLE_EQ(simulate(make_schedule(ScheduleKind::gpipe, 2, 4), 1, 2).idle(), 0.2);
}

/// 1F1B on 3 stages and 4 micro-batches, to be damaged.
struct DamagedSchedule : testing::Test {
  Schedule schedule = make_schedule(ScheduleKind::one_f_one_b, 3, 4);
  std::vector<Action>& stage(std::size_t s) { return schedule.stages[s]; }
  std::size_t find(std::size_t s, Work work, int m) {
    for (std::size_t i = 0; i < stage(s).size(); ++i)
      if (stage(s)[i].work == work && stage(s)[i].micro_batch == m) return i;
    ADD_FAILURE() << "no such action";
    return 0;
  }
  void remove(std::size_t s, Work work, int m) {
    stage(s).erase(stage(s).begin() + static_cast<std::ptrdiff_t>(find(s, work, m)));
  }
  void expect_error(const std::string& part) {
    const std::string error = validate(schedule).error;
    EXPECT_NE(error.find(part), std::string::npos) << "got: '" << error << "'";
  }
};

TEST_F(DamagedSchedule, AMissingBackwardIsNamed) {
  remove(2, Work::send_gradient, 3);
  remove(2, Work::backward, 3);
  expect_error("stage 2: backward of micro-batch 3: missing");
}
TEST_F(DamagedSchedule, AMissingSendIsNamed) {
  remove(0, Work::send_activation, 1);
  expect_error("stage 0: send_activation of micro-batch 1: missing");
}
TEST_F(DamagedSchedule, AMissingReceiveIsNamed) {
  remove(1, Work::recv_activation, 2);
  expect_error("stage 1: forward of micro-batch 2: comes before its recv_activation");
}
TEST_F(DamagedSchedule, AForwardDoneTwiceIsNamed) {
  stage(0).push_back({Work::forward, 2});
  expect_error("stage 0: forward of micro-batch 2: done twice");
}
TEST_F(DamagedSchedule, ABackwardBeforeItsForwardIsNamed) {
  std::swap(stage(2)[find(2, Work::forward, 1)], stage(2)[find(2, Work::backward, 1)]);
  expect_error("stage 2: backward of micro-batch 1: comes before its forward");
}
TEST_F(DamagedSchedule, AMicroBatchOutOfRangeIsNamed) {
  stage(1).push_back({Work::forward, 4});
  expect_error("micro-batch 4: no such micro-batch");
}
TEST_F(DamagedSchedule, AMessageBeyondTheLastStageIsNamed) {
  stage(2).push_back({Work::send_activation, 0});
  expect_error("stage 2: send_activation of micro-batch 0: no stage there");
}
TEST_F(DamagedSchedule, SendsInAnotherOrderThanReceivesAreFound) {
  // Stage 0 runs ahead by two, so its first two sends may change places without breaking its own order.
  std::swap(stage(0)[find(0, Work::forward, 0)], stage(0)[find(0, Work::forward, 1)]);
  std::swap(stage(0)[find(0, Work::send_activation, 0)], stage(0)[find(0, Work::send_activation, 1)]);
  expect_error("waits for ever");
}
TEST(Deadlock, TwoStagesThatWaitForEachOtherAreFound) {
  // Stage 0 wants the gradient of micro-batch 0 before it sends micro-batch 1, stage 1 wants micro-batch 1 first.
  Schedule schedule{2,
                    {{{Work::forward, 0},
                      {Work::send_activation, 0},
                      {Work::recv_gradient, 0},
                      {Work::backward, 0},
                      {Work::forward, 1},
                      {Work::send_activation, 1},
                      {Work::recv_gradient, 1},
                      {Work::backward, 1}},
                     {{Work::recv_activation, 0},
                      {Work::forward, 0},
                      {Work::recv_activation, 1},
                      {Work::forward, 1},
                      {Work::backward, 0},
                      {Work::send_gradient, 0},
                      {Work::backward, 1},
                      {Work::send_gradient, 1}}}};
  EXPECT_EQ(validate(schedule).error,
            "stage 0: recv_gradient of micro-batch 0: waits for ever, its message is not the next to come");
}
TEST(Schedule, NamesRoundTrip) {
  for (const ScheduleKind kind : kKinds) EXPECT_EQ(parse_schedule(name_of(kind)), kind);
  EXPECT_EQ(parse_schedule("zigzag"), std::nullopt);
}

}  // namespace
}  // namespace tutti::trainers

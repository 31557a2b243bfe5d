// That calls go by the formulas' constants: those of rank 0's file on all ranks; and what is said of a bad file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "collectives/agreed_tuning.hpp"
#include "collectives/choose.hpp"
#include "collectives/geometry_host.hpp"
#include "collectives/tuning_file.hpp"
#include "tests/collectives_outcomes.hpp"

namespace tutti {
namespace {

/// A file of its own for each test, gone at its end.
class File {
 public:
  explicit File(const std::string& text)
      : name_((std::filesystem::temp_directory_path() / ("tutti tuning " + std::to_string(getpid()))).string()) {
    std::ofstream(name_) << text;
  }
  ~File() { std::filesystem::remove(name_); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The defaults, but that a call by `kernel` is promised to take so many nanoseconds, and each byte so many more.
Tuning with(Kernel kernel, double base, double byte) {
  Tuning tuning = default_tuning(false, false);
  tuning.of(kernel) = {.base = base, .known = true};
  tuning.of(kernel).byte.fill(byte);
  return tuning;
}

std::string text_of(const Tuning& tuning) { return write_tuning(tuning, {.how = "made up", .ranks = {3}}); }

Request all_reduce_of(std::size_t bytes) { return {.collective = Collective::all_reduce, .count = bytes / 4}; }

TEST(Formulas, OfTheDefaultsServeEveryCallOnCpusCrowdedCpusAndGpus) {
  for (const auto& [on_gpu, crowded] :
       std::vector<std::pair<bool, bool>>{{false, false}, {false, true}, {true, false}}) {
    const Tuning& tuning = default_tuning(on_gpu, crowded);
    EXPECT_TRUE(test::holds(tuning.origin.data(), "defaults")) << tuning.origin.data();
    for (int i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      bool serves_all = false;
      for (const Implementation& each : implementations())
        serves_all |= each.collective == collective && each.algorithm != Algorithm::packets && in_rank_order(each) &&
                      tuning.of(each.kernel).known;
      EXPECT_TRUE(serves_all) << name_of(collective);
    }
  }
}

TEST(Formulas, AddWhatEachRangeOfBytesTakes) {
  Formula formula{.base = 5, .step = 7, .peer = 11, .known = true};
  for (int i = 0; i < kByteRanges; ++i) formula.byte[static_cast<std::size_t>(i)] = i + 1;
  const Implementation& ring = *implementation_of(Collective::all_gather, Algorithm::ring);
  // Three ranks: enter and two steps, and two of three parts cross to each rank.
  EXPECT_DOUBLE_EQ(nanoseconds(formula, quantities_of(ring, 3, 0, 1)), 5 + 3 * 7 + 2 * 11);
  EXPECT_DOUBLE_EQ(nanoseconds(formula, quantities_of(ring, 3, 500, 1)), 48 + 64 * 1 + 192 * 2 + 744 * 3);
  Tuning tuning;
  tuning.of(ring.kernel) = formula;
  const Chooser chooser(host_geometry(3, 1, 1), false, tuning);
  const Request request{.collective = Collective::all_gather, .count = 125, .type = DataType::f32};
  EXPECT_DOUBLE_EQ(chooser.nanoseconds(ring, request), 48 + 64 * 1 + 192 * 2 + 744 * 3);
}

TEST(Formulas, DecideWhichAlgorithmRuns) {
  const Geometry geometry = host_geometry(4, 1, 1);
  for (const Implementation& each : implementations()) {
    const Chooser chooser(geometry, false, with(each.kernel, 0, 0));
    const Request request{.collective = each.collective, .count = 64, .peer = 0};
    if (!chooser.may_serve(each, request)) continue;
    EXPECT_EQ(choose(request, chooser).kernel, each.kernel)
        << name_of(each.collective) << " by " << name_of(each.algorithm);
  }
}

TEST(Formulas, CrossWhereTheirTimesDo) {
  // 1 us and 1 ns for each of the ring's bytes, of 4 ranks 1.5 times the call's: above 10 kB more than 16 us.
  Tuning tuning;
  tuning.of(Kernel::ring_all_reduce) = with(Kernel::ring_all_reduce, 1000, 1).of(Kernel::ring_all_reduce);
  tuning.of(Kernel::two_shot_all_reduce) = with(Kernel::two_shot_all_reduce, 16000, 0).of(Kernel::two_shot_all_reduce);
  const Chooser chooser(host_geometry(4, 1, 1), false, tuning);
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{9000}, std::size_t{9996}})
    EXPECT_EQ(choose(all_reduce_of(bytes), chooser).algorithm, Algorithm::ring) << bytes;
  for (const std::size_t bytes : {std::size_t{10004}, std::size_t{1} << 20})
    EXPECT_EQ(choose(all_reduce_of(bytes), chooser).algorithm, Algorithm::two_shot) << bytes;
  const Plan plan = choose(all_reduce_of(4000), chooser);
  const Choice choice = choice_of(all_reduce_of(4000), plan, chooser, 1);
  EXPECT_NEAR(choice.seconds, 7e-6, 1e-12);
  EXPECT_EQ(choice.runner_up, Algorithm::two_shot);
  EXPECT_NEAR(choice.margin, 16.0 / 7, 1e-9);
  EXPECT_EQ(choice.reason, "least time by its formula, 7 us; two_shot 16 us");
}

TEST(Formulas, DoNotChooseWhatCannotServe) {
  const Chooser packets(host_geometry(2, 1, 1), false, with(Kernel::packets_all_reduce, 0, 0));
  EXPECT_EQ(choose(all_reduce_of(packets.packet_bytes()), packets).algorithm, Algorithm::packets);
  EXPECT_NE(choose(all_reduce_of(packets.packet_bytes() + 4), packets).algorithm, Algorithm::packets);
  const Tuning ring = with(Kernel::ring_all_reduce, 0, 0);
  EXPECT_EQ(choose(all_reduce_of(4), Chooser(host_geometry(2, 1, 1), false, ring)).algorithm, Algorithm::ring);
  EXPECT_NE(choose(all_reduce_of(4), Chooser(host_geometry(2, 1, 1), true, ring)).algorithm, Algorithm::ring);
  Request average = all_reduce_of(4);
  average.op = ReduceOp::avg;
  average.type = DataType::bf16;
  EXPECT_NE(choose(average, Chooser(host_geometry(2, 1, 1), false, ring)).algorithm, Algorithm::ring);
}

TEST(TuningFiles, AreReadBackAsTheyWereWritten) {
  Tuning tuning = with(Kernel::tree_broadcast, 12.5, 0.0625);
  tuning.of(Kernel::ring_broadcast) = {};
  const std::string text = text_of(tuning);
  const Tuning read = read_tuning(text, "a file", false, Tuning{});
  EXPECT_EQ(text_of(read), text);
  EXPECT_FALSE(read.of(Kernel::ring_broadcast).known);
  EXPECT_EQ(read.of(Kernel::tree_broadcast).base, 12.5);
  EXPECT_EQ(read.of(Kernel::tree_broadcast).byte, tuning.of(Kernel::tree_broadcast).byte);
  EXPECT_STREQ(read.origin.data(), "file a file");
  const TuningNotes notes = notes_of(text);
  EXPECT_EQ(notes.how, "made up");
  EXPECT_EQ(notes.ranks, std::vector<int>{3});
}

TEST(TuningFiles, KeepTheDefaultsOfCollectivesThatTheyDoNotList) {
  const Tuning defaults = with(Kernel::direct_gather, 77, 0);
  const Tuning read = read_tuning(R"({"tutti_tuning": 1, "device": "cpu", "formulas": {"barrier": {"direct":
                                     {"base": 3, "step": 0, "peer": 0, "byte": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}}})",
                                  "a file", false, defaults);
  EXPECT_EQ(read.of(Kernel::direct_gather).base, 77);
  EXPECT_EQ(read.of(Kernel::barrier).base, 3);
  EXPECT_FALSE(read.of(Kernel::dissemination_barrier).known) << "left out of a collective that is listed";
}

TEST(TuningFiles, ThatAreBadAreRefusedInOneLineThatSaysWhereAndWhatToDo) {
  const std::string good = text_of(default_tuning(false, false));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    const std::size_t at = good.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return std::string(good).replace(at, from.size(), to);
  };
  const auto but_for = [](const std::string& formulas) {
    return R"({"tutti_tuning": 1, "device": "cpu", "formulas": )" + formulas + "}";
  };
  const std::pair<std::string, const char*> bad[] = {
      {"", "is no JSON"},
      {good.substr(0, good.size() / 2), "is no JSON"},
      {"[]", "is no JSON object"},
      {"{}", "tutti_tuning is missing"},
      {replaced("\"tutti_tuning\": 1", "\"tutti_tuning\": 2"), "tutti_tuning is 2"},
      {replaced("\"cpu\"", "\"gpu\""), "is for GPUs"},
      {replaced("\"cpu\"", "\"tpu\""), "device is \"tpu\""},
      {replaced("\"machine\"", "\"engine\""), "engine: there is no such key"},
      {replaced("all_reduce", "all_reduced"), "formulas.all_reduced: there is no such collective"},
      {replaced("two_shot", "three_shot"), "formulas.all_reduce.three_shot: there is no such algorithm"},
      {replaced("\"base\": ", "\"base\": -1"), "is 0 or more"},
      {replaced("\"byte\": [", "\"byte\": [0, "), "is no list of 10 numbers"},
      {replaced("\"step\"", "\"stop\""), "there is no such key"},
      {but_for("[]"), "formulas is no object"},
      {but_for(R"({"barrier": {"direct": 3}})"), "formulas.barrier.direct is 3, no object or null"},
      {but_for(R"({"all_gather": {"ring": null}})"), "formulas.all_gather has no algorithm that serves every call"},
  };
  for (const auto& [text, words] : bad) {
    const test::Outcome outcome =
        test::outcome_of([&, &bytes = text] { read_tuning(bytes, "their file", false, Tuning{}); });
    EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << words;
    for (const char* part : {words, "tuning 'their file'", "TUTTI_TUNING"})
      EXPECT_TRUE(test::holds(outcome.what, part)) << part << " in: " << outcome.what;
    EXPECT_FALSE(test::holds(outcome.what, "\n")) << outcome.what;
  }
}

TEST(TuningFiles, OfRank0HoldForAllRanks) {
  const File file(text_of(with(Kernel::tree_all_reduce, 0, 0)));
  constexpr int kSize = 3;
  auto bootstraps = thread_bootstraps(kSize);
  std::vector<Tuning> got(kSize);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < kSize; ++r)
    ranks.emplace_back([&, r] {
      got[r] = agreed_tuning(*bootstraps[r], r == 0 ? file.name() : "/no/such/file of another rank", false, false);
    });
  for (std::thread& rank : ranks) rank.join();
  for (const Tuning& each : got) {
    EXPECT_EQ(text_of(each), text_of(got[0]));
    EXPECT_EQ(each.of(Kernel::tree_all_reduce).base, 0);
    EXPECT_EQ(each.origin, got[0].origin);
  }
  EXPECT_NE(text_of(got[0]), text_of(default_tuning(false, false)));
}

TEST(TuningFiles, DecideWhatTheCallsOfASessionRun) {
  const File file(text_of(with(Kernel::tree_all_reduce, 0, 0)));
  run_threads(3,
              [&](Session& session) {
                Communicator comm = session.communicator();
                const Choice choice = comm.choice(Collective::all_reduce, 64, DataType::f32, ReduceOp::sum);
                EXPECT_EQ(choice.algorithm, Algorithm::tree);
                EXPECT_TRUE(test::holds(choice.constants, file.name())) << choice.constants;
                test::use(comm);
              },
              {.tuning = file.name()});
}

TEST(TuningFiles, ThatAreBadEndTheSessionOnAllRanksAlike) {
  const File file("{\"tutti_tuning\": 1, \"device\": \"cpu\"");
  for (const std::string& name : {file.name(), std::string("/no/such/file"), std::string("/dev/zero"),
                                  std::filesystem::temp_directory_path().string()}) {
    auto bootstraps = thread_bootstraps(3);
    std::vector<test::Outcome> got(3);
    std::vector<std::thread> ranks;
    for (std::size_t r = 0; r < 3; ++r)
      ranks.emplace_back([&, r] {
        got[r] = test::outcome_of([&] { agreed_tuning(*bootstraps[r], r == 0 ? name : "", false, false); });
      });
    for (std::thread& rank : ranks) rank.join();
    for (const test::Outcome& outcome : got) {
      EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << name;
      EXPECT_EQ(outcome.what, got[0].what);
      EXPECT_TRUE(test::holds(outcome.what, name)) << outcome.what;
      EXPECT_LT(outcome.seconds, test::kSlack);
    }
  }
}

}  // namespace
}  // namespace tutti

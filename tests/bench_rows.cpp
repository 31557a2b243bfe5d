// From rounds to rows: ratios, placements, close races; and what is printed of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/gpu_name.hpp"
#include "bench/report.hpp"
#include "bench/rows.hpp"
#include "bench/table.hpp"

namespace tutti::bench {
namespace {

class Named : public Contender {
 public:
  explicit Named(std::string backend) : backend_(std::move(backend)) {}
  std::string backend() const override { return backend_; }
  std::string asked_algorithm() const override { return backend_ == "native" ? "auto" : "default"; }
  std::string algorithm(const Case&) const override { return backend_ == "native" ? "two_shot" : "default"; }
  CallCost cost(const Case& c) const override {
    return backend_ == "native" ? CallCost{2, static_cast<double>(c.bytes)} : CallCost{};
  }
  void run(const Case&, const Buffers&) override {}

 private:
  std::string backend_;
};

class RowsOfTwo : public testing::Test {
 protected:
  std::string titles_of(const Table& table) const {
    std::istringstream section(table.section(case_));
    std::string titles;
    for (int line = 0; line < 3; ++line) std::getline(section, titles);
    return titles;
  }
  Named native_{"native"}, mpi_{"mpi"};
  std::vector<Lane> lanes_ = {{&native_, MemoryKind::any, {}}, {&mpi_, MemoryKind::any, {}}};
  Case case_ = [] {
    Case shape;
    shape.ranks = 2;
    return case_of(1 << 20, shape);
  }();

  static void add(Rows& rows, int count, Placement placement, double native, double mpi) {
    for (int i = 0; i < count; ++i) rows.add({placement, placement == Placement::near ? 55. : 240., {native, mpi}});
  }
};

TEST_F(RowsOfTwo, ShowTheBoundOfTheirMemoryAndPlacement) {
  Rows rows(case_, lanes_, 2);
  for (double bound : {1e-6, 2e-6, 3e-6})
    rows.add({Placement::near, 50, {4e-6, 4e-6}, {{MemoryKind::any, bound}, {MemoryKind::peer_mapped, 1e-9}}});
  for (int i = 0; i < 2; ++i) rows.add({Placement::far, 250, {4e-6, 8e-6}, {{MemoryKind::any, 4e-6}}});
  const std::vector<Row> built = rows.build(nullptr);
  ASSERT_EQ(built.size(), 4u);
  EXPECT_DOUBLE_EQ(built[0].bound, 2e-6);
  EXPECT_DOUBLE_EQ(built[2].bound, 4e-6);
  const auto json = nlohmann::json::parse(report({}, false, "", built, {}));
  EXPECT_DOUBLE_EQ(json["rows"][0]["bound_us"], 2);
  EXPECT_DOUBLE_EQ(json["rows"][0]["share"], 50);

  BenchArguments arguments;
  arguments.bounds = true;
  const Table table(arguments);
  EXPECT_NE(titles_of(table).find("bound share"), std::string::npos);
  EXPECT_NE(table.line(built[0]).find(" 2.00    50"), std::string::npos) << table.line(built[0]);
  EXPECT_EQ(titles_of(Table({})).find("bound"), std::string::npos) << "only if asked for";
}

TEST_F(RowsOfTwo, HaveNoBoundWhereNoneWasMeasured) {
  Rows rows(case_, lanes_, 1);
  rows.add({Placement::near, 50, {1e-6, 2e-6}});
  const std::vector<Row> built = rows.build(nullptr);
  EXPECT_EQ(built.at(0).bound, 0);
  EXPECT_TRUE(nlohmann::json::parse(report({}, false, "", built, {}))["rows"][0]["bound_us"].is_null());
}

TEST_F(RowsOfTwo, HaveTheMedianOfPerRoundRatiosNotTheRatioOfMedians) {
  Rows rows(case_, lanes_, 3);
  rows.add({Placement::near, 50, {1e-6, 2e-6}});
  rows.add({Placement::near, 50, {2e-6, 10e-6}});
  rows.add({Placement::near, 50, {10e-6, 11e-6}});
  const std::vector<Row> built = rows.build(nullptr);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_DOUBLE_EQ(built[0].seconds, 2e-6);
  EXPECT_DOUBLE_EQ(built[0].seconds_min, 1e-6);
  EXPECT_DOUBLE_EQ(built[0].seconds_max, 10e-6);
  EXPECT_DOUBLE_EQ(built[0].ratio.at("mpi").median, 2.0);
  EXPECT_DOUBLE_EQ(built[0].ratio.at("mpi").low, 1.1);
  EXPECT_DOUBLE_EQ(built[0].ratio.at("mpi").high, 5.0);
  EXPECT_TRUE(built[1].ratio.empty()) << "only native rows are compared";
}

TEST_F(RowsOfTwo, AreComparedWithEachPeerAndTheBestOfThem) {
  struct Job : Elsewhere {
    std::string refusal(const Case&, std::uint64_t*) override { return ""; }
    Result run(const Case&, const Batch&) override { return {}; }
  } job;
  struct Away : Named {
    Away(std::string backend, Elsewhere* job) : Named(std::move(backend)), job_(job) {}
    Elsewhere* elsewhere() override { return job_; }
    Elsewhere* job_;
  } mpich("mpich", &job);
  lanes_ = {{&native_, MemoryKind::peer_mapped, {}},
            {&native_, MemoryKind::any, {}},
            {&mpi_, MemoryKind::any, {}},
            {&mpich, MemoryKind::any, {}}};
  Rows rows(case_, lanes_, 3);
  for (int i = 0; i < 3; ++i) rows.add({Placement::near, 50, {1e-6, 2e-6, 8e-6, 6e-6}});
  const std::vector<Row> built = rows.build(nullptr);
  ASSERT_EQ(built.size(), 4u);
  EXPECT_EQ(built[0].ratio.count("mpi"), 0u) << "it ran on other memory";
  EXPECT_DOUBLE_EQ(built[0].ratio.at("mpich").median, 6) << "it has memory of its own";
  EXPECT_EQ(built[0].best_peer, "mpich");
  EXPECT_DOUBLE_EQ(built[1].ratio.at("mpi").median, 4);
  EXPECT_DOUBLE_EQ(built[1].ratio.at("mpich").median, 3);
  EXPECT_EQ(built[1].best_peer, "mpich");
  EXPECT_EQ(built[2].best_peer, "");
  const Table table{BenchArguments{}};
  EXPECT_NE(table.line(built[1]).find("mpich"), std::string::npos);
  EXPECT_NE(table.footer(built).find("the best peer or faster in 1 of 1 rows; least ratio 3.00"), std::string::npos)
      << table.footer(built);
}

TEST_F(RowsOfTwo, OfNearAndFarAreReportedApart) {
  Rows rows(case_, lanes_, 15);
  add(rows, 15, Placement::near, 1e-6, 3e-6);
  add(rows, 15, Placement::far, 2e-6, 4e-6);
  add(rows, 2, Placement::mixed, 9e-6, 1e-6);
  const std::vector<Row> built = rows.build(nullptr);
  ASSERT_EQ(built.size(), 4u);
  EXPECT_EQ(built[0].placement, Placement::near);
  EXPECT_DOUBLE_EQ(built[0].ratio.at("mpi").median, 3);
  EXPECT_EQ(built[2].placement, Placement::far);
  EXPECT_DOUBLE_EQ(built[2].ratio.at("mpi").median, 2);
  EXPECT_DOUBLE_EQ(built[2].placement_ns, 240);
  EXPECT_EQ(built[2].rounds, 15);
}

TEST_F(RowsOfTwo, OfTooFewRoundsAreLeftOutAndTold) {
  Rows rows(case_, lanes_, 15);
  add(rows, 15, Placement::far, 1e-6, 3e-6);
  add(rows, 2, Placement::near, 2e-6, 1e-6);
  std::vector<std::string> notes;
  const std::vector<Row> built = rows.build(&notes);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_EQ(built[0].rounds, 15);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("2 rounds with near cores"), std::string::npos) << notes[0];
}

TEST_F(RowsOfTwo, FallBackToAllRoundsWhereNoPlacementHasEnough) {
  Rows rows(case_, lanes_, 15);
  add(rows, 8, Placement::far, 1e-6, 3e-6);
  add(rows, 8, Placement::near, 1e-6, 3e-6);
  const std::vector<Row> built = rows.build(nullptr);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_EQ(built[0].placement, Placement::mixed);
  EXPECT_EQ(built[0].rounds, 16);
}

TEST_F(RowsOfTwo, AreCloseIfTheIntervalSpansOneAndThenComeFromTheLongerRun) {
  Rows rows(case_, lanes_, 6);
  for (double mpi : {0.8, 0.9, 1.1, 1.2, 0.9, 1.1}) rows.add({Placement::near, 50, {1e-6, mpi * 1e-6}});
  EXPECT_EQ(rows.close_races(), std::vector<std::size_t>{0});
  Rows longer(case_, lanes_, 30);
  add(longer, 30, Placement::near, 1e-6, 1.05e-6);
  EXPECT_TRUE(longer.close_races().empty());
  rows.replace({0}, longer);
  EXPECT_TRUE(rows.close_races().empty());
  const std::vector<Row> built = rows.build(nullptr);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_EQ(built[0].rounds, 30);
  EXPECT_DOUBLE_EQ(built[0].ratio.at("mpi").median, 1.05);
  EXPECT_EQ(built[1].rounds, 6);
}

TEST_F(RowsOfTwo, ThatAreClearlySlowerAreNotRunAgain) {
  Rows rows(case_, lanes_, 15);
  add(rows, 15, Placement::near, 2e-6, 1e-6);
  EXPECT_TRUE(rows.close_races().empty());
}

TEST_F(RowsOfTwo, OfPingPongCountOneWay) {
  Case shape;
  shape.ranks = 2;
  shape.operation = Operation::send_recv;
  Rows rows(case_of(1024, shape), lanes_, 1);
  add(rows, 1, Placement::near, 4e-6, 6e-6);
  EXPECT_DOUBLE_EQ(rows.build(nullptr)[0].seconds, 2e-6);
  EXPECT_DOUBLE_EQ(rows.build(nullptr)[0].ratio.at("mpi").median, 1.5);
}

TEST_F(RowsOfTwo, AreWrittenWithTheKeysThatReadersExpect) {
  Rows rows(case_, lanes_, 15);
  add(rows, 15, Placement::far, 100e-6, 300e-6);
  const auto json =
      nlohmann::json::parse(report({"a CPU", 2, 23.5, {}, "an MPI"}, false, "tutti bench", rows.build(nullptr), {}));
  EXPECT_EQ(json.at("machine").at("cpu"), "a CPU");
  EXPECT_EQ(json.at("machine").at("gpus"), nlohmann::json::array());
  EXPECT_EQ(json.at("command"), "tutti bench");
  ASSERT_EQ(json.at("rows").size(), 2u);
  const auto& row = json.at("rows")[0];
  EXPECT_EQ(row.at("collective"), "all_reduce");
  EXPECT_EQ(row.at("backend"), "native");
  EXPECT_EQ(row.at("algorithm"), "two_shot");
  EXPECT_EQ(row.at("memory"), "any");
  EXPECT_EQ(row.at("ranks"), 2);
  EXPECT_EQ(row.at("bytes"), 1 << 20);
  EXPECT_EQ(row.at("count"), 1 << 18);
  EXPECT_EQ(row.at("type"), "f32");
  EXPECT_EQ(row.at("op"), "sum");
  EXPECT_EQ(row.at("root"), -1);
  EXPECT_EQ(row.at("in_place"), false);
  EXPECT_NEAR(row.at("time_us"), 100, 1e-9);
  EXPECT_NEAR(row.at("time_us_min"), 100, 1e-9);
  EXPECT_NEAR(row.at("time_us_max"), 100, 1e-9);
  EXPECT_NEAR(row.at("algbw"), 10.48576, 1e-9);
  EXPECT_NEAR(row.at("busbw"), 10.48576, 1e-9);
  EXPECT_EQ(row.at("wrong"), 0);
  EXPECT_NEAR(row.at("ratio").at("mpi"), 3, 1e-9);
  EXPECT_EQ(row.at("placement_ns"), 240);
  EXPECT_EQ(row.at("steps"), 2);
  EXPECT_EQ(row.at("wire_bytes"), 1 << 20);
  EXPECT_EQ(json.at("rows")[1].at("ratio"), nlohmann::json::object());
  EXPECT_EQ(json.at("rows")[1].at("steps"), nullptr) << "what a library does inside is not known";
  EXPECT_EQ(json.at("not_applicable"), nlohmann::json::array());
}

TEST_F(RowsOfTwo, ThatCouldNotRunStandApartInTheFileAndInLineInTheTable) {
  LeftOut unable{{}, "too long for it"};
  unable.row.c = case_;
  unable.row.backend = "native";
  unable.row.algorithm = unable.row.asked_algorithm = "packets";
  const auto json = nlohmann::json::parse(report({}, true, "tutti bench", {}, {unable}));
  EXPECT_EQ(json.at("machine").at("device"), "gpu");
  EXPECT_EQ(json.at("rows"), nlohmann::json::array());
  ASSERT_EQ(json.at("not_applicable").size(), 1u);
  EXPECT_EQ(json.at("not_applicable")[0].at("algorithm"), "packets");
  EXPECT_EQ(json.at("not_applicable")[0].at("bytes"), 1 << 20);
  EXPECT_EQ(json.at("not_applicable")[0].at("why"), "too long for it");

  const Table table{BenchArguments{}};
  const std::string titles = titles_of(table), line = table.line(unable);
  EXPECT_EQ(titles.find("time") + 4, line.find("N/A") + 3) << titles << "\n" << line;
  EXPECT_NE(line.find("too long for it"), std::string::npos) << line;
}

TEST_F(RowsOfTwo, ShowTheRootWhereThereIsOneAndTheOperatorWhereOneIsApplied) {
  const std::tuple<Operation, const char*, const char*> table[] = {
      {Operation::all_reduce, "sum", "-1"},  {Operation::reduce_scatter, "sum", "-1"},
      {Operation::reduce, "sum", "1"},       {Operation::broadcast, "none", "1"},
      {Operation::gather, "none", "1"},      {Operation::scatter, "none", "1"},
      {Operation::all_to_all, "none", "-1"}, {Operation::all_gather, "none", "-1"},
  };
  for (const auto& [operation, op, root] : table) {
    Row row;
    row.c = case_of(64, Case{.operation = operation, .ranks = 2, .root = 1});
    std::istringstream line(Table(BenchArguments{}).line(row));
    std::string size, count, type, shown_op, shown_root;
    line >> size >> count >> type >> shown_op >> shown_root;
    EXPECT_EQ(shown_op, op) << name_of(operation);
    EXPECT_EQ(shown_root, root) << name_of(operation);
    const auto json = nlohmann::json::parse(report({}, false, "", {row}, {}));
    EXPECT_EQ(json.at("rows")[0].at("root"), std::stoi(root)) << name_of(operation);
  }
}

TEST_F(RowsOfTwo, OfEmulatedGpusTellWhatIsWrongButNoTime) {
  EXPECT_TRUE(is_emulated("tutti emulated GPU (no NVIDIA hardware)"));
  EXPECT_FALSE(is_emulated("NVIDIA H100 80GB HBM3"));
  Rows rows(case_, lanes_, 1);
  add(rows, 1, Placement::unknown, 0.123, 0.456);
  std::vector<Row> built = rows.build(nullptr);
  built[0].wrong = 7;
  const Table table(BenchArguments{}, false);
  const std::string line = table.line(built[0]), footer = table.footer(built);
  for (const char* figure : {"123", "456", "3.7", "ns"}) EXPECT_EQ(line.find(figure), std::string::npos) << line;
  EXPECT_NE(line.find("-      -      -      7"), std::string::npos) << line;
  EXPECT_NE(footer.find("values : 7 FAILED"), std::string::npos) << footer;
  EXPECT_EQ(footer.find("GB/s"), std::string::npos) << footer;
  EXPECT_NE(table.header({}).find("emulated on the CPU"), std::string::npos) << table.header({});
  Machine machine;
  machine.emulated = true;
  const auto json = nlohmann::json::parse(report(machine, true, "tutti bench", built, {}));
  EXPECT_EQ(json.at("rows")[0].at("wrong"), 7);
  for (const char* key : {"time_us", "time_us_min", "time_us_max", "algbw", "busbw", "ratio", "rounds", "placement_ns"})
    EXPECT_FALSE(json.at("rows")[0].contains(key)) << key;
}

TEST_F(RowsOfTwo, ArePrintedInColumnsThatLineUp) {
  Rows rows(case_, lanes_, 15);
  add(rows, 15, Placement::far, 123456e-6, 1234567e-6);
  const std::vector<Row> built = rows.build(nullptr);
  BenchArguments plain, all;
  for (int i = 1; i < kAlgorithms; ++i) all.algorithms.push_back(static_cast<Algorithm>(i));
  all.costs = true;
  for (const BenchArguments& arguments : {plain, all}) {
    const Table table(arguments);
    const std::string titles = titles_of(table), line = table.line(built[0]);
    EXPECT_EQ(titles.find("time") + 4, line.find("123456") + 6) << titles << "\n" << line;
    EXPECT_EQ(titles.find("#wrong") + 5, line.find(" 0 ", titles.find("#wrong")) + 1) << titles << "\n" << line;
    EXPECT_EQ(titles.find("placement"), line.find("far")) << titles << "\n" << line;
    EXPECT_NE(line.find("10.0"), std::string::npos) << line;
    EXPECT_EQ(titles.find("memory"), line.find("any")) << titles << "\n" << line;
    EXPECT_EQ(titles.find("wire") + 4, arguments.costs ? line.find("1048576", 20) + 7 : std::string::npos + 4)
        << titles << "\n"
        << line;
  }
  Row longest = built[0];
  longest.algorithm = longest.asked_algorithm = "recursive_doubling";
  EXPECT_EQ(titles_of(Table(all)).find("placement"), Table(all).line(longest).find("far"));
}

TEST_F(RowsOfTwo, AreSummedUpWithTheSlowestRatio) {
  Rows rows(case_, lanes_, 1);
  add(rows, 1, Placement::near, 2e-6, 1e-6);
  std::vector<Row> built = rows.build(nullptr);
  const Table table{BenchArguments{}};
  EXPECT_NE(table.footer(built).find("in 0 of 1 rows; least ratio 0.50"), std::string::npos) << table.footer(built);
  EXPECT_NE(table.footer(built).find("0 OK"), std::string::npos);
  built[0].wrong = 3;
  EXPECT_NE(table.footer(built).find("3 FAILED"), std::string::npos);
}

}  // namespace
}  // namespace tutti::bench

// Stories: of every algorithm, with every number of ranks, they equal what the kernel did.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/algorithms.hpp"
#include "bench/explain/arguments.hpp"
#include "bench/explain/picture.hpp"
#include "bench/explain/replay.hpp"
#include "bench/explain/story_json.hpp"
#include "bench/explain/table.hpp"
#include "bench/explain/tell.hpp"

namespace tutti::explain {
namespace {

using bench::ArgumentError;
using bench::Operation;

struct Whole {
  Recording recording;
  Chains chains;
  Story story;
};

Whole whole(const Subject& subject) {
  Whole w;
  w.recording = record_alike({subject}).front();
  w.chains = chains_of(w.recording.trace, subject.ranks);
  w.story = tell(w.recording, w.chains);
  return w;
}

Subject subject_of(Operation operation, Algorithm algorithm, int ranks, bool mapped = true) {
  Subject s;
  s.operation = operation;
  s.algorithm = algorithm;
  s.ranks = ranks;
  s.mapped = mapped;
  s.machine = plain_machine(ranks);
  return s;
}

std::string name_of_case(const Subject& s) {
  return std::string(name_of(s.operation)) + " by " + name_of(s.algorithm) + ", " + std::to_string(s.ranks) +
         " ranks, " + (s.mapped ? "mapped" : "any") + ", root " + std::to_string(s.root);
}

/// Every algorithm of every collective, in both memories.
std::vector<Subject> all_subjects(int ranks) {
  std::vector<Subject> subjects;
  for (int i = 0; i < bench::kOperations; ++i)
    for (const Algorithm algorithm : bench::algorithms_of(static_cast<Operation>(i)))
      for (const bool mapped : {true, false}) {
        Subject s = subject_of(static_cast<Operation>(i), algorithm, ranks, mapped);
        subjects.push_back(s);
        const bench::Case shape{.operation = s.operation, .ranks = ranks};
        if (!shape.rooted() && s.operation != Operation::send_recv) continue;
        s.root = ranks - 1;
        subjects.push_back(s);
      }
  return subjects;
}

class StoriesOf : public testing::TestWithParam<int> {};

TEST_P(StoriesOf, EveryAlgorithmAreRight) {
  for (const Subject& s : all_subjects(GetParam())) {
    const Story story = whole(s).story;
    EXPECT_TRUE(story.right) << name_of_case(s) << ": " << story.wrong;
    EXPECT_EQ(story.wrong, "") << name_of_case(s);
  }
}

TEST_P(StoriesOf, EveryAlgorithmCountWhatTheFormulaSays) {
  for (const Subject& s : all_subjects(GetParam())) {
    const Story story = whole(s).story;
    EXPECT_EQ(story.counted.steps, story.formula.steps) << name_of_case(s);
    EXPECT_EQ(story.formula_text, "") << name_of_case(s) << ": " << story.counted.bytes << " bytes, by the formula "
                                      << story.formula.bytes;
    EXPECT_NEAR(story.counted.bytes, story.formula.bytes, 1e-6) << name_of_case(s);
  }
}

TEST_P(StoriesOf, EveryAlgorithmHoldTogether) {
  for (const Subject& s : all_subjects(GetParam())) {
    const Whole w = whole(s);
    const Story& story = w.story;
    std::vector<std::vector<Cell>> now;
    for (const Row& row : story.rows) now.push_back(row.cells);
    int last = 0;
    for (const Step& step : story.steps) {
      EXPECT_GT(step.number, last) << name_of_case(s);
      last = step.number;
      // What a step changes is what its actions write, and nothing else.
      std::set<std::pair<int, int>> written;
      for (const Action& action : step.actions) {
        EXPECT_LE(action.begin, action.end) << action.text;
        EXPECT_FALSE(action.from.empty() || action.to.empty()) << action.text;
        for (const auto* places : {&action.from, &action.to})
          for (const Cells& cells : *places) EXPECT_EQ(cells.count, action.to.front().count) << action.text;
        for (const Cells& to : action.to)
          for (int i = 0; i < to.count; ++i) written.insert({to.row, to.first + i});
      }
      ASSERT_EQ(step.after.size(), now.size());
      for (std::size_t r = 0; r < now.size(); ++r)
        for (std::size_t c = 0; c < now[r].size(); ++c)
          if (step.after[r][c] != now[r][c]) {
            EXPECT_TRUE(written.contains({static_cast<int>(r), static_cast<int>(c)}))
                << name_of_case(s) << ", step " << step.number;
          }
      for (const Message& m : step.messages) {
        EXPECT_LE(m.sent, m.arrived) << name_of_case(s);
        if (m.heard >= 0) {
          EXPECT_LE(m.arrived, m.heard) << name_of_case(s) << ": " << m.purpose << ' ' << m.from << '>' << m.to;
        }
      }
      now = step.after;
    }
    for (std::size_t r = 0; r < story.rows.size(); ++r)
      if (story.rows[r].kind == Row::Kind::out) {
        EXPECT_EQ(now[r], story.rows[r].expected) << name_of_case(s);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, StoriesOf, testing::Values(2, 3, 4, 5, 6, 7, 8));

TEST(Stories, CountMessagesAsTheTraceDoes) {
  for (const Subject& s : all_subjects(5)) {
    const Whole w = whole(s);
    for (std::size_t i = 0; i < w.recording.trace.size(); ++i)
      ASSERT_EQ(w.chains.after[i], w.recording.trace[i].step)
          << name_of_case(s) << ", event " << i << ", " << model::name_of(w.recording.trace[i].word);
  }
}

TEST(Stories, SpansOfABlockDoNotOverlap) {
  for (const Subject& s : all_subjects(4)) {
    std::map<std::pair<int, int>, double> free;
    for (const Span& span : whole(s).story.spans) {
      double& at = free[{span.rank, span.block}];
      EXPECT_GE(span.begin, at) << name_of_case(s) << ": " << span.text;
      EXPECT_GT(span.end, span.begin) << name_of_case(s) << ": " << span.text;
      EXPECT_FALSE(span.text.empty()) << name_of_case(s);
      at = span.end;
    }
  }
}

/// Two cores for all ranks, with caches.
timed::Machine two_cores(int ranks) {
  timed::Machine m;
  m.name = "two cores";
  m.is_gpu = false;
  m.wiring = timed::Wiring::shared;
  m.ranks = ranks;
  m.cores = 2;
  m.word = 20;
  m.signal = 10;
  m.wait = 5;
  m.flag = 100;
  m.handover = 300;
  m.core_cache = 1 << 20;
  m.last_cache = 32 << 20;
  m.own_load = m.own_store = 50;
  m.peer_load = m.peer_store = m.peer_add = 8;
  m.last_load = m.last_store = 20;
  m.memory_load = m.memory_store = m.stream_store = 10;
  return m;
}

TEST(Stories, OfRanksThatShareCoresAreRight) {
  for (Subject s : all_subjects(4)) {
    s.machine = two_cores(4);
    const Story story = whole(s).story;
    EXPECT_TRUE(story.right) << name_of_case(s) << ": " << story.wrong;
    EXPECT_EQ(story.formula_text, "") << name_of_case(s);
    std::map<std::pair<int, int>, double> free;
    for (const Span& span : story.spans) {
      EXPECT_GE(span.begin, (free[{span.rank, span.block}])) << name_of_case(s) << ": " << span.text;
      free[{span.rank, span.block}] = span.end;
    }
  }
}

TEST(Stories, OfEveryOperatorAreRight) {
  for (int op = 0; op < kReduceOps; ++op)
    for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter, Operation::reduce})
      for (const Algorithm algorithm : bench::algorithms_of(operation)) {
        Subject s = subject_of(operation, algorithm, 5);
        s.op = static_cast<ReduceOp>(op);
        const Story story = whole(s).story;
        EXPECT_TRUE(story.right) << name_of_case(s) << ' ' << name_of(s.op) << ": " << story.wrong;
      }
}

TEST(Stories, OfSeveralBlocksAndCellsAreRight) {
  for (const Algorithm algorithm : bench::algorithms_of(Operation::all_reduce))
    for (const int blocks : {2, 3})
      for (const std::size_t cell : {std::size_t{128}, std::size_t{4096}}) {
        Subject s = subject_of(Operation::all_reduce, algorithm, 4, false);
        s.blocks = blocks;
        s.cells = 24;
        s.cell_bytes = cell;
        const Story story = whole(s).story;
        EXPECT_TRUE(story.right) << name_of_case(s) << ", " << blocks << " blocks: " << story.wrong;
      }
}

TEST(Stories, SayWhereAKernelCutsCells) {
  Subject s = subject_of(Operation::all_reduce, Algorithm::ring, 4);
  s.cells = 5;
  s.cell_bytes = 256;
  const Recording recording = record(s);
  const Chains chains = chains_of(recording.trace, s.ranks);
  EXPECT_THROW(tell(recording, chains), ArgumentError);
}

TEST(Stories, NoticeAMoveThatIsMissing) {
  Recording recording = record(subject_of(Operation::all_reduce, Algorithm::two_shot, 3));
  const Chains chains = chains_of(recording.trace, 3);
  EXPECT_TRUE(tell(recording, chains).right);
  for (timed::Event& event : recording.trace)
    if (event.word == model::Word::reduce && event.rank == 1) event.from.pop_back();
  const Story story = tell(recording, chains);
  EXPECT_FALSE(story.right);
  EXPECT_NE(story.wrong, "");
}

TEST(Stories, NoticeMemoryThatIsNotWhatTheMovesMake) {
  Recording recording = record(subject_of(Operation::all_gather, Algorithm::ring, 3));
  const Chains chains = chains_of(recording.trace, 3);
  recording.out[2].after[40] += 1;
  const Story story = tell(recording, chains);
  EXPECT_FALSE(story.right);
  EXPECT_NE(story.wrong.find("rank 2 out element 40"), std::string::npos) << story.wrong;
}

TEST(Stories, CountFewerBytesIfAMoveIsMissing) {
  Recording recording = record(subject_of(Operation::broadcast, Algorithm::direct, 4));
  for (timed::Event& event : recording.trace)
    if (event.word == model::Word::copy && event.rank == 2) event.bytes = 0;
  EXPECT_EQ(replay(recording, chains_of(recording.trace, 4)).most_bytes, 2 * 4 * 128);
}

TEST(Stories, HaveCellsThatSuitAllThatAreShownTogether) {
  std::vector<Subject> subjects;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling})
    subjects.push_back(subject_of(Operation::all_reduce, algorithm, 6));
  const auto recordings = record_alike(subjects);
  ASSERT_EQ(recordings.size(), 2u);
  for (const Recording& r : recordings) {
    EXPECT_EQ(r.subject.cells, 12);
    EXPECT_EQ(tell(r, chains_of(r.trace, 6)).formula_text, "");
  }
}

TEST(Stories, HaveCellsThatNoKernelCuts) {
  for (const Algorithm algorithm : bench::algorithms_of(Operation::all_reduce))
    for (const int ranks : {3, 6, 7}) {
      Subject s = subject_of(Operation::all_reduce, algorithm, ranks);
      s.cell_bytes = 4096;
      const Story story = whole(s).story;
      EXPECT_TRUE(story.right) << name_of_case(s) << ": " << story.wrong;
      EXPECT_EQ(story.formula_text, "") << name_of_case(s);
    }
}

TEST(Stories, MakeTheSameBytesEveryTime) {
  const Subject s = subject_of(Operation::all_reduce, Algorithm::tree, 5);
  const Story a = whole(s).story, b = whole(s).story;
  EXPECT_EQ(to_json(a), to_json(b));
  EXPECT_EQ(picture(a, -1), picture(b, -1));
  EXPECT_EQ(table(a, false), table(b, false));
}

TEST(Tables, FitAHundredColumnsUpToEightRanks) {
  for (const int ranks : {4, 8})
    for (const Subject& s : all_subjects(ranks)) {
      const std::string text = table(whole(s).story, false);
      std::size_t begin = 0;
      for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        ASSERT_LE(end - begin, 100u) << name_of_case(s) << ":\n" << text.substr(begin, end - begin);
    }
}

TEST(Tables, DifferInEscapesOnly) {
  const Story story = whole(subject_of(Operation::reduce_scatter, Algorithm::ring, 4)).story;
  std::string plain;
  const std::string coloured = table(story, true);
  ASSERT_NE(coloured.find("\033["), std::string::npos);
  for (std::size_t i = 0; i < coloured.size(); ++i)
    if (coloured[i] == '\033')
      i = coloured.find('m', i);
    else
      plain += coloured[i];
  EXPECT_EQ(plain, table(story, false));
}

TEST(Pictures, KnowTheirSteps) {
  const Story story = whole(subject_of(Operation::all_reduce, Algorithm::ring, 3)).story;
  EXPECT_NE(picture(story, 0).find("before the call"), std::string::npos);
  EXPECT_NE(picture(story, 3).find("step 3 of 5"), std::string::npos);
  EXPECT_EQ(picture(story, 3).find("step 4 of 5"), std::string::npos);
  EXPECT_THROW(picture(story, 6), ArgumentError);
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
  try {
    parse(arguments);
    ADD_FAILURE() << "taken: " << testing::PrintToString(arguments);
  } catch (const ArgumentError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(Arguments, ThatAreWrongAreNamed) {
  expect_refused({}, "which collective?");
  expect_refused({"all_reduse"}, "collective 'all_reduse': use one of all_reduce,");
  expect_refused({"all_reduce", "-n", "1"}, "-n '1': use a whole number from 2 to 16");
  expect_refused({"all_reduce", "-n", "17"}, "from 2 to 16");
  expect_refused({"all_reduce", "--algorithm", "bruck"}, "--algorithm 'bruck': all_reduce has auto, packets,");
  expect_refused({"all_reduce", "--root", "1"}, "all_reduce has no root");
  expect_refused({"broadcast", "-n", "4", "--root", "4"}, "--root '4': use a whole number from 0 to 3");
  expect_refused({"all_gather", "--op", "max"}, "--op 'max': all_gather does not reduce");
  expect_refused({"all_reduce", "--op", "mean"}, "the operators are sum, prod, min, max, avg");
  expect_refused({"all_reduce", "--memory", "staged"}, "--memory 'staged': use peer-mapped or any");
  expect_refused({"all_reduce", "--cells", "0"}, "--cells '0'");
  expect_refused({"barrier", "--cells", "2"}, "barrier moves no cells");
  expect_refused({"all_reduce", "--cell", "100"}, "--cell '100': a cell is a multiple of 128 bytes");
  expect_refused({"all_reduce", "--blocks", "x"}, "--blocks 'x'");
  expect_refused({"all_reduce", "--machine", "no-such"}, "no-such");
  expect_refused({"all_reduce", "--svg", ""}, "--svg '': give a file name");
  expect_refused({"all_reduce", "--trace", "/no/such/folder/t.json"}, "cannot write this file");
  expect_refused({"all_reduce", "--step", "2"}, "--step goes with --svg");
  expect_refused({"all_reduce", "--algorithm", "all", "--svg", "x.svg"}, "--svg is of one algorithm in one memory");
  expect_refused({"all_reduce", "--algorithm", "all", "--html", "x.html"}, "--html shows at most 4 side by side");
  expect_refused({"all_reduce", "--no-such-option"}, "-h lists the options");
}

TEST(Arguments, MeanWhatTheHelpSays) {
  const Arguments a = parse({"all_reduce"});
  ASSERT_EQ(a.subjects.size(), 1u);
  EXPECT_EQ(a.subjects[0].ranks, 4);
  EXPECT_TRUE(a.subjects[0].mapped);
  EXPECT_EQ(record(a.subjects[0]).plan.algorithm, Algorithm::two_shot);
  const Arguments b =
      parse({"gather", "--algorithm", "direct,tree", "--memory", "any,peer-mapped", "-n", "3", "-r", "2"});
  ASSERT_EQ(b.subjects.size(), 4u);
  EXPECT_EQ(b.subjects[1].algorithm, Algorithm::direct);
  EXPECT_TRUE(b.subjects[1].mapped);
  EXPECT_EQ(b.subjects[3].root, 2);
  EXPECT_TRUE(parse({"-h"}).help.has_value());
}

}  // namespace
}  // namespace tutti::explain

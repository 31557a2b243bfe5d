// A covering array of calls of all sizes: every pair of values of every two properties of a call meets in some call.
// The array is the same in every run. As threads all its rows run; under mpirun those whose world is the job's.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

#include "tests/collectives_kinds.hpp"
#include "tests/collectives_trial.hpp"

namespace tutti {
namespace {

using test::Case;
using test::Reached;

constexpr int kWorlds[] = {1, 2, 3, 4, 5, 7, 8};
/// Elements of the longer buffer.
constexpr std::size_t kCounts[] = {0, 1, 7, 64, 1003, 4099, 65536, 262147, 1000003};
constexpr std::size_t kOffsets[] = {0, 1, 3, 8, 64};

const std::vector<test::Kind>& kinds() {
  static const std::vector<test::Kind> all = test::all_kinds();
  return all;
}

enum Property { world, count, kind, type, op, in_offset, out_offset, in_place, memory, blocks, async, kProperties };
/// How many values a property has.
int values(int property) {
  const int known[kProperties] = {std::size(kWorlds),
                                  std::size(kCounts),
                                  static_cast<int>(kinds().size()),
                                  kDataTypes,
                                  kReduceOps,
                                  std::size(kOffsets),
                                  std::size(kOffsets),
                                  2,
                                  test::kReached,
                                  4,
                                  2};
  return known[property];
}
using Row = std::array<int, kProperties>;

Case case_of(const Row& row, unsigned salt) {
  Case c;
  c.collective = kinds()[static_cast<std::size_t>(row[kind])].collective;
  c.algorithm = kinds()[static_cast<std::size_t>(row[kind])].algorithm;
  const auto n = static_cast<std::size_t>(kWorlds[row[world]]);
  c.count = c.spreads() ? (kCounts[row[count]] + n - 1) / n : kCounts[row[count]];
  c.type = static_cast<DataType>(row[type]);
  c.op = static_cast<ReduceOp>(row[op]);
  c.in_offset = kOffsets[row[in_offset]];
  c.out_offset = kOffsets[row[out_offset]];
  c.in_place = row[in_place] == 1;
  c.memory = static_cast<Reached>(row[memory]);
  c.async = row[async] == 1;
  c.most_packets = test::packet_bytes(row[blocks] + 1);
  c.salt = salt;
  c.root = static_cast<int>(salt % n);
  c.scribbles = salt % 3 == 0;
  return c;
}

/// Whether the call is refused, as far as the row is known.
bool refused(const Row& row) {
  const bool counted = row[kind] >= 0 && row[type] >= 0;
  if (!counted) return false;
  Row known = row;
  const bool sized = row[count] >= 0 && row[world] >= 0 && row[blocks] >= 0;
  for (int& value : known) value = std::max(value, 0);  // counts[0] is 0 and op[0] a sum: served
  if (!sized) known[count] = 0;
  return case_of(known, 0).refused();
}

/// Pairs that no row has yet.
class Pairs {
 public:
  Pairs() {
    for (int a = 0; a < kProperties; ++a)
      for (int b = 0; b < a; ++b)
        for (int x = 0; x < values(a); ++x)
          for (int y = 0; y < values(b); ++y) at(a, b, x, y) = 1, ++left_;
  }
  int left() const { return left_; }
  bool open(int a, int x, int b, int y) const { return a > b ? at(a, b, x, y) : at(b, a, y, x); }
  void close(const Row& row) {
    for (int a = 0; a < kProperties; ++a)
      for (int b = 0; b < a; ++b) close(a, row[a], b, row[b]);
  }
  void close(int a, int x, int b, int y) {
    char& pair = at(a, b, x, y);
    left_ -= pair;
    pair = 0;
  }
  /// The first open pair as a row whose other properties are not set.
  Row first() const {
    Row row;
    row.fill(-1);
    for (int a = 0; a < kProperties; ++a)
      for (int b = 0; b < a; ++b)
        for (int x = 0; x < values(a); ++x)
          for (int y = 0; y < values(b); ++y)
            if (at(a, b, x, y)) return row[a] = x, row[b] = y, row;
    return row;
  }

 private:
  static constexpr int kMost = 64;
  static std::size_t index(int a, int b, int x, int y) {
    return static_cast<std::size_t>(((a * kProperties + b) * kMost + x) * kMost + y);
  }
  char& at(int a, int b, int x, int y) { return open_[index(a, b, x, y)]; }
  bool at(int a, int b, int x, int y) const { return open_[index(a, b, x, y)]; }
  std::vector<char> open_ = std::vector<char>(index(kProperties, 0, 0, 0));
  int left_ = 0;
};

/// Greedy: each row starts from an open pair, then takes for one property after the other the value that closes most.
/// Rows that are refused come about only where a pair leaves no choice, and close no other pair.
std::vector<Row> covering_array() {
  std::mt19937 random(20260);
  Pairs pairs;
  std::vector<Row> rows;
  while (pairs.left() > 0) {
    const Row first = pairs.first();
    Row row = first;
    std::array<int, kProperties> order;
    for (int p = 0; p < kProperties; ++p) order[p] = p;
    for (int p = kProperties - 1; p > 0; --p) std::swap(order[p], order[random() % static_cast<unsigned>(p + 1)]);
    for (const int p : order) {
      if (row[p] >= 0) continue;
      int best = 0, most = -1;
      const int start = static_cast<int>(random() % static_cast<unsigned>(values(p)));
      for (int i = 0; i < values(p); ++i) {
        const int value = (start + i) % values(p);
        Row tried = row;
        tried[p] = value;
        int closes = refused(tried) ? 0 : 1;
        for (int q = 0; q < kProperties && closes > 0; ++q) closes += row[q] >= 0 && pairs.open(p, value, q, row[q]);
        if (closes > most) most = closes, best = value;
      }
      row[p] = best;
    }
    if (refused(row)) {
      int a = kProperties, b = kProperties;
      for (int p = 0; p < kProperties; ++p)
        if (first[p] >= 0) b = a, a = p;
      pairs.close(a, row[a], b, row[b]);
    } else {
      pairs.close(row);
    }
    rows.push_back(row);
  }
  return rows;
}

/// Makes the array's calls for this job's world, each on the communicator with its number of blocks.
void run_rows(Session& session) {
  std::vector<Communicator> comms;
  for (int b = 1; b <= 4; ++b) comms.push_back(session.communicator({.blocks = b}));
  test::Ground ground(comms[0], 1000016 * sizeof(double));
  const std::vector<Row> rows = covering_array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (kWorlds[rows[i][world]] != session.size()) continue;
    const Case c = case_of(rows[i], static_cast<unsigned>(i));
    test::try_case(comms[static_cast<std::size_t>(rows[i][blocks])], ground, c);
  }
}

TEST(CoveringArray, HasEveryPairAndFewRows) {
  const std::vector<Row> rows = covering_array();
  EXPECT_LT(rows.size(), 700u);
  for (int a = 0; a < kProperties; ++a)
    for (int b = 0; b < a; ++b)
      for (int x = 0; x < values(a); ++x)
        for (int y = 0; y < values(b); ++y)
          EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row[a] == x && row[b] == y; }))
              << "properties " << a << " and " << b << " never have " << x << " and " << y;
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, GiveWhatScalarCodeGivesInEveryRow) { test::on_threads(GetParam(), run_rows, 60); }

INSTANTIATE_TEST_SUITE_P(CoveringArray, Threads, testing::ValuesIn(kWorlds), testing::PrintToStringParamName());

TEST(Processes, GiveWhatScalarCodeGivesInEveryRow) {
  Session session({.backend = BackendKind::native, .timeout_s = 60});
  run_rows(session);
}

}  // namespace
}  // namespace tutti

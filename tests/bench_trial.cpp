// What a measured call gets to work on, and that a wrong result of any collective is counted on the rank that has it.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "bench/lineup.hpp"
#include "bench/race.hpp"
#include "bench/trial.hpp"

namespace tutti::bench {
namespace {

constexpr int kRanks = 3;

// One collective among ranks of one thread, done by copies between their buffers.
class Ensemble {
 public:
  Ensemble(Operation operation, int root, bool in_place, const Communicator* device) : access(copy_through(device)) {
    Case shape;
    shape.operation = operation;
    shape.ranks = kRanks;
    shape.type = DataType::i32;
    shape.op = ReduceOp::sum;
    shape.root = root;
    shape.in_place = in_place;
    c = case_of(kRanks * 4 * 50, shape);
    for (int r = 0; r < kRanks; ++r) {
      in.emplace_back(c.in_count() * 4);
      out.emplace_back(c.out_count() * 4);
      trials.emplace_back(c, r, access);
    }
    for (int r = 0; r < kRanks; ++r)
      buffers.push_back(
          place_buffers(c, r, in[static_cast<std::size_t>(r)].data(), out[static_cast<std::size_t>(r)].data()));
  }

  Ensemble(const Ensemble&) = delete;  // the trials refer to `access`

  void run() {
    const std::size_t part = c.count * 4;
    std::vector<std::vector<std::byte>> given;
    for (const Buffers& b : buffers) given.emplace_back(b.in, b.in + c.in_count() * 4);
    for (int r = 0; r < kRanks; ++r) {
      const auto rank = static_cast<std::size_t>(r);
      std::byte* const to = buffers[rank].out;
      if (!c.has_out(r)) continue;
      if (c.reduces()) {
        for (std::size_t i = 0; i < c.count; ++i) {
          std::int32_t sum = 0, x = 0;
          for (const auto& of : given) {
            std::memcpy(&x, of.data() + (c.spreads_in() ? rank * part : 0) + i * 4, 4);
            sum += x;
          }
          std::memcpy(to + i * 4, &sum, 4);
        }
      } else if (c.spreads_out()) {
        for (std::size_t s = 0; s < kRanks; ++s)
          std::memcpy(to + s * part, given[s].data() + (c.spreads_in() ? rank * part : 0), part);
      } else if (c.is(Operation::send_recv)) {
        if ((rank ^ 1) < kRanks) std::memcpy(to, given[rank ^ 1].data(), part);
      } else {
        const auto root = static_cast<std::size_t>(c.root);
        std::memcpy(to, given[root].data() + (c.spreads_in() ? rank * part : 0), part);
      }
    }
  }

  Case c;
  HostAccess access;
  std::vector<std::vector<std::byte>> in, out;
  std::vector<Trial> trials;
  std::vector<Buffers> buffers;
};

// Each collective, with every root, in place and not, with buffers that the host reaches, and with ones that it reaches
// by a communicator's copy, as on a GPU.
template <class F>
void for_all_ensembles(F&& test) {
  Session session;
  const Communicator copier = session.communicator();
  for (int operation = 0; operation < kOperations; ++operation)
    for (int root = 0; root < kRanks; ++root)
      for (bool in_place : {false, true}) {
        const Case shape{.operation = static_cast<Operation>(operation)};
        if (shape.is(Operation::barrier) || (in_place && !shape.has_places()) || (root > 0 && !shape.rooted()))
          continue;
        for (const Communicator* device : {static_cast<const Communicator*>(nullptr), &copier}) {
          SCOPED_TRACE(std::string(name_of(shape.operation)) + ", root " + std::to_string(root) +
                       (in_place ? ", in place" : ", out of place") + (device ? ", copied" : ""));
          test(Ensemble(shape.operation, root, in_place, device));
        }
      }
}

TEST(Trial, FindsNothingWrongWithARightCallOfAnyCollective) {
  for_all_ensembles([](Ensemble e) {
    for (std::size_t r = 0; r < kRanks; ++r) e.trials[r].prepare_distinct(e.buffers[r]);
    e.run();
    for (std::size_t r = 0; r < kRanks; ++r) EXPECT_EQ(e.trials[r].check_distinct(e.buffers[r]), 0u) << "rank " << r;
    for (std::size_t index : {0u, 17u}) {
      for (std::size_t r = 0; r < kRanks; ++r) e.trials[r].prepare(e.buffers[r], index);
      e.run();
      for (std::size_t r = 0; r < kRanks; ++r)
        EXPECT_EQ(e.trials[r].check(e.buffers[r], index), 0u) << "rank " << r << " index " << index;
    }
  });
}

TEST(Trial, CountsEachWrongElementOfAResult) {
  for_all_ensembles([](Ensemble e) {
    for (bool distinct : {true, false}) {
      for (std::size_t r = 0; r < kRanks; ++r)
        distinct ? e.trials[r].prepare_distinct(e.buffers[r]) : e.trials[r].prepare(e.buffers[r], 5);
      e.run();
      for (std::size_t r = 0; r < kRanks; ++r) {
        const bool gets = e.c.has_out(static_cast<int>(r)) && (!e.c.is(Operation::send_recv) || (r ^ 1) < kRanks);
        if (!gets) continue;
        for (std::size_t at : {std::size_t{0}, e.c.out_count() - 1}) e.buffers[r].out[at * 4] ^= std::byte{64};
        EXPECT_EQ(distinct ? e.trials[r].check_distinct(e.buffers[r]) : e.trials[r].check(e.buffers[r], 5), 2u)
            << "rank " << r << (distinct ? ", distinct" : ", constant");
      }
    }
  });
}

TEST(Trial, CountsACallThatDidNothingAsWrongOnEveryRankThatWaitsForAResult) {
  for_all_ensembles([](Ensemble e) {
    for (std::size_t r = 0; r < kRanks; ++r) e.trials[r].prepare_distinct(e.buffers[r]);
    for (std::size_t r = 0; r < kRanks; ++r) {
      const bool waits = e.c.has_out(static_cast<int>(r)) && (!e.c.is(Operation::send_recv) || (r ^ 1) < kRanks);
      // A root in place, or of a broadcast, has its own part already.
      const bool has_it = static_cast<int>(r) == e.c.root &&
                          (e.c.is(Operation::broadcast) || (e.c.in_place && e.c.is(Operation::scatter)));
      if (!waits || has_it) continue;
      EXPECT_GT(e.trials[r].check_distinct(e.buffers[r]), 0u) << "rank " << r;
    }
  });
}

TEST(Trial, NoticesADamagedInputAndAnOutputWrittenWhereThereIsNone) {
  for_all_ensembles([](Ensemble e) {
    for (std::size_t r = 0; r < kRanks; ++r) e.trials[r].prepare_distinct(e.buffers[r]);
    e.run();
    for (std::size_t r = 0; r < kRanks; ++r) {
      const int rank = static_cast<int>(r);
      const bool apart = !e.c.in_place && !e.c.is(Operation::broadcast);
      const bool sole = e.c.is(Operation::send_recv) && (r ^ 1) >= kRanks;  // nobody sends to it, or receives of it
      if (e.c.has_in(rank) && apart && !sole) {
        e.buffers[r].in[4] ^= std::byte{1};
        EXPECT_EQ(e.trials[r].check_distinct(e.buffers[r]), 1u) << "input of rank " << r;
        e.buffers[r].in[4] ^= std::byte{1};
      }
      if (!e.c.has_out(rank) && apart) {
        e.buffers[r].out[8] ^= std::byte{1};
        EXPECT_EQ(e.trials[r].check_distinct(e.buffers[r]), 1u) << "output of rank " << r;
      }
    }
  });
}

}  // namespace
}  // namespace tutti::bench

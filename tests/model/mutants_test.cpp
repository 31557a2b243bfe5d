// Every word of every kernel is there for something: a rank that leaves it out, waits for one signal too few or takes
// another's lane is found out, or is listed here with the reason why it does no harm.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <tuple>

#include "tests/model/calls.hpp"

namespace tutti::model {
namespace {

/// What one rank does wrong, in every call.
struct Mutation {
  enum class Kind { omits, waits_short, shares_lane };
  Kind kind = Kind::omits;
  int rank = -1;
  Word word = Word::wait;
  Purpose purpose = Purpose::data;  ///< of signal, wait and advance
};
using Kind = Mutation::Kind;
constexpr Mutation kNone{};

std::string text_of(const Mutation& m) {
  constexpr const char* purposes[kPurposes] = {"data", "credit", "enter", "leave", "p2p_data", "p2p_credit"};
  std::string text = "rank " + std::to_string(m.rank);
  if (m.kind == Kind::shares_lane) return text.append(" takes the first lane for another");
  text.append(m.kind == Kind::omits ? " omits " : " waits for one too few of ").append(name_of(m.word));
  return text.append(" ").append(purposes[static_cast<int>(m.purpose)]);
}

/// What the words of the rank are to do.
Verdict verdict_of(const Mutation& m, const WordAt& at) {
  if (at.rank != m.rank) return {};
  const bool lane = at.word == Word::lane_to || at.word == Word::lane_from;
  if (lane) return {.lane = m.kind == Kind::shares_lane ? 0 : -1};
  const bool its = at.word == m.word && at.flags.purpose == m.purpose;
  return {.nothing = its && m.kind == Kind::omits, .less = its && m.kind == Kind::waits_short ? 1 : 0};
}

struct Setting {
  Case c;
  int ranks = 3;
  bool tags_repeat = false;  ///< of packets, before the second call
};

std::string text_of(const Setting& s) {
  return text_of(s.c).append(", ranks ").append(std::to_string(s.ranks)).append(s.tags_repeat ? ", tags repeat" : "");
}

/// Who used which words, and lanes other than the first.
struct Seen {
  std::set<std::tuple<int, Word, Purpose>> words;
  std::set<int> lanes;
};

/// A kernel's call, or, of a barrier, words whose order it alone ensures: each rank writes its cell, then reads all.
/// Its own memory has a line for what it writes, and one for each cell.
void run_mutant(ModelBlock& block, Kernel kernel, const Call& call, const std::vector<char*>& cells, char* own) {
  if (shape_of(kernel) != Shape::nothing) return run_kernel(kernel, block, call);
  const auto at = [&](int rank) { return cells[static_cast<std::size_t>(rank)]; };
  block.copy(one(at(block.rank())), own, kLine);
  run_kernel(kernel, block, call);
  for (int r = 0; r < block.size(); ++r) block.copy(one(own + static_cast<std::size_t>(r + 1) * kLine), at(r), kLine);
  run_kernel(kernel, block, call);
}

/// What the model says of one schedule of some calls, or what is wrong in their results; nothing if all is well.
std::string said_of(const Setting& setting, const Mutation& mutation, std::uint64_t seed, Seen* seen = nullptr) {
  const Case& c = setting.c;
  Model model(tight_geometry(setting.ranks, c.blocks, kLeastSlots), seed);
  Buffers buffers(model, buffer_bytes({c}, setting.ranks));
  const int cells_segment = model.allocate_segment(kLine);
  std::vector<char*> cells, own;
  for (int r = 0; r < setting.ranks; ++r) {
    cells.push_back(model.segment(cells_segment, r));
    own.push_back(model.allocate(r, kLine * static_cast<std::size_t>(1 + setting.ranks)));
  }
  if (setting.tags_repeat) model.set_uses(Region::packets, (std::uint64_t{1} << 32) - 2);
  model.hook([&](const WordAt& at) {
    const bool lane = at.word == Word::lane_to || at.word == Word::lane_from;
    if (seen && !lane) seen->words.insert({at.rank, at.word, at.flags.purpose});
    if (seen && lane && at.lane.index > 0) seen->lanes.insert(at.rank);
    return verdict_of(mutation, at);
  });
  std::string wrong;
  model.run([&](ModelRank& me) {
    me.write(own[static_cast<std::size_t>(me.rank())], kLine);
    for (std::uint64_t call = 0; call < 3; ++call) {
      Case mine = c;
      mine.salt += call * 9;
      if (c.shape() == Shape::message && me.rank() != c.root && me.rank() != c.to) return;
      if (c.shape() == Shape::message && me.rank() == c.to) mine.kernel = Kernel::recv;
      Op op = buffers.prepare(mine, me.rank());
      op.body = [&, kernel = mine.kernel](ModelBlock& block, const Call& its) {
        run_mutant(block, kernel, its, cells, own[static_cast<std::size_t>(me.rank())]);
      };
      me.call({op});
      const std::string mismatch = buffers.wrong_in(mine, me.rank());
      if (wrong.empty()) wrong = mismatch;
    }
  });
  return model.report() + wrong;
}

/// Slices enough that every slot is used again.
std::vector<Setting> settings_of(Kernel kernel, int ranks) {
  std::vector<Setting> settings;
  const Geometry g = tight_geometry(ranks, 1, kLeastSlots);
  std::size_t bytes = 5 * g.slot_bytes;
  if (by_packets(kernel)) bytes = 200;
  if (shape_of(kernel) == Shape::message) bytes = 5 * g.p2p_slot_bytes;
  if (shape_of(kernel) == Shape::nothing) bytes = 0;
  for (const Mapped mapped : {Mapped::all, Mapped::none}) {
    Setting s;
    s.ranks = ranks;
    s.c = {.kernel = kernel,
           .count = bytes / size_of(DataType::i32),
           .type = DataType::i32,
           .root = 1,
           .to = 2,
           .blocks = kernel == Kernel::tree_all_reduce ? 2 : 1,  // one for each tree
           .mapped = mapped,
           .salt = 1};
    settings.push_back(s);
    s.tags_repeat = true;
    if (by_packets(kernel) && mapped == Mapped::none) settings.push_back(s);
  }
  return settings;
}

std::vector<Mutation> mutations_of(const Setting& setting) {
  Seen seen;
  EXPECT_EQ(said_of(setting, kNone, 0, &seen), "") << text_of(setting);
  std::vector<Mutation> all;
  for (const auto& [rank, word, purpose] : seen.words) {
    // What comes with tags that repeat.
    if (setting.tags_repeat && word != Word::leave && word != Word::wipe_packets) continue;
    // Of a barrier's test, not of the barrier.
    if (setting.c.shape() == Shape::nothing && word == Word::copy) continue;
    all.push_back({Kind::omits, rank, word, purpose});
    if (word == Word::wait) all.push_back({Kind::waits_short, rank, word, purpose});
  }
  for (const int rank : seen.lanes) all.push_back({.kind = Kind::shares_lane, .rank = rank});
  return all;
}

/// Why nothing can be found, if so.
const char* why_harmless(const Setting& s, const Mutation& m) {
  const Kernel kernel = s.c.kernel;
  const bool mapped = s.c.mapped == Mapped::all, few = s.ranks <= kLeastSlots;
  if (m.word == Word::wipe_packets) return "one tag a message, as on CPUs, is overwritten long before it repeats";
  if (m.word != Word::wait || m.purpose != Purpose::credit || m.kind == Kind::shares_lane) return nullptr;
  switch (kernel) {
    case Kernel::ring_all_gather:
      if (mapped) return "no slot is filled";
      [[fallthrough]];
    case Kernel::ring_reduce_scatter: return few ? "what comes round the ring says as much" : nullptr;
    case Kernel::ring_all_reduce:
      // Mapped, only the first half of the way goes through slots.
      return few || (mapped && s.ranks == kLeastSlots + 1) ? "what comes round the ring says as much" : nullptr;
    case Kernel::ring_broadcast:
    case Kernel::tree_broadcast: return mapped ? "no slot is filled" : nullptr;
    case Kernel::pairwise_all_to_all:
      if (mapped) return "no slot is filled";
      return few ? "at each step it is a ring, and what comes round says as much" : nullptr;
    case Kernel::bruck_all_gather: return "each round brings news, through others, of every rank's round before";
    case Kernel::direct_reduce_scatter:
    case Kernel::direct_all_gather:
    case Kernel::direct_all_to_all: return mapped ? nullptr : "each round waits for data of all, sent after they read";
    case Kernel::recursive_doubling_all_reduce:
    case Kernel::halving_doubling_all_reduce: return "the partner's next data, sent after it read, says as much";
    case Kernel::two_shot_all_reduce:
      if (m.kind == Kind::waits_short) return "credits come in twos, so one less is the same signal";
      return m.rank == 0 ? "rank 0's sums stand where it gives nobody a slice" : nullptr;
    default: return nullptr;
  }
}

class MutantsOf : public testing::TestWithParam<int> {};

TEST_P(MutantsOf, EveryKernelAreFoundOrHarmless) {
  const int ranks = GetParam();
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv) continue;  // the other end of a send
    for (const Setting& setting : settings_of(kernel, ranks)) {
      const std::vector<Mutation> mutations = mutations_of(setting);
      EXPECT_GE(mutations.size(), static_cast<std::size_t>(shape_of(kernel) == Shape::message ? 2 : ranks));
      for (const Mutation& m : mutations) {
        const char* const harmless = why_harmless(setting, m);
        std::string said;
        for (std::uint64_t seed = 0; seed < (harmless ? 4 : 50) && said.empty(); ++seed)
          said = said_of(setting, m, seed);
        if (harmless)
          EXPECT_EQ(said, "") << text_of(setting) << ": " << text_of(m) << ", listed as harmless: " << harmless;
        else
          EXPECT_NE(said, "") << text_of(setting) << ": " << text_of(m);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, MutantsOf, testing::Range(3, kReduced ? 4 : 6));

}  // namespace
}  // namespace tutti::model

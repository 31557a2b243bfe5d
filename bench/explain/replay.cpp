#include "bench/explain/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <tuple>

#include "bench/arguments.hpp"
#include "bench/explain/inputs.hpp"
#include "bench/explain/words.hpp"

namespace tutti::explain {
namespace {

using model::Word;
using timed::At;
using timed::Event;

constexpr At::Kind kRowKinds[] = {At::Kind::in,     At::Kind::out,     At::Kind::inbox,
                                  At::Kind::outbox, At::Kind::packets, At::Kind::message};

/// Where a cell begins, in the order in which a row shows them; of buffers the block does not count.
struct Spot {
  int block = 0, sender = 0, slot = 0;
  std::size_t offset = 0;
  auto operator<=>(const Spot&) const = default;
};

bool is_buffer(At::Kind kind) { return kind == At::Kind::in || kind == At::Kind::out; }

/// A part of a word: the sum, or a copy, of `from` goes to each of `to`.
struct Part {
  bool adds = false;
  std::vector<At> from, to;
};

std::vector<Part> parts_of(const Event& event) {
  std::vector<Part> parts;
  if (event.bytes == 0 || event.from.empty() || event.to.empty()) return parts;
  switch (event.word) {
    case Word::copy: parts.push_back({false, event.from, event.to}); break;
    case Word::reduce:
    case Word::reduce_packets: parts.push_back({true, event.from, event.to}); break;
    case Word::put_packets:
    case Word::get_packets:
      for (std::size_t i = 0; i < event.to.size(); ++i) {
        const At& from = event.from[std::min(i, event.from.size() - 1)];
        const bool again =
            !parts.empty() && event.word == Word::put_packets && parts.back().from[0].offset == from.offset;
        if (!again) parts.push_back({false, {from}, {}});
        parts.back().to.push_back(event.to[i]);
      }
      break;
    default: break;
  }
  return parts;
}

class Player {
 public:
  Player(const Recording& recording, const Chains& chains) : r_(recording), chains_(chains) {
    find_spots();
    make_rows();
    find_moves();
    play();
    compare();
  }
  Replay replay() && { return std::move(replay_); }

 private:
  using Key = std::pair<int, At::Kind>;  // rank, kind

  std::size_t cell() const { return r_.subject.cell_bytes; }

  Spot spot(const Event& event, const At& at, std::size_t offset) const {
    if (is_buffer(at.kind)) return {.offset = offset};
    return {event.block, at.sender, at.slot, offset};
  }

  /// Slots have the cells that some word touched.
  void find_spots() {
    for (int rank = 0; rank < r_.subject.ranks; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      for (const auto& [kind, buffer] : {std::pair{At::Kind::in, &r_.in[i]}, {At::Kind::out, &r_.out[i]}})
        for (std::size_t c = 0; buffer->used && c < buffer->before.size() / r_.cell_elements(); ++c)
          spots_[{rank, kind}].insert({.offset = c * cell()});
    }
    for (const Event& event : r_.trace)
      for (const Part& part : parts_of(event)) {
        if (event.bytes % cell() != 0) cut(event);
        for (const auto* places : {&part.from, &part.to})
          for (const At& at : *places) {
            if (at.kind == At::Kind::elsewhere)
              throw std::logic_error("a word in the trace moves what is in no buffer");
            for (std::size_t o = 0; o < event.bytes && !is_buffer(at.kind); o += cell())
              spots_[{at.rank, at.kind}].insert(spot(event, at, at.offset + o));
          }
      }
    for (const auto& [key, spots] : spots_)
      for (auto at = spots.begin(); at != spots.end(); ++at) {
        const auto next = std::next(at);
        if (next != spots.end() &&
            std::tie(at->block, at->sender, at->slot) == std::tie(next->block, next->sender, next->slot) &&
            next->offset - at->offset < cell())
          throw bench::ArgumentError("messages of this call overlap in a slot: use fewer cells");
      }
  }

  [[noreturn]] void cut(const Event& event) const {
    throw bench::ArgumentError(
        fmt::format("{} moves {} bytes at once, no whole number of cells of {} bytes: use --cell {}, "
                    "or cells that blocks and ranks divide",
                    name_of(r_.plan.kernel), event.bytes, cell(), kLine));
  }

  void make_rows() {
    for (int rank = 0; rank < r_.subject.ranks; ++rank)
      for (const At::Kind kind : kRowKinds) {
        const auto found = spots_.find({rank, kind});
        if (found == spots_.end()) continue;
        Row row;
        row.kind = kind == At::Kind::in ? Row::Kind::in : kind == At::Kind::out ? Row::Kind::out : Row::Kind::slot;
        row.rank = rank;
        row.label = label_of(kind);
        row.cells.resize(found->second.size());
        if (kind == At::Kind::in)
          for (std::size_t c = 0; c < row.cells.size(); ++c) row.cells[c] = input_cell(r_, rank, static_cast<int>(c));
        if (kind == At::Kind::out) row.expected = expected(r_, rank);
        row.parts = parts_of_row(kind, found->second);
        row_of_[{rank, kind}] = static_cast<int>(replay_.rows.size());
        replay_.rows.push_back(std::move(row));
      }
  }

  std::vector<int> parts_of_row(At::Kind kind, const std::set<Spot>& spots) const {
    std::vector<int> parts;
    const bool chunked = kind == At::Kind::in ? r_.request.spreads_in() : r_.request.spreads_out();
    int c = 0;
    Spot last;
    for (const Spot& at : spots) {
      const bool other_slot = at.block != last.block || at.sender != last.sender || at.slot != last.slot ||
                              at.offset != last.offset + cell();
      const bool begins = is_buffer(kind) ? chunked && c % r_.subject.cells == 0 : other_slot;
      if (c > 0 && begins) parts.push_back(c);
      last = at;
      ++c;
    }
    return parts;
  }

  Cells cells(const Event& event, const At& at) const {
    const auto found = spots_.find({at.rank, at.kind});
    const auto first =
        found == spots_.end() ? std::set<Spot>::iterator{} : found->second.find(spot(event, at, at.offset));
    if (found == spots_.end() || first == found->second.end()) cut(event);
    const auto number = static_cast<int>(std::distance(found->second.begin(), first));
    const auto count = static_cast<int>(event.bytes / cell());
    if (static_cast<std::size_t>(number + count) > found->second.size()) cut(event);
    return {row_of_.at({at.rank, at.kind}), number, count};
  }

  void find_moves() {
    std::vector<double> sent(static_cast<std::size_t>(r_.subject.ranks)), received = sent;
    const auto cross = [&](int from, int to, std::size_t bytes) {
      if (from == to) return;
      sent[static_cast<std::size_t>(from)] += static_cast<double>(bytes);
      received[static_cast<std::size_t>(to)] += static_cast<double>(bytes);
    };
    for (std::size_t i = 0; i < r_.trace.size(); ++i) {
      const Event& event = r_.trace[i];
      const bool waits = event.word == Word::get_packets || event.word == Word::reduce_packets;
      for (const Part& part : parts_of(event)) {
        Move move;
        move.event = i;
        move.before = waits ? chains_.after[i] : chains_.before[i];
        Action& action = move.action;
        action.kind = part.adds ? Action::Kind::add : Action::Kind::copy;
        action.rank = event.rank;
        action.block = event.block;
        action.begin = waits ? arrival_of_packets(i) : event.begin;
        action.end = std::max(event.end, event.arrived);
        for (const At& at : part.from) {
          action.from.push_back(cells(event, at));
          cross(at.rank, event.rank, event.bytes);
        }
        for (const At& at : part.to) {
          action.to.push_back(cells(event, at));
          cross(event.rank, at.rank, event.bytes);
        }
        replay_.moves.push_back(std::move(move));
      }
    }
    for (const auto* each : {&sent, &received})
      replay_.most_bytes = std::max(replay_.most_bytes, *std::max_element(each->begin(), each->end()));
    std::stable_sort(replay_.moves.begin(), replay_.moves.end(), [](const Move& a, const Move& b) {
      return std::tie(a.before, a.action.begin) < std::tie(b.before, b.action.begin);
    });
  }

  /// When the last packets that event `i` waits for were there.
  double arrival_of_packets(std::size_t i) const {
    double last = r_.trace[i].begin;
    for (const Told& told : chains_.told)
      if (told.heard_by == static_cast<int>(i)) last = std::max(last, told.message.arrived);
    return std::min(last, r_.trace[i].end);
  }

  Cell sum(const std::vector<Cell>& terms) {
    Cell total = terms.front();
    auto value = static_cast<float>(total.value);
    for (std::size_t t = 1; t < terms.size(); ++t) {
      if (total.empty() || terms[t].empty() || total.index != terms[t].index)
        note("cells are added that do not belong together");
      if ((total.ranks & terms[t].ranks) != 0) note("a rank's contribution is added twice");
      value = combined(r_.subject.op, value, static_cast<float>(terms[t].value));
      total.ranks |= terms[t].ranks;
    }
    // The contract of Reduction: who adds the last contribution divides.
    if (r_.subject.op == ReduceOp::avg && total.ranks == everyone(r_)) value /= static_cast<float>(r_.subject.ranks);
    total.value = value;
    return total;
  }

  void play() {
    std::vector<std::vector<Cell>> now;
    for (const Row& row : replay_.rows) now.push_back(row.cells);
    const auto at = [&](const Cells& cells, int i) -> Cell& {
      return now[static_cast<std::size_t>(cells.row)][static_cast<std::size_t>(cells.first + i)];
    };
    for (const Move& move : replay_.moves) {
      const Action& action = move.action;
      for (int i = 0; i < action.from.front().count; ++i) {
        std::vector<Cell> terms;
        for (const Cells& from : action.from) terms.push_back(at(from, i));
        if (terms.front().empty()) note("a cell is read that nothing was written to");
        const Cell result = action.kind == Action::Kind::add ? sum(terms) : terms.front();
        for (const Cells& to : action.to) at(to, i) = result;
      }
      replay_.after[move.before] = now;
    }
    end_ = now;
  }

  /// The cells at the end against the memory after the run, bit for bit, and against the definition.
  void compare() {
    for (std::size_t i = 0; i < replay_.rows.size(); ++i) {
      const Row& row = replay_.rows[i];
      if (row.kind == Row::Kind::slot) continue;
      const auto rank = static_cast<std::size_t>(row.rank);
      const Buffer& buffer = row.kind == Row::Kind::in ? r_.in[rank] : r_.out[rank];
      for (std::size_t e = 0; e < buffer.after.size(); ++e) {
        const Cell& cell = end_[i][e / r_.cell_elements()];
        const float held = cell.empty() ? buffer.before[e] : static_cast<float>(cell.value);
        if (std::memcmp(&held, &buffer.after[e], sizeof held) == 0) continue;
        note(fmt::format("rank {} {} element {}: the replay has {}, the memory {}", row.rank, row.label, e, held,
                         buffer.after[e]));
        break;
      }
      if (row.kind == Row::Kind::out && end_[i] != row.expected)
        note(fmt::format("rank {} does not hold what it should", row.rank));
    }
  }

  void note(const std::string& what) {
    if (replay_.wrong.empty()) replay_.wrong = what;
  }

  const Recording& r_;
  const Chains& chains_;
  std::map<Key, std::set<Spot>> spots_;
  std::map<Key, int> row_of_;
  Replay replay_;
  std::vector<std::vector<Cell>> end_;
};

}  // namespace

Replay replay(const Recording& recording, const Chains& chains) { return Player(recording, chains).replay(); }

}  // namespace tutti::explain

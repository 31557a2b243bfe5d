#include "tests/model/mutant_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/block_model.hpp"

namespace tutti::mutants {
namespace {

using cases::Case;
using cases::Mapped;
using cases::Shape;
using cases::shape_of;
using model::Model;
using model::ModelRank;

/// Accesses whose order a barrier alone ensures: each block writes its cell, then reads those of the same blocks of all
/// ranks. Memory for them: a line for each block.
class Cells {
 public:
  Cells(Model& model, int blocks) : bytes_(static_cast<std::size_t>(blocks) * kLine) {
    const int cells = model.allocate_segment(bytes_);
    for (int r = 0; r < model.geometry().ranks; ++r) {
      cells_.push_back(model.segment(cells, r));
      in_.push_back(model.allocate(r, bytes_));
      out_.push_back(model.allocate(r, bytes_ * static_cast<std::size_t>(model.geometry().ranks)));
    }
  }
  /// What the caller gives, and gets.
  void lend(cases::Prepared& prepared, int rank) const {
    prepared.call.in = in_[static_cast<std::size_t>(rank)];
    prepared.call.out = out_[static_cast<std::size_t>(rank)];
    prepared.in_bytes = bytes_;
    prepared.out_bytes = bytes_ * in_.size();
  }
  void run(ModelBlock& block, Kernel kernel, const Call& call) const {
    const std::size_t at = static_cast<std::size_t>(block.index()) * kLine;
    block.copy(one(cells_[static_cast<std::size_t>(block.rank())] + at), call.in + at, kLine);
    run_kernel(kernel, block, call);
    for (std::size_t r = 0; r < cells_.size(); ++r) block.copy(one(call.out + r * bytes_ + at), cells_[r] + at, kLine);
    run_kernel(kernel, block, call);
  }

 private:
  std::size_t bytes_;
  std::vector<char*> cells_, in_, out_;  // [rank]
};

/// The most messages of one call from one rank to another.
Count most_messages(const Setting& setting) {
  Count most = 0;
  run_once(setting, 0, [&](const WordAt& at) {
    if (at.word == Word::signal && (at.flags.purpose == Purpose::data || at.flags.purpose == Purpose::p2p_data))
      most = std::max(most, at.count);
    return Verdict{};
  });
  return most;
}

/// Elements that fill each slot of each connection three times.
std::size_t count_of(Case c, int ranks, int slots) {
  if (by_packets(c.kernel) || c.shape() == Shape::nothing) return 0;
  c.mapped = Mapped::none;
  const Count messages = 2 * (c.shape() == Shape::message ? slots - 1 : slots) + 1;
  constexpr std::size_t kMost = std::size_t{1} << 18;
  for (c.count = 256; c.count < kMost; c.count += c.count / 2)
    if (most_messages({.calls = {c}, .ranks = ranks, .blocks = c.blocks, .slots = slots}) >= messages) return c.count;
  throw std::logic_error(fmt::format("{}: no count fills its slots", cases::text_of(c)));
}

/// Two short calls that use the inbox, or the outbox, as nobody else does: other peers, other lanes.
std::vector<Case> others(int turn, const Case& like, int ranks) {
  constexpr Kernel kPairs[][2] = {{Kernel::direct_reduce, Kernel::direct_gather},
                                  {Kernel::tree_reduce, Kernel::ring_reduce},
                                  {Kernel::direct_gather, Kernel::direct_broadcast},
                                  {Kernel::tree_gather, Kernel::pairwise_all_to_all}};
  std::vector<Case> calls;
  for (const Kernel kernel : kPairs[turn % 4]) {
    Case c = like;
    c.kernel = kernel;
    c.count = 64 * static_cast<std::size_t>(like.blocks);
    c.mapped = Mapped::none;
    c.root = (turn + static_cast<int>(calls.size()) * 2) % ranks;
    calls.push_back(c);
  }
  return calls;
}

/// Three calls of the kernel, at other roots each if it has any; `mixed`: with others in between. Three messages from
/// each rank; `mixed`: two, each behind as many small ones as there are slots.
Setting setting_of(Kernel kernel, int ranks, Mapped mapped, bool mixed, int turn) {
  Setting s;
  s.ranks = ranks;
  s.slots = cases::kLeastSlots + turn % 4 / 3;
  Case c{.kernel = kernel, .type = DataType::i32, .mapped = mapped, .salt = static_cast<std::uint64_t>(turn) + 1};
  c.root = (1 + turn) % ranks;
  c.to = (c.root + 1 + turn % (ranks - 1)) % ranks;
  c.blocks = kernel == Kernel::tree_all_reduce ? 2 : 1 + turn % 3;  // one for each tree
  s.blocks = c.blocks;
  c.count = count_of(c, ranks, s.slots);
  if (by_packets(kernel)) c.count = turn % 2 == 0 ? 50 : 10;  // behind the line of the tag, and in it
  for (int from = 0; c.shape() == Shape::message && from < ranks; ++from) {
    c.to = (from + c.to - c.root + ranks) % ranks;
    c.root = from;
    Case small = c;
    small.count = 10;
    for (int i = 0; i < (mixed ? 2 : 3); ++i) {
      if (mixed) s.calls.insert(s.calls.end(), static_cast<std::size_t>(s.slots) - 1, small);
      s.calls.push_back(c);
    }
  }
  for (int i = 0; i < 3 && c.shape() != Shape::message; ++i) {
    if (mixed && i > 0)
      for (const Case& other : others(turn + i, c, ranks)) s.calls.push_back(other);
    s.calls.push_back(c);
    if (c.rooted()) c.root = (c.root + 1) % ranks;
  }
  for (std::size_t i = 0; i < s.calls.size(); ++i) s.calls[i].salt += i * 9;
  return s;
}

}  // namespace

std::string text_of(const Setting& s) {
  std::string text = fmt::format("{} ranks, {} slots{}", s.ranks, s.slots, s.tags_repeat ? ", tags repeat" : "");
  if (s.stranger >= 0) text += fmt::format(", rank {} a stranger", s.stranger);
  for (const Case& c : s.calls) text += "; " + cases::text_of(c);
  return text;
}

std::vector<Setting> settings_of(Kernel kernel) {
  std::vector<Setting> settings;
  int turn = 0;
  const auto add = [&](int ranks, Mapped mapped, bool mixed) {
    settings.push_back(setting_of(kernel, ranks, mapped, mixed, turn++));
  };
  for (const int ranks : {3, 5, 4}) {
    add(ranks, Mapped::none, false);
    add(ranks, cases::best_for(kernel), false);
    add(ranks, Mapped::none, true);
    if (by_packets(kernel)) {
      settings.push_back(settings[settings.size() - 3]);
      settings.back().tags_repeat = true;
    }
  }
  if (kernel != Kernel::dissemination_barrier) {  // it knows of no calls
    for (const Mapped mapped : {Mapped::none, Mapped::all}) {
      Setting s = setting_of(kernel, 3, mapped, false, turn++);
      s.calls.resize(1);
      s.stranger = s.calls[0].to;
      settings.push_back(s);
    }
  }
  // What lies under only some ranks, corners and places of larger trees.
  for (const int ranks : {8, 2, 6}) {
    add(ranks, Mapped::none, false);
    add(ranks == 8 ? 3 : ranks, Mapped::pulled, false);
    add(ranks, Mapped::all_but_one, true);
    add(ranks, Mapped::all, true);
  }
  return settings;
}

Found run_once(const Setting& setting, std::uint64_t seed, const Hook& hook) {
  Model model(cases::tight_geometry(setting.ranks, setting.blocks, setting.slots), seed);
  cases::CaseBuffers<Model> buffers(model, cases::buffer_bytes(setting.calls, setting.ranks));
  const Cells cells(model, setting.blocks);
  if (setting.tags_repeat) model.set_uses(Region::packets, (std::uint64_t{1} << 32) - 2);
  model.hook(hook);
  std::string wrong;
  model.run([&](ModelRank& me) {
    for (Case c : setting.calls) {
      if (c.shape() == Shape::message && me.rank() != c.root && me.rank() != c.to) {
        me.call({});  // so that calls have one number everywhere
        continue;
      }
      if (c.shape() == Shape::message && me.rank() == c.to) c.kernel = Kernel::recv;
      const bool strange = me.rank() == setting.stranger;
      if (strange && c.count > 0) --c.count;
      cases::Prepared p = buffers.prepare(c, me.rank());
      const bool is_barrier = c.shape() == Shape::nothing;
      if (is_barrier) cells.lend(p, me.rank());
      if (is_barrier && strange) p.call.count = 1;
      model::Op op = model::run(c.kernel, p.call, c.blocks, p.in_bytes, p.out_bytes);
      if (is_barrier)
        op.body = [&, kernel = c.kernel](ModelBlock& block, const Call& its) { cells.run(block, kernel, its); };
      me.call({op});
      const std::string mismatch = buffers.wrong_in(c, me.rank());
      if (wrong.empty()) wrong = mismatch;
    }
  });
  if (!model.findings().empty()) return {model::name_of(model.findings()[0].defect), model.report() + wrong};
  if (setting.stranger >= 0) return {model.failures().empty() ? "mismatch not noticed" : "", wrong};
  if (!model.failures().empty()) return {"failed", model.report() + wrong};
  return {wrong.empty() ? "" : "wrong result", wrong};
}

void Ways::add(const Ways& other) {
  calls |= other.calls;
  first_lane |= other.first_lane;
  other_lane |= other.other_lane;
  purpose = other.purpose;
}

Seen seen_in(const Setting& setting) {
  Seen seen;
  const Found found = run_once(setting, 0, [&](const WordAt& at) {
    const bool lanes = at.lane.of > 1;
    seen[{at.kernel, at.file, at.line, at.word}][at.rank].add({.calls = std::uint64_t{1} << at.call,
                                                               .first_lane = lanes && at.lane.index == 0,
                                                               .other_lane = at.lane.index > 0,
                                                               .purpose = at.flags.purpose});
    return Verdict{};
  });
  if (found) throw std::logic_error(fmt::format("{}: {}", text_of(setting), found.text));
  return seen;
}

}  // namespace tutti::mutants

#include "tests/emulator/ptx/slots.hpp"

#include <algorithm>
#include <queue>
#include <span>

namespace tutti::emulator {
namespace {

bool names_call(const Instruction& i) { return i.kind == Kind::call && i.target >= 0; }

/// f(slot) for each slot that the instruction reads. A guarded instruction may leave its destinations as they were.
template <class F>
void for_each_read(const Function& function, const Instruction& i, F f) {
  for (int k = 0; k < i.from_count; ++k)
    if (i.from[k] != kNoSlot) f(i.from[k]);
  if (i.address != kNoSlot) f(i.address);
  if (i.guard != kNoSlot) {
    f(i.guard);
    for (int k = 0; k < i.to_count; ++k) f(i.to[k]);
  }
  if (names_call(i))
    if (const Slot through = function.calls[static_cast<std::size_t>(i.target)].through; through != kNoSlot) f(through);
}

/// Instructions that end a basic block, and where they go.
std::vector<std::int32_t> successors(const Function& function, std::int32_t at) {
  const Instruction& i = function.code[static_cast<std::size_t>(at)];
  std::vector<std::int32_t> next;
  if (i.kind == Kind::branch) next = {i.target};
  if (i.kind == Kind::branch_indexed) next = function.tables[static_cast<std::size_t>(i.target)];
  const bool goes_on = i.kind != Kind::branch && i.kind != Kind::branch_indexed && i.kind != Kind::ret &&
                       i.kind != Kind::exit && i.kind != Kind::trap;
  if ((goes_on || i.guard != kNoSlot) && at + 1 < static_cast<std::int32_t>(function.code.size()))
    next.push_back(at + 1);
  return next;
}

class Sets {
 public:
  Sets(std::size_t sets, std::size_t members) : words_((members + 63) / 64), bits_(sets * words_) {}
  std::span<std::uint64_t> operator[](std::size_t set) { return {bits_.data() + set * words_, words_}; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};
void put(std::span<std::uint64_t> set, std::size_t member) { set[member / 64] |= std::uint64_t{1} << member % 64; }
bool has(std::span<const std::uint64_t> set, std::size_t member) { return set[member / 64] >> member % 64 & 1; }

/// From the first to the last instruction, in the order of the text, at which a slot is alive.
struct Interval {
  std::int32_t begin = -1, end = -1;
  Slot slot = 0;
  void cover(std::int32_t at) {
    begin = begin < 0 ? at : std::min(begin, at);
    end = std::max(end, at);
  }
};

std::vector<Interval> intervals_of(const Function& function) {
  const auto size = static_cast<std::int32_t>(function.code.size());
  std::vector<bool> leads(function.code.size() + 1);
  leads[0] = true;
  for (std::int32_t at = 0; at < size; ++at) {
    const Kind kind = function.code[static_cast<std::size_t>(at)].kind;
    if (kind != Kind::branch && kind != Kind::branch_indexed && kind != Kind::ret && kind != Kind::exit) continue;
    leads[static_cast<std::size_t>(at) + 1] = true;
    for (const std::int32_t next : successors(function, at)) leads[static_cast<std::size_t>(next)] = true;
  }
  std::vector<std::int32_t> begins;
  std::vector<std::size_t> block_at(function.code.size());
  for (std::int32_t at = 0; at < size; ++at) {
    if (leads[static_cast<std::size_t>(at)]) begins.push_back(at);
    block_at[static_cast<std::size_t>(at)] = begins.size() - 1;
  }
  const std::size_t blocks = begins.size();
  const auto end_of = [&](std::size_t block) { return block + 1 < blocks ? begins[block + 1] : size; };

  // Reads before any write, and writes, of each block; then what is alive at its begin, until nothing changes.
  Sets reads(blocks, function.slots), writes(blocks, function.slots), alive(blocks, function.slots);
  std::vector<std::vector<std::size_t>> before(blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::int32_t at = begins[block]; at < end_of(block); ++at) {
      const Instruction& i = function.code[static_cast<std::size_t>(at)];
      for_each_read(function, i, [&](Slot slot) {
        if (!has(writes[block], slot)) put(reads[block], slot);
      });
      for (int k = 0; k < i.to_count; ++k) put(writes[block], i.to[k]);
    }
    for (const std::int32_t next : successors(function, end_of(block) - 1))
      before[block_at[static_cast<std::size_t>(next)]].push_back(block);
  }
  std::vector<std::size_t> changed(blocks);
  std::vector<bool> waits(blocks, true);
  for (std::size_t block = 0; block < blocks; ++block) changed[block] = block;  // taken from the back: last block first
  while (!changed.empty()) {
    const std::size_t block = changed.back();
    changed.pop_back();
    waits[block] = false;
    const auto mine = alive[block];
    const auto first = reads[block], written = writes[block];
    bool grew = false;
    std::vector<std::uint64_t> after(mine.size());
    for (const std::int32_t next : successors(function, end_of(block) - 1)) {
      const auto theirs = alive[block_at[static_cast<std::size_t>(next)]];
      for (std::size_t w = 0; w < after.size(); ++w) after[w] |= theirs[w];
    }
    for (std::size_t w = 0; w < mine.size(); ++w) {
      const std::uint64_t now = first[w] | (after[w] & ~written[w]);
      grew |= now != mine[w];
      mine[w] = now;
    }
    if (!grew) continue;
    for (const std::size_t previous : before[block])
      if (!waits[previous]) waits[previous] = true, changed.push_back(previous);
  }

  std::vector<Interval> intervals(function.slots);
  for (std::size_t slot = 0; slot < intervals.size(); ++slot) intervals[slot].slot = static_cast<Slot>(slot);
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto cover_all = [&](std::span<const std::uint64_t> set, std::int32_t at) {
      for (std::size_t w = 0; w < set.size(); ++w)
        for (std::uint64_t bits = set[w]; bits != 0; bits &= bits - 1)
          intervals[w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits))].cover(at);
    };
    cover_all(alive[block], begins[block]);
    for (const std::int32_t next : successors(function, end_of(block) - 1))
      cover_all(alive[block_at[static_cast<std::size_t>(next)]], end_of(block) - 1);
    for (std::int32_t at = begins[block]; at < end_of(block); ++at) {
      const Instruction& i = function.code[static_cast<std::size_t>(at)];
      for_each_read(function, i, [&](Slot slot) { intervals[slot].cover(at); });
      for (int k = 0; k < i.to_count; ++k) intervals[i.to[k]].cover(at);
    }
  }
  return intervals;
}

}  // namespace

void pack_slots(Function& function) {
  if (function.code.empty()) return;
  std::vector<Interval> intervals = intervals_of(function);
  std::vector<Slot> renamed(function.slots, kNoSlot);
  Slot next = kSpecialSlots;
  for (Slot slot = 0; slot < kSpecialSlots; ++slot) renamed[slot] = slot;
  for (Constant& constant : function.constants) constant.slot = renamed[constant.slot] = next++;
  for (Slot& low : function.pairs) {
    renamed[low] = next++;
    renamed[low + 1u] = next++;
    low = renamed[low];
  }
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  // An instruction reads before it writes, but one computation may write its first destination before it reads its
  // last source: a slot is free again after the instruction of its last use.
  using Busy = std::pair<std::int32_t, Slot>;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::vector<Slot> free;
  for (const Interval& interval : intervals) {
    if (interval.begin < 0 || renamed[interval.slot] != kNoSlot) continue;
    for (; !busy.empty() && busy.top().first < interval.begin; busy.pop()) free.push_back(busy.top().second);
    if (free.empty()) free.push_back(next++);
    renamed[interval.slot] = free.back();
    free.pop_back();
    busy.emplace(interval.end, renamed[interval.slot]);
  }
  const auto rename = [&](Slot& slot) {
    if (slot != kNoSlot) slot = renamed[slot];
  };
  for (Instruction& i : function.code) {
    for (int k = 0; k < i.to_count; ++k) rename(i.to[k]);
    for (int k = 0; k < i.from_count; ++k) rename(i.from[k]);
    rename(i.address);
    rename(i.guard);
  }
  for (CallSite& call : function.calls) rename(call.through);
  function.slots = next;
}

}  // namespace tutti::emulator

#include "collectives/retired_cuda.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace tutti::detail {

RetiredMemory::~RetiredMemory() {
  for (Item& item : items_)
    if (item.holding.share) new Thing(std::move(item.holding.share));
}

void RetiredMemory::open(SegmentKey key) {
  const std::lock_guard lock(mutex_);
  open_.insert(key);
}

void RetiredMemory::retire(SegmentKey key, RankSet members, Holding holding) {
  const std::lock_guard lock(mutex_);
  items_.push_back({key, members, 0, std::move(holding)});
}

void RetiredMemory::keep(Thing thing) {
  const std::lock_guard lock(mutex_);
  things_.push_back(std::move(thing));
}

void RetiredMemory::close() {
  const std::lock_guard lock(mutex_);
  for (Item& item : items_) {
    if (item.closed) continue;
    item.holding.mappings.clear();
    item.closed = true;
    open_.erase(item.key);
  }
}

void RetiredMemory::free(Bootstrap& bootstrap, std::span<const int> members) {
  constexpr std::size_t kAtOnce = 16;  // that a rank asks for
  using Keys = std::array<SegmentKey, kAtOnce>;
  using Answers = std::uint16_t;  // bit i: still open here
  static_assert(kAtOnce <= 16);
  const auto ranks = static_cast<std::size_t>(bootstrap.size()), me = static_cast<std::size_t>(bootstrap.rank());
  const RankSet here = set_of(members);

  Keys mine{};
  {
    const std::lock_guard lock(mutex_);
    // First those that these ranks alone decide, the oldest first, so that none is left behind for ever.
    std::sort(items_.begin(), items_.end(), [here](const Item& a, const Item& b) {
      return std::tuple((a.members & ~here) != 0, a.key.serial) < std::tuple((b.members & ~here) != 0, b.key.serial);
    });
    for (std::size_t i = 0; i < std::min(kAtOnce, items_.size()); ++i) mine[i] = items_[i].key;
  }
  const std::vector<Keys> asked = bootstrap.all_gather(mine);
  std::vector<Answers> answers(ranks), all(ranks * ranks);
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < kAtOnce; ++i)
        if (open_.contains(asked[r][i])) answers[r] |= static_cast<Answers>(1u << i);
  }
  bootstrap.all_gather(std::as_bytes(std::span(answers)), std::as_writable_bytes(std::span(all)));
  const std::lock_guard lock(mutex_);
  things_.clear();
  for (Item& item : items_) {
    const auto at = std::find(mine.begin(), mine.end(), item.key);
    if (at == mine.end()) continue;
    for (std::size_t r = 0; r < ranks; ++r)
      if ((all[r * ranks + me] >> (at - mine.begin()) & 1) == 0) item.gone |= RankSet{1} << members[r];
  }
  std::erase_if(items_, [](const Item& item) { return item.closed && (item.members & ~item.gone) == 0; });
}

}  // namespace tutti::detail

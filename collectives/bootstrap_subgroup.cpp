#include "collectives/bootstrap_subgroup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "collectives/agree.hpp"
#include "collectives/error.hpp"

namespace tutti {
namespace {

/// What a rank says about its list. Equal digests and lengths stand for equal lists.
struct Claim {
  int first;
  int place;
  std::uint64_t length;
  std::uint64_t digest;
};

std::string fault_of(const Bootstrap& parent, std::span<const int> members) {
  std::vector<bool> named(static_cast<std::size_t>(parent.size()));
  for (int member : members) {
    if (member < 0 || member >= parent.size()) {
      return fmt::format("subgroup: there is no rank {}, the ranks are 0 to {}", member, parent.size() - 1);
    }
    if (named[static_cast<std::size_t>(member)]) return fmt::format("subgroup: rank {} is named twice", member);
    named[static_cast<std::size_t>(member)] = true;
  }
  if (!members.empty() && !named[static_cast<std::size_t>(parent.rank())]) {
    return fmt::format("subgroup: this rank is not among its members {}; give no member to stay outside",
                       fmt::join(members, ", "));
  }
  return {};
}

Claim claim_of(const Bootstrap& parent, std::span<const int> members) {
  if (members.empty()) return {-1, -1, 0, 0};
  std::uint64_t digest = 14695981039346656037u;  // FNV-1a
  for (int member : members) digest = (digest ^ static_cast<std::uint64_t>(member)) * 1099511628211u;
  const auto own = std::find(members.begin(), members.end(), parent.rank());
  return {members.front(), static_cast<int>(own - members.begin()), members.size(), digest};
}

/// Throws alike on all ranks, which all see the same claims.
void require_same_lists(const std::vector<Claim>& claims) {
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    const Claim& claim = claims[rank];
    if (claim.length == 0) continue;
    const auto agrees = [&](const Claim& other) {
      return other.first == claim.first && other.length == claim.length && other.digest == claim.digest;
    };
    if (static_cast<std::uint64_t>(std::count_if(claims.begin(), claims.end(), agrees)) == claim.length) continue;
    throw Error(ErrorCode::mismatch,
                fmt::format("subgroup: rank {} names {} members, the first of them rank {}, and not all of these name "
                            "the same: give the same list on all members",
                            rank, claim.length, claim.first));
  }
}

}  // namespace

int place_in_subgroup(Bootstrap& parent, std::span<const int> members) {
  agree(parent, ErrorCode::invalid_argument, fault_of(parent, members));
  const Claim mine = claim_of(parent, members);
  require_same_lists(parent.all_gather(mine));
  return mine.place;
}

}  // namespace tutti

// What is said of a run in which nobody can go on: who waits for which connection of whom, those who wait for the same
// together, and the ranks that wait in a circle.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kernels/model.hpp"

namespace tutti::model {
namespace {

constexpr std::size_t kGroups = 8;  // more are only counted

/// "0, 2-5"
std::string listed(const std::set<int>& ranks) {
  std::string text;
  for (auto r = ranks.begin(); r != ranks.end();) {
    const int first = *r;
    int last = first;
    while (++r != ranks.end() && *r == last + 1) ++last;
    if (!text.empty()) text.append(", ");
    text.append(std::to_string(first));
    if (last > first) text.append(last == first + 1 ? ", " : "-").append(std::to_string(last));
  }
  return text;
}

/// Of the session's ranks, those that wait in a circle: each for the next, the last for the first. None if there is no
/// such circle.
std::vector<int> circle_in(const std::map<int, std::set<int>>& waits_for) {
  std::set<int> cleared;
  for (const auto& [start, unused] : waits_for) {
    std::vector<int> path{start};
    std::vector<std::set<int>::const_iterator> next{waits_for.at(start).begin()};
    while (!path.empty()) {
      const std::set<int>& peers = waits_for.at(path.back());
      if (next.back() == peers.end() || cleared.count(path.back())) {
        cleared.insert(path.back());
        path.pop_back();
        next.pop_back();
        continue;
      }
      const int peer = *next.back()++;
      const auto seen = std::find(path.begin(), path.end(), peer);
      if (seen != path.end()) return {seen, path.end()};
      const auto its = waits_for.find(peer);
      if (its == waits_for.end() || cleared.count(peer)) continue;
      path.push_back(peer);
      next.push_back(its->second.begin());
    }
  }
  return {};
}

}  // namespace

void Model::deadlock() {
  struct Group {
    const Strand* first = nullptr;
    std::set<int> ranks;
  };
  std::map<int, std::set<int>> waits_for;
  std::map<std::tuple<int, std::string, std::uint64_t, std::uint64_t, int>, Group> groups;
  for (const Strand& s : strands_) {
    if (s.block < 0 || !s.wait.flag) continue;
    const Communicator& c = *s.communicator;
    waits_for[s.session_rank].insert(c.session_rank(s.wait.peer));
    std::string where = s.kernel;
    where.append(s.wait.what).append(s.line.text()).append(" ").append(std::to_string(s.block));
    Group& group = groups[{c.number(), where, s.wait.wanted - s.wait.base, s.wait.seen() - s.wait.base, s.wait.peer}];
    if (!group.first || s.rank < group.first->rank) group.first = &s;
    group.ranks.insert(s.rank);
  }

  // First those who wait for a rank that waits for nobody: there it begins.
  std::vector<const Group*> order;
  for (const auto& [key, group] : groups) order.push_back(&group);
  const auto begins = [&](const Group* g) {
    return !waits_for.count(g->first->communicator->session_rank(g->first->wait.peer));
  };
  std::stable_partition(order.begin(), order.end(), begins);

  std::string text = "no rank can go on";
  for (std::size_t i = 0; i < order.size() && i < kGroups; ++i) {
    const Strand& s = *order[i]->first;
    const Communicator& c = *s.communicator;
    const Wait& w = s.wait;
    text.append(i == 0 ? ": " : "; ");
    if (order[i]->ranks.size() > 1) text.append("ranks ").append(listed(order[i]->ranks)).append(", such as ");
    text.append(text_of(s)).append(", waits for ").append(w.what).append(" from rank ").append(std::to_string(w.peer));
    text.append(" to rank ").append(std::to_string(s.rank));
    const auto relative = [&](std::uint64_t count) { return std::to_string(static_cast<Count>(count - w.base)); };
    text.append(": wants ").append(relative(w.wanted)).append(", sees ").append(relative(w.seen()));
    if (!begins(order[i])) continue;
    const auto& under_way = c.calls_[static_cast<std::size_t>(w.peer)].under_way;
    const bool in_call = std::any_of(under_way.begin(), under_way.end(), [](const auto& r) { return !r->done; });
    text.append(", but rank ").append(std::to_string(w.peer));
    if (in_call) {
      text.append(" has ended that block");
    } else {
      text.append(" is in no call after ").append(std::to_string(c.calls_[static_cast<std::size_t>(w.peer)].started));
    }
  }
  if (order.size() > kGroups)
    text.append("; and ").append(std::to_string(order.size() - kGroups)).append(" more waits");
  const std::vector<int> circle = circle_in(waits_for);
  if (!circle.empty()) {
    text.append("; ranks wait in a circle: ");
    for (const int r : circle) text.append(std::to_string(r)).append(" for ");
    text.append(std::to_string(circle.front()));
    if (communicators_.size() > 1) text.append(" (ranks of the session)");
  }
  find(Defect::deadlock, std::move(text));
}

}  // namespace tutti::model

// What must hold of the counts: both ends of a connection advance alike, and flags hold what was sent.
#include <algorithm>

#include "kernels/model.hpp"

namespace tutti::model {
namespace {

bool is_of_messages(Purpose purpose) { return purpose == Purpose::p2p_data || purpose == Purpose::p2p_credit; }

}  // namespace

Communicator::Counts Communicator::counts_of(int rank, int blocks) const {
  Counts counts{.blocks = blocks};
  for (int b = 0; b < blocks; ++b) {
    const Connections at(team(rank), b, 1);
    for (int p = 0; p < kPurposes; ++p) {
      for (int peer = 0; peer < geometry().ranks; ++peer) {
        counts.sent.push_back(at.sent_base({static_cast<Purpose>(p), peer}));
        counts.received.push_back(at.received_base({static_cast<Purpose>(p), peer}));
      }
    }
    for (int region = 0; region < kRegions; ++region) counts.uses.push_back(at.uses(static_cast<Region>(region)));
  }
  return counts;
}

void Communicator::end_of_call(const Running& running, const Op& op) {
  const int rank = running.rank;
  if (!model_.failures_.empty()) return;
  // Blocks that took no part can have changed nothing of theirs.
  for (int b = 0; b < op.blocks; ++b) {
    const Connections at(team(rank), b, 1);
    for (int p = 0; p < kPurposes; ++p) {
      const auto purpose = static_cast<Purpose>(p);
      const bool message = is_of_messages(purpose);
      if (message == op.collective) continue;
      for (int peer = 0; peer < geometry().ranks; ++peer) {
        if (peer == rank) continue;
        // Others of messages may be under way.
        if (message && (peer != op.call.peer || (purpose == Purpose::p2p_data) != op.sends)) continue;
        // One count of enters goes to all peers, on the line of the entry.
        const std::uint64_t sent = at.sent_base({purpose, purpose == Purpose::enter ? rank : peer});
        const std::uint64_t& flag =
            purpose == Purpose::enter ? at.entry(peer, sent, rank)->count : at.flag(peer, purpose, rank)->count;
        if (flag == sent) continue;
        std::string text = name_of(purpose);
        text.append(" of block ").append(std::to_string(b)).append(" from rank ").append(std::to_string(rank));
        text.append(" to rank ").append(std::to_string(peer));
        text = named(std::move(text)).append(": ").append(std::to_string(sent)).append(" sent by the end of ");
        text.append(op.name).append(", call ").append(std::to_string(running.number)).append(", the flag holds ");
        text.append(std::to_string(flag)).append(model_.last_set(&flag));
        model_.find(Defect::counts, std::move(text));
      }
    }
  }
  if (!op.collective) return;
  Counts counts = counts_of(rank, op.blocks);
  counts.kernel = op.name;
  calls_[static_cast<std::size_t>(rank)].ends.push_back(std::move(counts));
  for (const Calls& of_rank : calls_)
    if (of_rank.ends.empty()) return;
  std::vector<Counts> ranks;
  for (Calls& of_rank : calls_) {
    ranks.push_back(std::move(of_rank.ends.front()));
    of_rank.ends.pop_front();
  }
  std::string when = "after ";
  when.append(ranks[0].kernel).append(", collective call ").append(std::to_string(compared_++));
  compare(ranks, false, named(std::move(when)));
}

void Communicator::end_of_run() {
  if (!model_.failures_.empty()) return;
  std::vector<Counts> ranks;
  for (int r = 0; r < geometry().ranks; ++r) ranks.push_back(counts_of(r, geometry().blocks));
  compare(ranks, true, named("at the end"));
}

/// `with_messages`: send and recv too, which ranks call at different points of their programs.
void Communicator::compare(const std::vector<Counts>& ranks, bool with_messages, const std::string& when) {
  const int n = geometry().ranks;
  const auto at = [&](int block, int purpose, int peer) {
    return static_cast<std::size_t>((block * kPurposes + purpose) * n + peer);
  };
  const auto of = [&](int rank) -> const Counts& { return ranks[static_cast<std::size_t>(rank)]; };
  const auto expect_equal = [&](std::uint64_t a, std::uint64_t b, const auto& name) {
    if (a != b)
      model_.find(Defect::counts, when + ", " + name() + ": " + std::to_string(a) + " and " + std::to_string(b));
  };
  int blocks = geometry().blocks;
  for (const Counts& c : ranks) blocks = std::min(blocks, c.blocks);
  for (int b = 0; b < blocks; ++b) {
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        for (int p = 0; p < kPurposes; ++p) {
          const auto purpose = static_cast<Purpose>(p);
          const auto name = [&] {
            return std::string(name_of(purpose)) + " of block " + std::to_string(b) + " sent by rank " +
                   std::to_string(from) + " and received by rank " + std::to_string(to);
          };
          if (purpose == Purpose::enter)
            expect_equal(of(from).sent[at(b, p, from)], of(to).sent[at(b, p, to)], name);
          else if (from != to && (with_messages || !is_of_messages(purpose)))
            expect_equal(of(from).sent[at(b, p, to)], of(to).received[at(b, p, from)], name);
        }
      }
      for (int region = 0; region < kRegions; ++region) {
        const auto i = static_cast<std::size_t>(b * kRegions + region);
        expect_equal(of(0).uses[i], of(from).uses[i], [&] {
          return "uses of region " + std::to_string(region) + " of block " + std::to_string(b) +
                 " on rank 0 and rank " + std::to_string(from);
        });
      }
    }
  }
}

}  // namespace tutti::model

#include "bench/explain/messages.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <tuple>

#include "bench/explain/words.hpp"

namespace tutti::explain {
namespace {

using model::Word;
using timed::Event;
using timed::Trace;

enum class Carrier : std::uint8_t { enter, leave, packets, flag };

struct Connection {
  Carrier carrier = Carrier::flag;
  Purpose purpose = Purpose::data;  // of flags
  int block = 0, from = 0, to = 0;
  auto operator<=>(const Connection&) const = default;
};

/// What stands on a connection: in the order of its one writer, so counts ascend.
struct Sent {
  Count count;
  std::size_t told;
};

const char* name_of(const Connection& connection) {
  switch (connection.carrier) {
    case Carrier::enter: return "enter";
    case Carrier::leave: return "leave";
    case Carrier::packets: return "packets";
    case Carrier::flag: break;
  }
  return kind_of(connection.purpose);
}

/// Calls f(peer) for the peers that flags mean.
void each_peer(int peer, int rank, int ranks, const std::function<void(int)>& f) {
  if (peer != kAll) return f(peer);
  for (int other = 0; other < ranks; ++other)
    if (other != rank) f(other);
}

bool sends(Word word) {
  return word == Word::signal || word == Word::enter || word == Word::leave || word == Word::put_packets;
}
bool waits(Word word) {
  return word == Word::wait || word == Word::enter || word == Word::leave || word == Word::get_packets ||
         word == Word::reduce_packets;
}

Connection connection_of(const Event& event, int from, int to) {
  Connection connection{.block = event.block, .from = from, .to = to};
  switch (event.word) {
    case Word::enter: connection.carrier = Carrier::enter; break;
    case Word::leave: connection.carrier = Carrier::leave; break;
    case Word::put_packets:
    case Word::get_packets:
    case Word::reduce_packets: connection.carrier = Carrier::packets; break;
    default: connection.purpose = event.flags.purpose;
  }
  return connection;
}

class Follower {
 public:
  Follower(const Trace& trace, int ranks) : trace_(trace), ranks_(ranks), heard_(trace.size()) {
    std::map<std::pair<int, int>, std::size_t> last;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const auto [found, first] = last.try_emplace({trace[i].rank, trace[i].block}, i);
      previous_.push_back(first ? -1 : static_cast<int>(found->second));
      found->second = i;
      if (sends(trace[i].word)) send(i);
    }
    for (std::size_t i = 0; i < trace.size(); ++i)
      if (waits(trace[i].word)) hear(i);
    chains_.after.assign(trace.size(), -1);
    for (std::size_t i = 0; i < trace.size(); ++i) {
      chains_.longest = std::max(chains_.longest, after(i));
      chains_.before.push_back(before(i));
    }
  }
  Chains chains() && { return std::move(chains_); }

 private:
  void send(std::size_t i) {
    const Event& event = trace_[i];
    const bool flag = event.word == Word::signal;
    each_peer(flag ? event.flags.peer : kAll, event.rank, ranks_, [&](int peer) {
      const Connection connection = connection_of(event, event.rank, peer);
      auto& sent = sent_[connection];
      const Count count = flag ? event.count : static_cast<Count>(sent.size()) + 1;
      sent.push_back({count, chains_.told.size()});
      chains_.told.push_back({.message = {.purpose = name_of(connection),
                                          .from = event.rank,
                                          .to = peer,
                                          .block = event.block,
                                          .sent = event.begin,
                                          .arrived = std::max(event.begin, event.arrived)},
                              .by = i});
    });
  }

  void hear(std::size_t i) {
    const Event& event = trace_[i];
    const bool flag = event.word == Word::wait;
    each_peer(flag ? event.flags.peer : kAll, event.rank, ranks_, [&](int peer) {
      const Connection connection = connection_of(event, peer, event.rank);
      const Count wanted = flag ? event.count : ++exchanges_[connection];
      if (wanted <= 0) return;  // of an earlier call
      const auto& sent = sent_[connection];
      const auto found = std::find_if(sent.begin(), sent.end(), [&](const Sent& each) { return each.count >= wanted; });
      if (found == sent.end()) throw std::logic_error("a wait in the trace ended without its signal");
      Told& told = chains_.told[found->told];
      heard_[i].push_back(found->told);
      if (told.heard_by >= 0) return;
      told.heard_by = static_cast<int>(i);
      told.message.heard = event.end;
      // The event of a word that tells several has the arrival of the last.
      told.message.arrived = std::min(told.message.arrived, event.end);
    });
  }

  int before(std::size_t i) { return previous_[i] < 0 ? 0 : after(static_cast<std::size_t>(previous_[i])); }
  int after(std::size_t i) {
    if (chains_.after[i] >= 0) return chains_.after[i];
    int most = before(i);
    for (const std::size_t told : heard_[i]) most = std::max(most, before(chains_.told[told].by) + 1);
    return chains_.after[i] = most;
  }

  const Trace& trace_;
  int ranks_;
  std::vector<int> previous_;  // [event] of the same block
  std::map<Connection, std::vector<Sent>> sent_;
  std::map<Connection, Count> exchanges_;        // so many were waited for
  std::vector<std::vector<std::size_t>> heard_;  // [event] of chains_.told
  Chains chains_;
};

}  // namespace

Chains chains_of(const Trace& trace, int ranks) { return Follower(trace, ranks).chains(); }

}  // namespace tutti::explain

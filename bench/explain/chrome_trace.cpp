// Format: "Trace Event Format" of the Catapult project; times are in microseconds.
#include "bench/explain/chrome_trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/explain/words.hpp"

namespace tutti::explain {
namespace {

using Json = nlohmann::ordered_json;
using model::Word;
using timed::At;
using timed::Event;

/// Whole nanoseconds, so that what ends when another begins still does.
double rounded(double ns) { return std::round(ns); }
double micro(double ns) { return rounded(ns) / 1000; }

std::string text_of(const At& at) {
  std::string text = fmt::format("rank {} {}", at.rank, label_of(at.kind));
  if (at.slot >= 0) text += fmt::format(" slot {}", at.slot);
  if (at.sender >= 0) text += fmt::format(" of rank {}", at.sender);
  return text + fmt::format(" + {}", at.offset);
}

Json texts_of(const std::vector<At>& places) {
  Json list = Json::array();
  for (const At& at : places) list.push_back(text_of(at));
  return list;
}

bool is_shown(Word word) {
  return word == Word::copy || word == Word::reduce || word == Word::enter || word == Word::leave ||
         word == Word::signal || word == Word::wait || word == Word::put_packets || word == Word::get_packets ||
         word == Word::reduce_packets;
}

const char* category_of(Word word) {
  if (word == Word::reduce || word == Word::reduce_packets) return "reduce";
  if (word == Word::copy || word == Word::put_packets || word == Word::get_packets) return "transfer";
  return word == Word::signal ? "signal" : "wait";
}

std::string name_of(const Event& event) {
  std::string name = model::name_of(event.word);
  if (event.word != Word::signal && event.word != Word::wait) return name;
  name.append(" ").append(kind_of(event.flags.purpose));
  name += event.flags.peer == kAll ? std::string(" all") : fmt::format(" {}", event.flags.peer);
  return name;
}

class Writer {
 public:
  Writer(const Recording& recording, const Chains& chains) : r_(recording), chains_(chains) {}

  Json events() {
    names();
    for (const Event& event : r_.trace)
      if (is_shown(event.word)) slice(event);
    for (std::size_t i = 0; i < chains_.told.size(); ++i)
      if (chains_.told[i].heard_by >= 0) flow(i, chains_.told[i]);
    counters();
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Json& a, const Json& b) { return a["ts"].get<double>() < b["ts"].get<double>(); });
    Json list = Json::array();
    for (Json& event : names_) list.push_back(std::move(event));
    for (Json& event : events_) list.push_back(std::move(event));
    return list;
  }

 private:
  void name(const char* what, int rank, int block, const Json& arguments) {
    names_.push_back({{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", block}, {"args", arguments}});
  }
  void names() {
    for (int rank = 0; rank < r_.subject.ranks; ++rank) {
      name("process_name", rank, 0, {{"name", fmt::format("rank {}", rank)}});
      name("process_sort_index", rank, 0, {{"sort_index", rank}});
      for (int block = 0; block < r_.subject.blocks; ++block)
        name("thread_name", rank, block, {{"name", fmt::format("block {}", block)}});
    }
  }

  void slice(const Event& event) {
    Json arguments = {{"source", line_of(event)}, {"step", event.step}};
    if (event.bytes > 0) arguments["bytes"] = event.bytes;
    if (!event.from.empty()) arguments["from"] = texts_of(event.from);
    if (!event.to.empty()) arguments["to"] = texts_of(event.to);
    if (event.word == Word::signal || event.word == Word::wait) arguments["count"] = event.count;
    events_.push_back({{"ph", "X"},
                       {"name", name_of(event)},
                       {"cat", category_of(event.word)},
                       {"pid", event.rank},
                       {"tid", event.block},
                       {"ts", micro(event.begin)},
                       {"dur", (rounded(event.end) - rounded(event.begin)) / 1000},
                       {"args", arguments}});
  }

  /// Both ends bind to the slice that is open at their time.
  void flow(std::size_t id, const Told& told) {
    const Event& heard = r_.trace[static_cast<std::size_t>(told.heard_by)];
    const auto end = [&](const char* ph, int rank, double ns) {
      Json event = {{"ph", ph},    {"name", told.message.purpose}, {"cat", "message"}, {"id", id},
                    {"pid", rank}, {"tid", told.message.block},    {"ts", micro(ns)}};
      if (*ph == 'f') event["bp"] = "e";
      events_.push_back(std::move(event));
    };
    end("s", told.message.from, r_.trace[told.by].begin);
    end("f", told.message.to,
        std::max(rounded(heard.begin), std::min(rounded(told.message.arrived), rounded(heard.end) - 1)));
  }

  /// Payload that has reached a rank, whoever moved it.
  void counters() {
    struct Arrival {
      double at;
      int rank;
      std::size_t bytes;
    };
    std::vector<Arrival> arrivals;
    for (const Event& event : r_.trace) {
      for (const At& at : event.from)
        if (at.rank != event.rank) arrivals.push_back({event.end, event.rank, event.bytes});
      for (const At& at : event.to)
        if (at.rank != event.rank) arrivals.push_back({std::max(event.end, event.arrived), at.rank, event.bytes});
    }
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
    std::vector<std::size_t> received(static_cast<std::size_t>(r_.subject.ranks));
    const auto count = [&](int rank, double at) {
      events_.push_back({{"ph", "C"},
                         {"name", "received"},
                         {"pid", rank},
                         {"tid", 0},
                         {"ts", micro(at)},
                         {"args", {{"bytes", received[static_cast<std::size_t>(rank)]}}}});
    };
    for (int rank = 0; rank < r_.subject.ranks; ++rank) count(rank, 0);
    for (const Arrival& arrival : arrivals) {
      received[static_cast<std::size_t>(arrival.rank)] += arrival.bytes;
      count(arrival.rank, arrival.at);
    }
  }

  const Recording& r_;
  const Chains& chains_;
  std::vector<Json> names_, events_;
};

}  // namespace

std::string chrome_trace(const Recording& recording, const Chains& chains, const std::string& title) {
  const Json trace = {{"displayTimeUnit", "ns"},
                      {"otherData",
                       {{"title", title},
                        {"machine", recording.subject.machine.name},
                        {"about", "predicted by tutti in virtual time, not measured"}}},
                      {"traceEvents", Writer(recording, chains).events()}};
  return trace.dump(1, ' ', true) + "\n";
}

}  // namespace tutti::explain

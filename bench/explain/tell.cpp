#include "bench/explain/tell.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "bench/arguments.hpp"
#include "bench/explain/inputs.hpp"
#include "bench/explain/replay.hpp"
#include "bench/explain/words.hpp"

namespace tutti::explain {
namespace {

using model::Word;
using timed::Event;

/// The cells that a move moves, as they are after it.
std::vector<Cell> moved(const Action& action, const std::vector<std::vector<Cell>>& after) {
  const Cells& to = action.to.front();
  const auto& row = after[static_cast<std::size_t>(to.row)];
  return {row.begin() + to.first, row.begin() + to.first + to.count};
}

std::vector<Span> spans_of(const Recording& recording, const Chains& chains, const Replay& replayed) {
  std::vector<std::vector<const Action*>> actions(recording.trace.size());
  for (const Move& move : replayed.moves) actions[move.event].push_back(&move.action);
  std::vector<double> last(recording.trace.size());  // when what an event waited for was there
  for (const Told& told : chains.told)
    if (told.heard_by >= 0) {
      double& at = last[static_cast<std::size_t>(told.heard_by)];
      at = std::max(at, told.message.arrived);
    }
  std::vector<Span> spans;
  for (std::size_t i = 0; i < recording.trace.size(); ++i) {
    const Event& event = recording.trace[i];
    const auto add = [&](Span::Kind kind, double begin, double end, const std::string& text, double bytes) {
      if (end > begin) spans.push_back({kind, event.rank, event.block, begin, end, text, line_of(event), bytes});
    };
    std::string text;
    for (const Action* action : actions[i]) text += (text.empty() ? "" : "; ") + action->text;
    if (text.empty() && event.word == Word::put_packets) text = "sends packets without data";
    if (text.empty() && event.word == Word::get_packets) text = "reads packets without data";
    const auto bytes = static_cast<double>(event.bytes);
    switch (event.word) {
      case Word::copy:
      case Word::put_packets: add(Span::Kind::transfer, event.begin, event.end, text, bytes); break;
      case Word::reduce: add(Span::Kind::reduce, event.begin, event.end, text, bytes); break;
      case Word::wait:
      case Word::enter:
      case Word::leave: add(Span::Kind::wait, event.begin, event.end, text_of_wait(event), 0); break;
      case Word::get_packets:
      case Word::reduce_packets: {
        const double there = std::clamp(last[i], event.begin, event.end);
        add(Span::Kind::wait, event.begin, there, text_of_wait(event), 0);
        add(event.word == Word::get_packets ? Span::Kind::transfer : Span::Kind::reduce, there, event.end, text, bytes);
        break;
      }
      default: break;
    }
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.begin, a.rank, a.block) < std::tie(b.begin, b.rank, b.block);
  });
  return spans;
}

std::vector<Step> steps_of(const Replay& replayed, const Chains& chains) {
  std::map<int, Step> steps;  // by the messages before
  for (const Move& move : replayed.moves) steps[move.before].actions.push_back(move.action);
  for (const Told& told : chains.told) {
    const int before = chains.before[told.by];
    if (told.heard_by >= 0 || before < chains.longest) steps[before].messages.push_back(told.message);
  }
  std::vector<Step> list;
  std::vector<std::vector<Cell>> now;
  for (const Row& row : replayed.rows) now.push_back(row.cells);
  for (auto& [before, step] : steps) {
    step.number = before + 1;
    const auto by_begin = [](const Action& a, const Action& b) {
      return std::tie(a.begin, a.rank, a.block) < std::tie(b.begin, b.rank, b.block);
    };
    std::stable_sort(step.actions.begin(), step.actions.end(), by_begin);
    std::stable_sort(step.messages.begin(), step.messages.end(), [](const Message& a, const Message& b) {
      return std::tie(a.sent, a.from, a.to) < std::tie(b.sent, b.from, b.to);
    });
    step.begin = step.actions.empty() ? step.messages.front().sent : step.actions.front().begin;
    if (!step.messages.empty()) step.begin = std::min(step.begin, step.messages.front().sent);
    step.end = step.begin;
    for (const Action& action : step.actions) step.end = std::max(step.end, action.end);
    for (const Message& message : step.messages) step.end = std::max(step.end, message.arrived);
    step.text = text_of(step.messages);
    if (const auto found = replayed.after.find(before); found != replayed.after.end()) now = found->second;
    step.after = now;
    list.push_back(std::move(step));
  }
  return list;
}

Cost counted(const Chains& chains, const Replay& replayed) { return {chains.longest, replayed.most_bytes}; }

Cost formula(const Recording& recording) {
  const Subject& s = recording.subject;
  return cost_of(recording.plan.kernel, s.ranks, static_cast<double>(recording.request.bytes()), s.mapped, s.blocks);
}

bool agree(const Cost& a, const Cost& b) { return a.steps == b.steps && std::abs(a.bytes - b.bytes) < 1e-6; }

/// Whether the formula holds for the call, whose cells the kernel must not cut.
bool is_even(const Recording& recording) {
  const Chains chains = chains_of(recording.trace, recording.subject.ranks);
  try {
    return agree(counted(chains, replay(recording, chains)), formula(recording));
  } catch (const bench::ArgumentError&) {
    return false;
  }
}

}  // namespace

Story tell(const Recording& recording, const Chains& chains) {
  const Subject& s = recording.subject;
  Replay replayed = replay(recording, chains);
  Story story;
  story.collective = name_of(s.operation);
  story.algorithm = name_of(recording.plan.algorithm);
  story.kernel = name_of(recording.plan.kernel);
  story.sums = recording.request.reduces();
  story.op = story.sums ? name_of(s.op) : "";
  story.memory = s.mapped ? "peer-mapped" : "any";
  story.machine = s.machine.name;
  for (const Event& event : recording.trace)
    if (story.file.empty() && *event.file) story.file = kernel_file(event.file);
  story.values = s.cells > 0 ? values_text(s) : "";
  story.ranks = s.ranks;
  story.root = recording.request.is_rooted() || recording.request.is_message() ? s.root : -1;
  story.blocks = s.blocks;
  story.chunks = chunks_of(recording);
  story.cell_bytes = static_cast<double>(s.cell_bytes);
  story.call_bytes = static_cast<double>(recording.request.bytes());
  for (Move& move : replayed.moves) {
    move.action.text =
        text_of(move.action, replayed.rows, moved(move.action, replayed.after.at(move.before)), story.sums);
    move.action.source = line_of(recording.trace[move.event]);
  }
  story.spans = spans_of(recording, chains, replayed);
  story.steps = steps_of(replayed, chains);
  story.rows = replayed.rows;
  story.counted = counted(chains, replayed);
  story.formula = formula(recording);
  if (!agree(story.counted, story.formula))
    story.formula_text = fmt::format("the formula is for cells that ranks and blocks divide; here are {}", s.cells);
  story.end = recording.end;
  story.wrong = replayed.wrong;
  story.right = story.wrong.empty();
  return story;
}

std::vector<Recording> record_alike(std::vector<Subject> subjects) {
  std::vector<Recording> first;
  for (const Subject& subject : subjects) first.push_back(record(subject));
  int least = 0;
  for (const Recording& recording : first) least = std::max(least, recording.subject.cells);
  if (subjects.empty() || subjects.front().cells != 0 || least == 0) return first;
  constexpr int kTries = 3;  // times the least
  for (int cells = least; cells < kTries * least; ++cells) {
    std::vector<Recording> recordings;
    bool even = true;
    for (Subject subject : subjects) {
      subject.cells = cells;
      recordings.push_back(record(subject));
      even = even && is_even(recordings.back());
    }
    if (even) return recordings;
    if (cells == least) first = std::move(recordings);
  }
  return first;
}

}  // namespace tutti::explain

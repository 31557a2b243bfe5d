#include "bench/explain/words.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace tutti::explain {
namespace {

std::string place_of(const Row& row, int doer) {
  const bool own = row.rank == doer;
  if (row.label == "packets" && own) return "its packets";
  const std::string whose = own ? "its" : fmt::format("rank {}'s", row.rank);
  const std::string what = row.kind == Row::Kind::in ? "input" : row.kind == Row::Kind::out ? "output" : row.label;
  return fmt::format("{} {}", whose, what);
}

const Row& row_of(const Cells& cells, const std::vector<Row>& rows) {
  return rows[static_cast<std::size_t>(cells.row)];
}

/// The one row label that all of `cells` have, or nothing.
std::string common_label(const std::vector<Cells>& cells, const std::vector<Row>& rows) {
  const std::string label = cells.empty() ? "" : row_of(cells[0], rows).label;
  for (const Cells& each : cells)
    if (row_of(each, rows).label != label) return "";
  return label;
}

/// Short for a place at every rank, or every peer: "every rank's output", "every peer's packets".
std::string places_of_all(const std::vector<Cells>& cells, const std::vector<Row>& rows, int doer, int ranks) {
  const std::string label = common_label(cells, rows);
  const auto count = static_cast<int>(cells.size());
  if (label.empty() || count < 2 || count < ranks - 1) return "";
  const bool own =
      std::all_of(cells.begin(), cells.end(), [&](const Cells& c) { return row_of(c, rows).rank == doer; });
  const bool others =
      std::none_of(cells.begin(), cells.end(), [&](const Cells& c) { return row_of(c, rows).rank == doer; });
  const std::string place = place_of(row_of(cells[0], rows), row_of(cells[0], rows).rank).substr(4);
  if (own) return label == "packets" && count == ranks - 1 ? "every peer's packets" : "";
  if (others) return count == ranks - 1 ? fmt::format("every peer's {}", place) : "";
  return count == ranks ? fmt::format("every rank's {}", place) : "";
}

/// Whether place i is what rank i gave: this rank's own input at its number, the others by ascending rank or sender.
bool in_rank_order(const std::vector<Cells>& cells, const std::vector<Row>& rows, int doer) {
  int last = -1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Row& row = row_of(cells[i], rows);
    const bool input = row.kind == Row::Kind::in && row.rank == doer;
    if (input != (static_cast<int>(i) == doer)) return false;
    if (input) continue;
    const int at = row.rank == doer ? cells[i].first : row.rank;
    if (at <= last) return false;
    last = at;
  }
  return true;
}

/// "its output and rank 2's inbox".
std::string places_of(const std::vector<Cells>& cells, const std::vector<Row>& rows, int doer, const char* between,
                      const char* last, int ranks) {
  if (const std::string all = places_of_all(cells, rows, doer, ranks); !all.empty()) return all;
  // This rank's own input among what comes from all its peers: in rank order, as a kernel of one exchange adds.
  std::vector<Cells> others;
  for (const Cells& each : cells)
    if (row_of(each, rows).kind != Row::Kind::in || row_of(each, rows).rank != doer) others.push_back(each);
  if (others.size() + 1 == cells.size() && static_cast<int>(cells.size()) == ranks)
    if (const std::string all = places_of_all(others, rows, doer, ranks); !all.empty())
      return fmt::format("{}{}its input{}", all, last, in_rank_order(cells, rows, doer) ? ", in rank order" : "");
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += i + 1 == cells.size() ? last : between;
    text += place_of(row_of(cells[i], rows), doer);
  }
  return text;
}

int ranks_in(const std::vector<Row>& rows) { return rows.empty() ? 0 : rows.back().rank + 1; }

}  // namespace

std::string names_of(const std::vector<Cell>& cells, bool sums) {
  std::string text;
  for (std::size_t i = 0; i < cells.size();) {
    std::size_t end = i + 1;
    while (end < cells.size() && cells[end].index == cells[end - 1].index + 1 && cells[end].ranks == cells[i].ranks)
      ++end;
    if (!text.empty()) text += ' ';
    const int first = cells[i].index, last = cells[end - 1].index;
    text += first == last ? fmt::format("c{}", first) : fmt::format("c{}-c{}", first, last);
    const bool of_one = cells[i].ranks != 0 && (cells[i].ranks & (cells[i].ranks - 1)) == 0;
    if (!sums && of_one) text += fmt::format(" of rank {}", __builtin_ctzll(cells[i].ranks));
    i = end;
  }
  return text;
}

std::string text_of(const Action& action, const std::vector<Row>& rows, const std::vector<Cell>& cells, bool sums) {
  const int ranks = ranks_in(rows);
  const std::string to = places_of(action.to, rows, action.rank, ", ", " and ", ranks);
  const std::string what = names_of(cells, sums);
  if (action.kind == Action::Kind::add)
    return fmt::format("rank {} adds {}: {} -> {}", action.rank, what,
                       places_of(action.from, rows, action.rank, " + ", " + ", ranks), to);
  return fmt::format("rank {} copies {}: {} -> {}", action.rank, what,
                     places_of(action.from, rows, action.rank, ", ", " and ", ranks), to);
}

const char* label_of(timed::At::Kind kind) {
  constexpr const char* labels[] = {"in", "out", "inbox", "outbox", "packets", "message", "elsewhere"};
  return labels[static_cast<int>(kind)];
}

const char* kind_of(Purpose purpose) {
  return purpose == Purpose::data || purpose == Purpose::p2p_data ? "data" : "credit";
}

std::string text_of_wait(const timed::Event& event) {
  switch (event.word) {
    case model::Word::enter: return "enters: waits for every rank";
    case model::Word::leave: return "leaves: waits for every rank";
    case model::Word::get_packets:
    case model::Word::reduce_packets: return "waits for packets from every rank";
    default: break;
  }
  const char* const what = kind_of(event.flags.purpose);
  return event.flags.peer == kAll ? fmt::format("waits for {} from every rank", what)
                                  : fmt::format("waits for {} from rank {}", what, event.flags.peer);
}

std::string text_of(const std::vector<Message>& messages) {
  const auto any = [&](const char* purpose) {
    return std::any_of(messages.begin(), messages.end(), [&](const Message& m) { return m.purpose == purpose; });
  };
  std::string text;
  const auto say = [&](const char* purpose, const char* what) {
    if (!any(purpose)) return;
    if (!text.empty()) text += "; ";
    text += what;
  };
  say("enter", "enter: every rank tells every other what it calls, and where its buffers are");
  say("packets", "packets: data and tag arrive together");
  say("leave", "leave: every rank tells every other that it touches their buffers no more");
  return text;
}

std::string kernel_file(const std::string& path) {
  const std::size_t at = path.rfind("kernels/");
  return at == std::string::npos ? path : path.substr(at);
}

std::string line_of(const timed::Event& event) {
  const std::string file = event.file;
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), event.line);
}

}  // namespace tutti::explain

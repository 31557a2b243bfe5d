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

/// "its output and rank 2's inbox"; "every rank's output" of one row of each rank.
std::string places_of(const std::vector<Cells>& cells, const std::vector<Row>& rows, int doer, const char* between,
                      const char* last, int ranks) {
  const auto row_of = [&](const Cells& c) -> const Row& { return rows[static_cast<std::size_t>(c.row)]; };
  const bool alike = std::all_of(cells.begin(), cells.end(),
                                 [&](const Cells& c) { return row_of(c).label == row_of(cells[0]).label; });
  if (alike && cells.size() > 2 && static_cast<int>(cells.size()) == ranks)
    return fmt::format("every rank's {}", place_of(row_of(cells[0]), row_of(cells[0]).rank).substr(4));
  const bool others = std::none_of(cells.begin(), cells.end(), [&](const Cells& c) { return row_of(c).rank == doer; });
  if (alike && others && cells.size() > 2 && static_cast<int>(cells.size()) == ranks - 1)
    return fmt::format("every peer's {}", place_of(row_of(cells[0]), row_of(cells[0]).rank).substr(4));
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += i + 1 == cells.size() ? last : between;
    text += place_of(row_of(cells[i]), doer);
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

std::string text_of_wait(const timed::Event& event) {
  switch (event.word) {
    case model::Word::enter: return "enters: waits for every rank";
    case model::Word::leave: return "leaves: waits for every rank";
    case model::Word::get_packets:
    case model::Word::reduce_packets: return "waits for packets from every rank";
    default: break;
  }
  const Purpose purpose = event.flags.purpose;
  const char* const what = purpose == Purpose::data || purpose == Purpose::p2p_data ? "data" : "credit";
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

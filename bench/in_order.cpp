#include "bench/in_order.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tutti::bench {
namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::vector<std::string> InOrder::gather(const std::string& mine) {
  using Piece = std::array<char, 256>;
  const std::vector<std::size_t> lengths = session_.bootstrap_all_gather(mine.size());
  std::vector<std::string> texts(lengths.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  for (std::size_t begin = 0; begin < longest; begin += Piece{}.size()) {
    Piece piece{};
    if (begin < mine.size()) mine.copy(piece.data(), piece.size(), begin);
    const std::vector<Piece> pieces = session_.bootstrap_all_gather(piece);
    for (std::size_t rank = 0; rank < texts.size(); ++rank)
      if (begin < lengths[rank]) texts[rank].append(pieces[rank].data(), std::min(piece.size(), lengths[rank] - begin));
  }
  return texts;
}

void InOrder::each(const std::string& line) {
  if (arrival_) {
    print(line + "\n");
    return;
  }
  std::string all;
  for (const std::string& text : gather(line)) all += text + "\n";
  if (session_.rank() == 0) print(all);
}

void InOrder::once(const std::string& text) {
  session_.bootstrap_barrier();
  if (session_.rank() == 0) print(text);
  session_.bootstrap_barrier();
}

}  // namespace tutti::bench

#include "bench/fit/fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/sizes.hpp"

namespace tutti::fit {
namespace {

constexpr std::size_t kWorst = 8;

std::string line_of(const std::string& title, const Summary& s, bool markdown) {
  const char* const form =
      markdown ? "| {} | {} | {:.1f} % | {:.1f} % | {:+.1f} % |\n" : "{:<44} {:>5} {:>8.1f} % {:>8.1f} % {:>+8.1f} %\n";
  return fmt::format(fmt::runtime(form), title, s.rows, 100 * s.median, 100 * s.ninetieth, 100 * s.bias);
}

std::string head_of(const std::string& title, bool markdown) {
  if (markdown)
    return fmt::format("\n| {} | rows | median error | 90 % are within | bias |\n|---|---|---|---|---|\n", title);
  return fmt::format("\n{:<44} {:>5} {:>10} {:>10} {:>10}\n", title, "rows", "median", "90 %", "bias");
}

std::string size_text(const bench::Case& c) {
  return c.is(bench::Operation::barrier) ? "-" : bench::exact_size(c.bytes);
}

std::string algorithm_text(const predict::Question& q) {
  return fmt::format("{} {}", name_of(q.c.operation), name_of(q.algorithm));
}

/// Sizes that differ by what was trimmed are one column.
std::size_t column_of(const bench::Case& c) {
  return c.bytes == 0 ? 0 : std::size_t{1} << static_cast<int>(std::lround(std::log2(static_cast<double>(c.bytes))));
}

/// The error of every row: algorithms by sizes.
std::string cells(std::span<const Judged> all, int ranks, bool markdown) {
  std::set<std::size_t> sizes;
  std::map<std::pair<std::string, std::string>, std::map<std::size_t, double>> lines;
  for (const Judged& row : all) {
    const predict::Question& q = row.measured.question;
    if (q.c.ranks != ranks) continue;
    sizes.insert(column_of(q.c));
    lines[{algorithm_text(q), name_of(q.memory)}][column_of(q.c)] = row.error();
  }
  std::string text = markdown ? fmt::format("\n| {} ranks, error in % | memory |", ranks)
                              : fmt::format("\n{:<32} {:<12}", fmt::format("{} ranks, error in %", ranks), "memory");
  for (const std::size_t size : sizes) {
    const std::string name = size == 0 ? "-" : bench::exact_size(size);
    text += fmt::format(fmt::runtime(markdown ? " {} |" : "{:>6}"), name);
  }
  text += '\n';
  if (markdown) {
    text += "|---|---|";
    for (std::size_t i = 0; i < sizes.size(); ++i) text += "---|";
    text += '\n';
  }
  for (const auto& [name, errors] : lines) {
    text += markdown ? fmt::format("| {} | {} |", name.first, name.second)
                     : fmt::format("{:<32} {:<12}", name.first, name.second);
    for (const std::size_t size : sizes) {
      const auto found = errors.find(size);
      const std::string cell = found == errors.end() ? "" : fmt::format("{:+.0f}", 100 * found->second);
      text += fmt::format(fmt::runtime(markdown ? " {} |" : "{:>6}"), cell);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string numbers_text(const Fit& fit) {
  std::string text =
      fmt::format("\n{:<16} {:>12}   {}\n", "number", "fitted", "20 % more or less cost of the mean error");
  for (const Determined& number : fit.numbers)
    text += fmt::format("{:<16} {:>12.4g}   {}\n", number.name, number.value,
                        number.loss < 0.0005 ? std::string("nothing: no row measured tells it")
                                             : fmt::format("{:.1f} points", 100 * number.loss));
  return text + fmt::format("mean |log(predicted / measured)| of the rows fitted: {:.3f}, before the fit {:.3f}\n",
                            fit.after, fit.before);
}

std::string errors_text(std::span<const Verdict> verdicts, bool markdown) {
  std::string text = head_of("predicted against measured", markdown);
  std::vector<Judged> all;
  std::set<int> ranks;
  for (const Verdict& verdict : verdicts) {
    if (verdict.rows.empty()) continue;
    all.insert(all.end(), verdict.rows.begin(), verdict.rows.end());
    for (const auto& [group, summary] : summaries(verdict.rows, [&](const Judged& row) {
           return fmt::format("{}, {} ranks", verdict.title, row.measured.question.c.ranks);
         }))
      text += line_of(group, summary, markdown);
  }
  text += line_of("all rows", summary_of(all), markdown);
  for (const Judged& row : all) ranks.insert(row.measured.question.c.ranks);
  for (const int n : ranks) {
    std::vector<Judged> its;
    std::copy_if(all.begin(), all.end(), std::back_inserter(its),
                 [n](const Judged& row) { return row.measured.question.c.ranks == n; });
    text += head_of(fmt::format("{} ranks, by size", n), markdown);
    std::map<std::size_t, std::vector<Judged>> by_size;
    for (const Judged& row : its) by_size[column_of(row.measured.question.c)].push_back(row);
    for (const auto& [size, rows] : by_size)
      text += line_of(size == 0 ? "barrier" : bench::exact_size(size), summary_of(rows), markdown);
    text += head_of(fmt::format("{} ranks, by algorithm", n), markdown);
    for (const auto& [group, summary] :
         summaries(its, [](const Judged& row) { return algorithm_text(row.measured.question); }))
      text += line_of(group, summary, markdown);
    text += cells(all, n, markdown);
  }
  std::sort(all.begin(), all.end(), [](const Judged& a, const Judged& b) { return a.off() > b.off(); });
  text += "\nworst rows:\n";
  for (std::size_t i = 0; i < std::min(kWorst, all.size()); ++i) {
    const predict::Question& q = all[i].measured.question;
    text += fmt::format("{}{} ranks, {}, {}, {}: predicted {:.2f} us, measured {:.2f} us\n", markdown ? "* " : "  ",
                        q.c.ranks, algorithm_text(q), name_of(q.memory), size_text(q.c), all[i].predicted * 1e6,
                        all[i].measured.seconds * 1e6);
  }
  return text;
}

}  // namespace tutti::fit

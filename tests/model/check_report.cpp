#include "tests/model/check_report.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace tutti::model {
namespace {

const char* name_of_row(const std::optional<Kernel>& kernel) { return kernel ? name_of(*kernel) : "sequences"; }

/// 1234567 as "1,234,567"
std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

/// "2 to 16, 32"
std::string ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last > i + 1 ? fmt::format("{} to {}", numbers[i], numbers[last]) : std::to_string(numbers[i]);
    i = last > i + 1 ? last + 1 : i + 1;
  }
  return text;
}

struct Row {
  std::vector<int> worlds;
  std::uint64_t trials = 0, schedules = 0, words = 0, left_out = 0, findings = 0;
};

}  // namespace

Progress::Progress(std::uint64_t schedules) : schedules_(schedules), terminal_(isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::show(const Group& group, std::uint64_t done) {
  const auto now = Clock::now();
  const double since = std::chrono::duration<double>(now - shown_).count();
  if (since < (terminal_ ? 0.1 : 20)) return;
  shown_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = elapsed * double(schedules_ - done) / double(done);
  std::string text = fmt::format("{:3.0f} %, {} of {} schedules, about {} left; now {} with {} ranks",
                                 100 * double(done) / double(schedules_), grouped(done), grouped(schedules_),
                                 duration(left), name_of_row(group.kernel), group.ranks);
  if (!terminal_) {
    std::fputs(text.append("\n").c_str(), stderr);
    return;
  }
  // What a terminal breaks into two lines cannot be written over.
  winsize window{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
    text.resize(std::min<std::size_t>(text.size(), window.ws_col - 1u));
  std::fputs(text.insert(0, "\r\033[K").c_str(), stderr);
}

std::string text_of(const Found& found, std::size_t most_lines) {
  std::string text = fmt::format("{}, {} ranks", name_of_row(found.group.kernel), found.group.ranks);
  if (const auto& trial = found.trial) {
    const cases::Case& c = trial->calls.front();
    text += fmt::format(", {} {} {}, root {}, {}, {}blocks {}, slots {}, {} calls", c.count, name_of(c.type),
                        name_of(c.op), c.root, memory_name(c.mapped), c.in_place ? "in place, " : "", c.blocks,
                        trial->geometry.slots, trial->calls.size());
  }
  text += fmt::format(", seed {}:\n", found.seed);
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < found.text.size(); ++lines) {
    if (lines == most_lines) return text.append("  and more, which this schedule alone shows:\n");
    const std::size_t end = std::min(found.text.find('\n', begin), found.text.size());
    text.append("  ").append(found.text, begin, end - begin).append("\n");
    begin = end + 1;
  }
  return text;
}

std::string summary_of(const Work& work, const Result& result, double seconds) {
  std::map<int, Row> rows;  // by kernel; sequences last
  std::map<int, std::vector<std::string>> left_out;
  const auto number = [](const std::optional<Kernel>& kernel) { return kernel ? static_cast<int>(*kernel) : kKernels; };
  Row sum;
  for (std::size_t i = 0; i < work.groups.size(); ++i) {
    const Group& group = work.groups[i];
    const Done& done = result.done[i];
    if (group.seeds == 0) left_out[group.ranks].push_back(name_of_row(group.kernel));
    Row& row = rows[number(group.kernel)];
    if (done.schedules > 0) row.worlds.push_back(group.ranks);
    const std::uint64_t trials =
        group.kernel ? std::min<std::uint64_t>(done.schedules, combinations(*group.kernel, group.ranks, work.pins))
                     : done.schedules;
    for (Row* r : {&row, &sum}) {
      r->trials += trials;
      r->schedules += done.schedules;
      r->words += done.words;
      r->left_out += done.left_out;
    }
  }
  for (const Found& found : result.found) {
    ++rows[number(found.group.kernel)].findings;
    ++sum.findings;
  }
  std::string text = fmt::format("{:<31}{:<18}{:>10}{:>11}{:>15}{:>10}\n", "kernel", "ranks", "trials", "schedules",
                                 "words", "findings");
  const auto line = [&text](const std::string& name, const std::string& worlds, const Row& row) {
    text += fmt::format("{:<31}{:<18}{:>10}{:>11}{:>15}{:>10}\n", name, worlds, grouped(row.trials),
                        grouped(row.schedules), grouped(row.words), row.findings);
  };
  for (const auto& [kernel, row] : rows)
    line(kernel < kKernels ? name_of(static_cast<Kernel>(kernel)) : "sequences", ranges(row.worlds), row);
  if (rows.size() > 1) line("all", "", sum);
  text += fmt::format("{} on {} {}.\n", duration(seconds), work.jobs, work.jobs == 1 ? "thread" : "threads");
  for (const auto& [ranks, kernels] : left_out)
    text +=
        fmt::format("Left out with {} ranks, where a schedule takes seconds: {}.\n", ranks, fmt::join(kernels, ", "));
  if (sum.left_out > 0)
    text += fmt::format("Left out {}: {} schedules.\n",
                        sum.findings > 0 ? "after a finding of their kernel, or when time was up" : "when time was up",
                        grouped(sum.left_out));
  return text;
}

}  // namespace tutti::model

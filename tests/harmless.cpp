#include "tests/harmless.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace tutti::tests {

Harmless::Harmless(const std::string& path) : path_(path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", path));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    constexpr std::string_view kBetween = " -- ";
    const std::size_t at = line.find(kBetween);
    if (at == line.npos || at + kBetween.size() == line.size())
      throw std::runtime_error(fmt::format("{}:{}: no reason (PATTERN -- REASON)", path, number));
    entries_.push_back({line.substr(0, at), line.substr(at + kBetween.size())});
  }
}

bool Harmless::Entry::lists(const std::string& defect) const {
  return fnmatch(pattern.c_str(), defect.c_str(), 0) == 0;
}

bool Harmless::lists(const std::string& defect) const { return why(defect) != nullptr; }

const std::string* Harmless::why(const std::string& defect) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.lists(defect); });
  return found == entries_.end() ? nullptr : &found->reason;
}

std::vector<std::string> Harmless::unlisted(const std::vector<Verdict>& verdicts) const {
  std::vector<std::string> all;
  for (const Verdict& verdict : verdicts)
    if (!verdict.found && !lists(verdict.defect)) all.push_back(fmt::format("not found: {}", verdict.defect));
  return all;
}

std::vector<std::string> Harmless::stale(const std::vector<Verdict>& verdicts) const {
  std::vector<std::string> all;
  for (const Entry& e : entries_) {
    const bool explains = std::any_of(verdicts.begin(), verdicts.end(), [&](const Verdict& verdict) {
      return !verdict.found && e.lists(verdict.defect);
    });
    if (!explains) all.push_back(fmt::format("{} lists what is always found: {}", path_, e.pattern));
  }
  return all;
}

std::vector<std::string> Harmless::complaints(const std::vector<Verdict>& verdicts) const {
  std::vector<std::string> all = unlisted(verdicts);
  for (std::string& complaint : stale(verdicts)) all.push_back(std::move(complaint));
  return all;
}

std::vector<std::string> Harmless::found_though_listed(const std::vector<Verdict>& verdicts) const {
  std::vector<std::string> all;
  for (const Verdict& verdict : verdicts)
    if (verdict.found && lists(verdict.defect))
      all.push_back(fmt::format("{} lists what is found: {}", path_, verdict.defect));
  return all;
}

}  // namespace tutti::tests

#include "bench/cpu_map.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

bool holds(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

int number_in(const std::string& file) {
  const std::string text = first_line(file);
  return text.empty() ? -1 : std::atoi(text.c_str());
}

// The number in names like cpu12, node0 and index3; -1 for other names.
int number_after(const std::string& prefix, const fs::path& path) {
  const std::string name = path.filename();
  if (name.compare(0, prefix.size(), prefix) != 0 || name.size() == prefix.size()) return -1;
  const std::string digits = name.substr(prefix.size());
  return digits.find_first_not_of("0123456789") == std::string::npos ? std::atoi(digits.c_str()) : -1;
}

}  // namespace

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    if (end == at || first < 0) break;
    long last = first;
    at = end;
    if (*at == '-') last = std::strtol(at + 1, &end, 10), at = end;
    for (long cpu = first; cpu <= last && cpu < 1 << 16; ++cpu) cpus.push_back(static_cast<int>(cpu));
    if (*at != ',') break;
    ++at;
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    if (i > 0) text += ',';
    text += i == j ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[j]);
    i = j + 1;
  }
  return text;
}

CpuMap::CpuMap(const std::string& sys) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sys + "/devices/system/cpu", none)) {
    const int number = number_after("cpu", entry.path());
    if (number < 0) continue;
    const std::string folder = entry.path();
    Cpu& cpu = cpus_[number];
    cpu.place.core = number_in(folder + "/topology/core_id");
    cpu.place.package = number_in(folder + "/topology/physical_package_id");
    cpu.siblings = parse_cpu_list(first_line(folder + "/topology/thread_siblings_list"));
    for (const auto& cache : fs::directory_iterator(folder + "/cache", none)) {
      if (number_after("index", cache.path()) < 0) continue;
      const std::string index = cache.path();
      if (first_line(index + "/type") == "Instruction") continue;
      const int level = number_in(index + "/level");
      if (level > 0) cpu.caches[level] = parse_cpu_list(first_line(index + "/shared_cpu_list"));
    }
  }
  int nodes = 0;
  for (const auto& entry : fs::directory_iterator(sys + "/devices/system/node", none)) {
    const int node = number_after("node", entry.path());
    if (node < 0) continue;
    const std::vector<int> cpus = parse_cpu_list(first_line(entry.path().string() + "/cpulist"));
    for (int cpu : cpus)
      if (const auto found = cpus_.find(cpu); found != cpus_.end()) found->second.place.node = node;
    if (!cpus.empty()) ++nodes;  // a node of memory alone has no CPUs
  }
  nodes_ = std::max(1, nodes);
}

CpuPlace CpuMap::place(int cpu) const {
  const auto found = cpus_.find(cpu);
  return found == cpus_.end() ? CpuPlace{} : found->second.place;
}

CpuLink CpuMap::link(int a, int b) const {
  if (a == b) return CpuLink::same_cpu;
  const auto found_a = cpus_.find(a), found_b = cpus_.find(b);
  if (found_a == cpus_.end() || found_b == cpus_.end()) return CpuLink::system;
  const Cpu &cpu_a = found_a->second, &cpu_b = found_b->second;
  if (holds(cpu_a.siblings, b)) return CpuLink::same_core;
  for (const auto& [level, sharers] : cpu_a.caches)
    if (level >= 2 && holds(sharers, b)) return level == 2 ? CpuLink::same_l2 : CpuLink::same_l3;
  const bool same_package = cpu_a.place.package == cpu_b.place.package;
  if (same_package && cpu_a.place.node == cpu_b.place.node) return CpuLink::same_node;
  return same_package ? CpuLink::same_package : CpuLink::system;
}

int CpuMap::packages() const {
  std::set<int> packages;
  for (const auto& [number, cpu] : cpus_) packages.insert(cpu.place.package);
  return std::max(1, static_cast<int>(packages.size()));
}

std::vector<int> CpuMap::cpus_of_node(int node) const {
  std::vector<int> cpus;
  for (const auto& [number, cpu] : cpus_)
    if (node < 0 || cpu.place.node == node) cpus.push_back(number);
  return cpus;
}

}  // namespace tutti::bench

// Where this machine's CPUs are: cores, caches, packages and NUMA nodes, as the kernel tells.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tutti::bench {

/// How near two CPUs are: the innermost thing that both belong to.
enum class CpuLink { same_cpu, same_core, same_l2, same_l3, same_node, same_package, system };

/// What the kernel does not tell is -1.
struct CpuPlace {
  int core = -1;  ///< numbered within its package
  int package = -1;
  int node = -1;  ///< of NUMA
};

class CpuMap {
 public:
  /// Reads the folder of sysfs; tests have one of their own.
  explicit CpuMap(const std::string& sys = "/sys");

  CpuPlace place(int cpu) const;
  CpuLink link(int a, int b) const;
  int packages() const;
  int nodes() const { return nodes_; }
  /// CPUs of a NUMA node, ascending; of all nodes for -1, which is what devices say that belong to none.
  std::vector<int> cpus_of_node(int node) const;

 private:
  struct Cpu {
    CpuPlace place;
    std::vector<int> siblings;               ///< hardware threads of its core
    std::map<int, std::vector<int>> caches;  ///< level -> CPUs that share it
  };
  std::map<int, Cpu> cpus_;
  int nodes_ = 1;
};

/// "0-3,8" -> 0 1 2 3 8; what cannot be read is left out.
std::vector<int> parse_cpu_list(const std::string& text);
/// 0 1 2 3 8 -> "0-3,8".
std::string cpu_list(const std::vector<int>& cpus);

/// The first line of a file; empty if it cannot be read.
std::string first_line(const std::string& file);

}  // namespace tutti::bench

// Folders of sysfs that describe machines, for tests of what is read there.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tutti::test {

/// A folder like /sys in a temporary place, removed at the end.
class Sysfs {
 public:
  Sysfs() {
    std::string name = (std::filesystem::temp_directory_path() / "tutti-sys-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Sysfs() { std::filesystem::remove_all(root_); }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;
  const std::string& root() const { return root_; }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void link(const std::string& name, const std::string& to) {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_directory_symlink(std::filesystem::path(root_) / to, path);
  }

  void cpu(int cpu, int package, int core, const std::string& siblings, const std::string& l2, const std::string& l3) {
    const std::string folder = "devices/system/cpu/cpu" + std::to_string(cpu);
    write(folder + "/topology/physical_package_id", std::to_string(package));
    write(folder + "/topology/core_id", std::to_string(core));
    write(folder + "/topology/thread_siblings_list", siblings);
    // index1 is the instructions' cache, which says nothing of data.
    const std::string level[] = {"1", "1", "2", "3"}, shared[] = {siblings, "0-99", l2, l3};
    for (int i = 0; i < 4; ++i) {
      const std::string cache = folder + "/cache/index" + std::to_string(i);
      write(cache + "/level", level[i]);
      write(cache + "/type", i == 1 ? "Instruction" : i == 0 ? "Data" : "Unified");
      write(cache + "/shared_cpu_list", shared[i]);
    }
  }
  void node(int node, const std::string& cpus) {
    write("devices/system/node/node" + std::to_string(node) + "/cpulist", cpus);
  }
  /// A device behind the bridges of `way`, as in "pci0000:00/0000:00:01.0".
  void pci(const std::string& way, const std::string& address, const std::string& kind, int numa) {
    const std::string folder = "devices/" + way + "/" + address;
    write(folder + "/vendor", "0x10de");
    write(folder + "/class", kind);
    write(folder + "/numa_node", std::to_string(numa));
    link("bus/pci/devices/" + address, folder);
  }

 private:
  std::string root_;
};

inline constexpr const char* kGpuClass = "0x030200";
inline constexpr const char* kNetworkClass = "0x020700";

}  // namespace tutti::test

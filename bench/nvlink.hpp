// How many NVLinks lead from GPU to GPU, as NVIDIA's management library tells.
#pragma once
#include <memory>
#include <vector>

#include "bench/pci_map.hpp"

namespace tutti::bench {

/// The library (NVML) comes with the driver and is opened here; without it nothing is known.
class NvLinks {
 public:
  explicit NvLinks(const std::vector<PciAddress>& gpus);
  ~NvLinks();
  NvLinks(const NvLinks&) = delete;
  NvLinks& operator=(const NvLinks&) = delete;

  bool known() const { return library_ != nullptr; }
  /// Active links between two of `gpus`: direct ones, and those that both have to switches. 0 if there are none, or
  /// nothing is known.
  int between(const PciAddress& a, const PciAddress& b) const;

 private:
  struct Ends {
    PciAddress gpu;
    std::vector<PciAddress> direct;  ///< the GPU at the other end of each link
    int to_switches = 0;
  };
  const Ends* ends_of(const PciAddress& gpu) const;
  void* library_ = nullptr;
  std::vector<Ends> ends_;
};

}  // namespace tutti::bench

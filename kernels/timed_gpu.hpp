// What words cost on GPUs whose memories reach each other.
#pragma once
#include "kernels/timed_costs.hpp"

namespace tutti::timed {

class GpuCosts : public Costs {
 public:
  using Costs::Costs;
  Moved move(const Mover& mover, double now, std::span<const Part> from, std::span<const Part> to) override;
  double signal(const Mover& mover, double now, double posted) override;
  Moved put_packets(const Mover& mover, double now, double bytes, int to, std::span<const Part> from,
                    std::span<const Part> lines, std::span<double> seen) override;
  double get_packets(const Mover& mover, double now, double bytes, int from, std::span<const Part> lines,
                     std::span<const Part> to, std::span<const double> seen, bool adds) override;
};

}  // namespace tutti::timed

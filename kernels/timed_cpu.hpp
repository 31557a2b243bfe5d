// What words cost on CPUs that share memory: by where the lines are that they load and store.
#pragma once
#include "kernels/timed_caches.hpp"
#include "kernels/timed_costs.hpp"

namespace tutti::timed {

class CpuCosts : public Costs {
 public:
  explicit CpuCosts(const Machine& machine) : Costs(machine), caches_(machine) {}
  Moved move(const Mover& mover, double now, std::span<const Part> from, std::span<const Part> to) override;
  double signal(const Mover& mover, double now, double posted) override;
  Moved put_packets(const Mover& mover, double now, double bytes, int to, std::span<const Part> from,
                    std::span<const Part> lines, std::span<double> seen) override;
  double get_packets(const Mover& mover, double now, double bytes, int from, std::span<const Part> lines,
                     std::span<const Part> to, std::span<const double> seen, bool adds) override;
  bool knows_places() const override { return true; }
  double use(int rank, double now, const Part& part, bool writes) override;

 private:
  int core_of(int rank) const { return machine_.cores > 0 ? rank % machine_.cores : rank; }
  bool streams(const Mover& mover, std::span<const Part> to) const;
  double end_of(int rank, double start, const Caches::Work& work);

  Caches caches_;
  std::vector<Bytes> from_, to_;  // of one word at a time
};

}  // namespace tutti::timed

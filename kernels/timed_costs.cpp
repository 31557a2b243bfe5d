#include "kernels/timed_costs.hpp"

#include "kernels/timed_cpu.hpp"
#include "kernels/timed_gpu.hpp"

namespace tutti::timed {

Wires::Wires(const Machine& machine)
    : ranks_(static_cast<std::size_t>(machine.ranks)), shared_(machine.wiring == Wiring::shared) {
  if (machine.multicast > 0 && machine.link > 0) through_switch_ = machine.link / machine.multicast;
  const std::size_t places = shared_ ? 1 : ranks_;
  out_.assign(places, Queue(machine.link));
  if (!shared_) in_.assign(places, Queue(machine.link));
  memory_.assign(places, Queue(machine.memory));
  if (machine.pair > 0) pairs_.assign(ranks_ * ranks_, Queue(machine.pair));
}

double Wires::cross(int from, int to, double now, double bytes) {
  const auto sender = static_cast<std::size_t>(from), receiver = static_cast<std::size_t>(to);
  double end = out_[shared_ ? 0 : sender].book(now, bytes);
  if (!shared_) end = std::max(end, in_[receiver].book(now, bytes));
  if (!pairs_.empty()) end = std::max(end, pairs_[sender * ranks_ + receiver].book(now, bytes));
  return end;
}

double Wires::touch(int rank, double now, double bytes) {
  return memory_[shared_ ? 0 : static_cast<std::size_t>(rank)].book(now, bytes);
}

std::unique_ptr<Costs> costs_of(const Machine& machine) {
  if (machine.is_gpu) return std::make_unique<GpuCosts>(machine);
  return std::make_unique<CpuCosts>(machine);
}

}  // namespace tutti::timed

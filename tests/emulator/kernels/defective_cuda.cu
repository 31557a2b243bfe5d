// Every kernel on a block that has a defect: the checker of the emulator must find each. Sums of f32 only, so that they
// compile in seconds; the loops of other types are checked in the code that ships.
#include "kernels/block_cuda.cuh"
#include "kernels/instance_cuda.hpp"
#include "tests/emulator/kernels/plant.hpp"

namespace tutti::emulator {

class DefectiveBlock : public CudaBlock {
 public:
  TUTTI_KERNEL DefectiveBlock(const Team& team, const Call& call, const Reports& reports, const Plant& plant)
      : CudaBlock(team, call, reports, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)), plant_(plant) {}

  TUTTI_KERNEL int next() const { return turned() ? CudaBlock::prev() : CudaBlock::next(); }
  TUTTI_KERNEL int prev() const { return turned() ? CudaBlock::next() : CudaBlock::prev(); }
  TUTTI_KERNEL char* lane_to(int peer, Lane lane, Count k) const { return CudaBlock::lane_to(peer, shared(lane), k); }
  TUTTI_KERNEL char* lane_from(int peer, Lane lane, Count k) const {
    return CudaBlock::lane_from(peer, shared(lane), k);
  }

  TUTTI_KERNEL void copy(View to, const void* from, std::size_t bytes) {
    if (bytes != 0 && has(Kind::copies_one_less)) --bytes;
    if (bytes != 0 && has(Kind::copies_one_more)) ++bytes;
    if (bytes % 16 != 0 && has(Kind::reads_whole_words)) bytes = (bytes + 15) / 16 * 16;
    CudaBlock::copy(to, from, bytes);
  }
  TUTTI_KERNEL void reduce(View to, View from, std::size_t n, const Reduction& reduction) {
    if (n != 0 && has(Kind::reduces_one_less)) --n;
    if (n != 0 && has(Kind::reduces_one_more)) ++n;
    if (!failed() && n != 0)
      device::reduce_as<device::Loop<float, ReduceOp::sum>>(to, from, n, device::Finish{reduction.divisor, 0});
  }

  // The switch moves whole units.
  TUTTI_KERNEL void copy(Multicast to, const void* from, std::size_t bytes) {
    if (bytes != 0 && has(Kind::copies_one_less)) bytes -= 16;
    if (bytes != 0 && has(Kind::copies_one_more)) bytes += 16;
    CudaBlock::copy(to, from, bytes);
  }
  template <class To>
  TUTTI_KERNEL void reduce(To to, Multicast from, std::size_t n, const Reduction& reduction) {
    constexpr std::size_t kUnit = 16 / sizeof(float);
    if (n != 0 && has(Kind::reduces_one_less)) n -= kUnit;
    if (n != 0 && has(Kind::reduces_one_more)) n += kUnit;
    CudaBlock::reduce(to, from, n, reduction);
  }

  TUTTI_KERNEL void signal(Flags to, Count count) {
    if (has(Kind::omits_signal, to.purpose)) return;
    if (has(Kind::signals_early, to.purpose)) ++count;
    if (to.peer >= 0 && size() > 2 && has(Kind::wrong_peer, to.purpose)) {
      do to.peer = (to.peer + 1) % size();
      while (to.peer == rank());
    }
    CudaBlock::signal(to, count);
  }
  TUTTI_KERNEL void wait(Flags from, Count count) {
    if (has(Kind::omits_wait, from.purpose)) return;
    CudaBlock::wait(from, has(Kind::waits_short, from.purpose) ? count - 1 : count);
  }
  TUTTI_KERNEL void advance_sent(Flags to, Count count) {
    if (!has(Kind::omits_advance, to.purpose)) CudaBlock::advance_sent(to, count);
  }
  TUTTI_KERNEL void advance_uses(Region region, Count count) {
    if (region != Region::packets || !has(Kind::keeps_uses)) CudaBlock::advance_uses(region, count);
  }
  TUTTI_KERNEL void leave() {
    if (!has(Kind::omits_leave)) CudaBlock::leave();
  }
  TUTTI_KERNEL void sync() {
    if (!has(Kind::omits_sync)) CudaBlock::sync();
  }

  TUTTI_KERNEL void put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to) {
    if (has(Kind::puts_no_packets)) return;
    if (has(Kind::tears_packets)) return put_torn(call, in, n, stride, to);
    CudaBlock::put_packets(call, in, n != 0 && has(Kind::puts_one_less) ? n - 1 : n, stride, to);
  }
  TUTTI_KERNEL void get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from) {
    if (!has(Kind::omits_get)) CudaBlock::get_packets(call, out, n, stride, from);
  }

 private:
  using Kind = Plant::Kind;

  /// Packets of two 4-byte halves, which PTX stores in no order.
  TUTTI_KERNEL void put_torn(const Call& call, const char* in, std::size_t n, std::size_t stride, int to) {
    const std::uint64_t use = uses(Region::packets);
    const device::Words message(n, call.element());
    for (std::size_t at = device::lane() * 4; at < message.units() * message.width; at += device::lanes() * 4) {
      for (int peer = 0; peer < size(); ++peer) {
        if (peer == rank() || (!device::concerns(to, peer) && at >= message.width)) continue;
        const std::uint32_t data =
            device::concerns(to, peer) ? device::load_part(in + peer * stride, at, message.bytes) : 0;
        asm volatile("st.relaxed.sys.global.v2.b32 [%0], {%1, %2};" ::"l"(packets(peer, use, rank()) + 2 * at),
                     "r"(data), "r"(packet_tag(use))
                     : "memory");
      }
    }
  }

  /// Whether the block has the defect, where it would make a difference.
  TUTTI_KERNEL bool has(Kind kind, Purpose purpose = Purpose::data) const {
    if (plant_.rank != rank()) return false;
    const bool planted = plant_.kind == kind && plant_.purpose == purpose;
    if (planted || plant_.kind == Kind::observes)
      ptx::store_relaxed_sys(plant_.used + static_cast<int>(kind) * kPurposes + static_cast<int>(purpose), 1);
    return planted;
  }
  TUTTI_KERNEL bool turned() const { return has(Kind::wrong_direction); }
  TUTTI_KERNEL Lane shared(Lane lane) const {
    return lane.index != 0 && has(Kind::shares_lane) ? Lane{0, lane.of} : lane;
  }

  const Plant& plant_;
};

template <Kernel kernel>
__global__ void defective(const __grid_constant__ Team team, const __grid_constant__ Call call,
                          const __grid_constant__ Reports reports, const __grid_constant__ Plant plant) {
  DefectiveBlock block(team, call, reports, plant);
  run_kernel<kernel>(block, call);
}

/// Names every instance, so that each is compiled.
template <int... k>
struct Instances {
  static inline const void* const all[] = {reinterpret_cast<const void*>(defective<static_cast<Kernel>(k)>)...};
};
template <int... k>
const void* const* instances(std::integer_sequence<int, k...>) {
  return Instances<k...>::all;
}
const void* const* all_instances() { return instances(std::make_integer_sequence<int, kKernels>{}); }

}  // namespace tutti::emulator

// Calls of kernels, for whatever runs them: their buffers, inputs whose results are exact, and what each rank must end
// up with.
#pragma once
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arithmetic.hpp"
#include "kernels/kernels.hpp"

namespace tutti::cases {

inline constexpr int kLeastSlots = 3;

/// Slots as small as the kernels allow, so that a few hundred bytes make many rounds.
inline Geometry tight_geometry(int ranks, int blocks, int slots) {
  return {.ranks = ranks,
          .blocks = blocks,
          .packet_blocks = blocks,
          .message_blocks = blocks,
          .slots = slots,
          // Beyond the fewest: cut by every call to its size, twice as many for short ones.
          .slot_bytes = least_slot_bytes(ranks) * (slots > kLeastSlots ? 2 : 1),
          .cut = slots > kLeastSlots,
          .p2p_slots = slots - 1,
          .p2p_slot_bytes = 256,
          .both_copy = slots > kLeastSlots,
          .packet_bytes = 384};
}

enum class Shape {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  message,
  nothing
};

constexpr Shape shape_of(std::string_view kernel) {
  if (kernel.ends_with("all_reduce")) return Shape::all_reduce;
  if (kernel.ends_with("reduce_scatter")) return Shape::reduce_scatter;
  if (kernel.ends_with("all_gather")) return Shape::all_gather;
  if (kernel.ends_with("broadcast")) return Shape::broadcast;
  if (kernel.ends_with("all_to_all")) return Shape::all_to_all;
  if (kernel.ends_with("reduce")) return Shape::reduce;
  if (kernel.ends_with("gather")) return Shape::gather;
  if (kernel.ends_with("scatter")) return Shape::scatter;
  return kernel.ends_with("barrier") ? Shape::nothing : Shape::message;
}
inline Shape shape_of(Kernel kernel) {
  static constexpr auto shapes = [] {
    std::array<Shape, kKernels> all{};
    for (int k = 0; k < kKernels; ++k)
      all[static_cast<std::size_t>(k)] = shape_of(tutti::name_of(static_cast<Kernel>(k)));
    return all;
  }();
  return shapes[static_cast<std::size_t>(kernel)];
}

/// `pulled`: mapped, and every rank would rather read than write its peers' memory. `multicast`: mapped at the same
/// place of all ranks, which a switch reaches.
enum class Mapped { all, none, all_but_one, pulled, multicast };

/// What `kernel` makes the most of.
constexpr Mapped best_for(Kernel kernel) { return by_multicast(kernel) ? Mapped::multicast : Mapped::all; }

/// One collective call, the same on all ranks, or one message.
struct Case {
  Kernel kernel = Kernel::barrier;
  std::size_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;  ///< of a rooted collective; the sender of a message
  int to = 0;    ///< the receiver of a message
  int blocks = 1;
  Mapped mapped = Mapped::all;
  bool in_place = false;
  std::uint64_t salt = 0;  ///< of the values and of where the buffers stand

  Shape shape() const { return shape_of(kernel); }
  /// Whether its input may be its output.
  bool may_be_in_place() const {
    const Shape s = shape();
    return s != Shape::broadcast && s != Shape::all_to_all && s != Shape::message && s != Shape::nothing;
  }
  bool rooted() const {
    const Shape s = shape();
    return s == Shape::broadcast || s == Shape::reduce || s == Shape::gather || s == Shape::scatter;
  }
};

inline std::string text_of(const Case& c) {
  const char* const mapped[] = {"mapped", "not mapped", "mapped on all but one", "pulled", "multicast"};
  return std::string(tutti::name_of(c.kernel)) + " of " + std::to_string(c.count) + " " + tutti::name_of(c.type) + " " +
         tutti::name_of(c.op) + ", root " + std::to_string(c.root) + ", blocks " + std::to_string(c.blocks) + ", " +
         mapped[static_cast<int>(c.mapped)] + (c.in_place ? ", in place" : "");
}

/// Element i of what `rank` puts in: small, so that sums are exact in every type; powers of two for products.
inline int input(const Case& c, int rank, std::size_t i) {
  const bool is_signed = c.type != DataType::u8 && c.type != DataType::u32 && c.type != DataType::u64;
  const auto mixed = static_cast<unsigned>(i * 5 + static_cast<std::size_t>(rank) * 11 + c.salt * 3 + i / 7);
  if (c.op == ReduceOp::prod) return (mixed % 3 == 0 ? 2 : 1) * (is_signed && mixed % 5 == 0 ? -1 : 1);
  return static_cast<int>(mixed % 7) - (is_signed ? 3 : 0);
}

template <class T>
T element(double value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>)
    return from_float<T>(static_cast<float>(value));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(value));
  else
    return static_cast<T>(value);
}

/// Element i of the inputs of all ranks, put together; not yet divided.
inline std::int64_t together(const Case& c, int ranks, std::size_t i) {
  std::int64_t all = input(c, 0, i);
  for (int r = 1; r < ranks; ++r) {
    const std::int64_t next = input(c, r, i);
    switch (c.op) {
      case ReduceOp::prod: all *= next; break;
      case ReduceOp::min: all = std::min(all, next); break;
      case ReduceOp::max: all = std::max(all, next); break;
      default: all += next;
    }
  }
  return all;
}

/// An element of the result of a reduction over all ranks, of which `all` is put together.
template <class T>
T reduced(const Case& c, int ranks, std::int64_t all) {
  if (c.op != ReduceOp::avg) return element<T>(static_cast<double>(all));
  if constexpr (std::is_integral_v<T>) return static_cast<T>(all / ranks);
  if constexpr (std::is_same_v<T, double>) return static_cast<double>(all) / ranks;
  return element<T>(static_cast<float>(all) / static_cast<float>(ranks));
}

/// A call with its buffers, and how much of them it reads and writes.
struct Prepared {
  Call call;
  std::size_t in_bytes = 0;
  std::size_t out_bytes = 0;
};

/// Two buffers a rank, each in a segment and again in memory that peers do not reach, for one call after the other.
/// A World has geometry(), allocate(rank, bytes), allocate_segment(bytes), segment(number, rank), place_of(address)
/// and, if a switch is real, multicast_of(address): where it reaches the same place of all ranks.
template <class World>
class CaseBuffers {
 public:
  /// `aligned`: data stands where its type may, as a GPU demands; else anywhere.
  CaseBuffers(World& world, std::size_t bytes, bool aligned = false)
      : world_(world), bytes_(bytes + 2 * kAround), aligned_(aligned) {
    for (int& s : segments_) s = world.allocate_segment(bytes_);
    for (int r = 0; r < world.geometry().ranks; ++r)
      for (int i = 0; i < 2; ++i) unmapped_.push_back(world.allocate(r, bytes_));
  }

  /// Fills the rank's buffers and makes the call. A sender runs Kernel::send, its receiver Kernel::recv.
  Prepared prepare(const Case& c, int rank) {
    const int n = world_.geometry().ranks;
    const Layout l = lay_out(c, rank);
    std::memset(l.in_buffer, kInPaint, reach_of(c));
    std::memset(l.out_buffer, paint_of(rank), reach_of(c));
    const int shift = c.shape() == Shape::broadcast || c.shape() == Shape::message ? c.root : rank;
    dispatch(c.type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t i = 0; i < l.in_elements; ++i) {
        const T value = element<T>(input(c, shift, i));
        std::memcpy(l.in + i * sizeof(T), &value, sizeof value);
      }
    });
    const std::size_t width = size_of(c.type);
    Call call;
    call.in = l.in;
    call.out = l.out;
    call.count = c.count;
    call.reduction = {c.type, c.op == ReduceOp::avg ? ReduceOp::sum : c.op,
                      c.op == ReduceOp::avg ? static_cast<std::uint32_t>(n) : 1};
    call.peer = c.shape() == Shape::message ? (rank == c.root ? c.to : c.root) : c.root;
    call.description = describe(static_cast<int>(c.shape()), static_cast<int>(c.kernel), c.type, c.op,
                                c.rooted() ? c.root : -1, c.blocks);
    if (c.shape() == Shape::message)
      call.description = describe(static_cast<int>(c.shape()), 0, c.type, ReduceOp::sum, -1, c.blocks);
    call.in_place = world_.place_of(l.in);
    call.out_place = world_.place_of(l.out);
    if (by_multicast(c.kernel) && (c.shape() == Shape::all_gather || multicasts(call.reduction))) {
      call.in_multicast = multicast_of(l.in, call.in_place);
      call.out_multicast = multicast_of(l.out, call.out_place);
    }
    // Some would pull and some would not where not all is mapped: then nobody does.
    call.pulls = c.mapped == Mapped::pulled || (c.mapped == Mapped::all_but_one && rank % 2 == 0);
    return {call, l.in_elements * width, l.out_elements * width};
  }

  /// Compares what the rank got, bit for bit, and that nothing around it was written; then spoils both buffers. What is
  /// wrong, or nothing.
  std::string wrong_in(const Case& c, int rank) {
    std::string wrong;
    const int n = world_.geometry().ranks;
    const Layout l = lay_out(c, rank);
    dispatch(c.type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t i = 0; i < l.out_elements; ++i) {
        T want;
        switch (c.shape()) {
          case Shape::all_reduce:
          case Shape::reduce: want = reduced<T>(c, n, all(c, i)); break;
          case Shape::reduce_scatter:
            want = reduced<T>(c, n, all(c, static_cast<std::size_t>(rank) * c.count + i));
            break;
          case Shape::scatter: want = element<T>(input(c, c.root, static_cast<std::size_t>(rank) * c.count + i)); break;
          case Shape::all_to_all:
            want = element<T>(
                input(c, static_cast<int>(i / c.count), static_cast<std::size_t>(rank) * c.count + i % c.count));
            break;
          case Shape::gather:
          case Shape::all_gather: want = element<T>(input(c, static_cast<int>(i / c.count), i % c.count)); break;
          default: want = element<T>(input(c, c.root, i));
        }
        if (std::memcmp(&want, l.out + i * sizeof(T), sizeof want) == 0) continue;
        T got;
        std::memcpy(&got, l.out + i * sizeof(T), sizeof got);
        wrong = text_of(c) + ": rank " + std::to_string(rank) + " element " + std::to_string(i) + " expected " +
                std::to_string(widen<double>(want)) + " got " + std::to_string(widen<double>(got));
        break;
      }
    });
    const char* const out_end = l.out + l.out_elements * size_of(c.type);
    for (const auto& [begin, end] : {std::pair<const char*, const char*>{l.out_buffer, l.out},
                                     std::pair<const char*, const char*>{out_end, l.out_buffer + reach_of(c)}}) {
      if (c.in_place || begin == end || (*begin == paint_of(rank) && std::equal(begin + 1, end, begin))) continue;
      const char* const at = std::find_if(begin, end, [rank](char byte) { return byte != paint_of(rank); });
      wrong = text_of(c) + ": rank " + std::to_string(rank) + " byte " + std::to_string(at - l.out) +
              " from its output was written";
    }
    std::memset(l.in_buffer, kSpoil, reach_of(c));
    std::memset(l.out_buffer, kSpoil, reach_of(c));
    return wrong;
  }

 private:
  /// Executors without a switch visit the places: any address tells them that there is one.
  char* multicast_of(char* at, Place place) const {
    if (!place.mapped() || place.offset() % 16 != 0) return nullptr;
    if constexpr (requires { world_.multicast_of(at); })
      return world_.multicast_of(at);
    else
      return at;
  }

  static constexpr std::size_t kAround = 64;
  // Around inputs, and around each rank's output: all differ, so that what is copied from one to another is seen.
  static constexpr char kInPaint = 0x3c;
  static constexpr char paint_of(int rank) { return static_cast<char>(0xa5 + rank); }
  static constexpr char kSpoil = static_cast<char>(0x5c);

  struct Layout {
    char* in_buffer = nullptr;
    char* out_buffer = nullptr;
    char* in = nullptr;
    char* out = nullptr;
    std::size_t in_elements = 0;
    std::size_t out_elements = 0;
  };

  /// together(c, ranks, i), which every rank asks for.
  std::int64_t all(const Case& c, std::size_t i) {
    if (all_of_.salt != c.salt || all_of_.op != c.op || all_of_.type != c.type) {
      all_of_ = c;
      all_.clear();
    }
    while (all_.size() <= i) all_.push_back(together(c, world_.geometry().ranks, all_.size()));
    return all_[i];
  }

  /// As much of a buffer as the call could fill if one chunk went astray, and what is around it.
  std::size_t reach_of(const Case& c) const {
    const Shape s = c.shape();
    const bool one_chunk = s == Shape::all_reduce || s == Shape::reduce || s == Shape::broadcast || s == Shape::message;
    const auto chunks = one_chunk ? std::size_t{2} : static_cast<std::size_t>(world_.geometry().ranks);
    return std::min(bytes_, 2 * kAround + chunks * c.count * size_of(c.type));
  }

  Layout lay_out(const Case& c, int rank) const {
    const auto n = static_cast<std::size_t>(world_.geometry().ranks);
    const int unmapped_rank = static_cast<int>(c.salt % n);
    const bool mapped = c.mapped == Mapped::all || c.mapped == Mapped::pulled || c.mapped == Mapped::multicast ||
                        (c.mapped == Mapped::all_but_one && rank != unmapped_rank);
    const auto buffer = [&](int i) {
      return mapped ? world_.segment(segments_[i], rank) : unmapped_[static_cast<std::size_t>(2 * rank + i)];
    };
    Layout l{.in_buffer = buffer(0), .out_buffer = buffer(1)};
    // Where the data stands in its buffer differs from rank to rank, but for the switch.
    const bool by_switch = c.mapped == Mapped::multicast;
    const std::size_t grain = by_switch ? 16 : aligned_ ? size_of(c.type) : 1;
    const std::size_t offset = (c.salt + (by_switch ? 0 : static_cast<std::size_t>(rank) * 5)) % kAround;
    l.in = l.in_buffer + offset / grain * grain;
    l.out = l.out_buffer + (offset * 3 + 1) % kAround / grain * grain;
    l.in_elements = l.out_elements = c.count;
    std::size_t before_out = 0, before_in = 0;  // in place, elements from the start of the one buffer
    switch (c.shape()) {
      case Shape::reduce_scatter:
        l.in_elements *= n;
        before_out = static_cast<std::size_t>(rank) * c.count;
        break;
      case Shape::all_gather:
        l.out_elements *= n;
        before_in = static_cast<std::size_t>(rank) * c.count;
        break;
      case Shape::reduce:
        if (rank != c.root) l.out_elements = 0;
        break;
      case Shape::gather:
        l.out_elements = rank == c.root ? c.count * n : 0;
        if (rank == c.root) before_in = static_cast<std::size_t>(rank) * c.count;
        break;
      case Shape::scatter:
        l.in_elements = rank == c.root ? c.count * n : 0;
        if (rank == c.root) before_out = static_cast<std::size_t>(rank) * c.count;
        break;
      case Shape::all_to_all:
        l.in_elements *= n;
        l.out_elements *= n;
        break;
      case Shape::broadcast: (rank == c.root ? l.out_elements : l.in_elements) = 0; break;
      case Shape::message: (rank == c.root ? l.out_elements : l.in_elements) = 0; break;
      case Shape::nothing: l.in_elements = l.out_elements = 0; break;
      default: break;
    }
    if (c.in_place) {
      char* const start = l.in;
      l.out_buffer = l.in_buffer;
      l.in = start + before_in * size_of(c.type);
      l.out = start + before_out * size_of(c.type);
    }
    return l;
  }

  World& world_;
  std::size_t bytes_;
  bool aligned_;
  int segments_[2];
  std::vector<char*> unmapped_;    // [rank][in, out]
  Case all_of_;                    // the reduction of
  std::vector<std::int64_t> all_;  // whose elements these are
};

/// How much memory Buffers need for the cases.
inline std::size_t buffer_bytes(const std::vector<Case>& cases, int ranks) {
  std::size_t bytes = 0;
  for (const Case& c : cases) bytes = std::max(bytes, c.count * size_of(c.type) * static_cast<std::size_t>(ranks));
  return bytes;
}

/// Whether a kernel takes the case at all, as the layer above chooses.
inline bool takes(const Case& c, const Geometry& g) {
  const std::string_view name = tutti::name_of(c.kernel);
  const std::size_t width = size_of(c.type);
  if (by_packets(c.kernel) && c.blocks > g.packet_blocks) return false;
  if (by_multicast(c.kernel) && c.mapped == Mapped::multicast && c.shape() != Shape::all_gather)
    if (!multicasts({c.type, c.op == ReduceOp::avg ? ReduceOp::sum : c.op, c.op == ReduceOp::avg ? 2u : 1u}))
      return false;
  if (c.shape() == Shape::message && c.blocks > g.message_blocks) return false;
  if (by_packets(c.kernel) &&
      part(c.count, static_cast<std::size_t>(c.blocks), 0, kLine / width).size() * width > g.packet_bytes)
    return false;
  // These round at each hop and divide last: floats only.
  const bool reduces =
      c.shape() == Shape::all_reduce || c.shape() == Shape::reduce || c.shape() == Shape::reduce_scatter;
  const bool in_steps = name.starts_with("ring") || name.starts_with("tree") || name.find("doubling") != name.npos;
  if (reduces && in_steps && c.op == ReduceOp::avg && c.type != DataType::f32 && c.type != DataType::f64) return false;
  return true;
}

}  // namespace tutti::cases

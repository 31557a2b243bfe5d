#include "tests/model/check_cases.hpp"

#include <numeric>

namespace tutti::model {
namespace {

using cases::Case;
using cases::Mapped;
using cases::Shape;

/// What a draw is for.
enum Draw : std::uint64_t { kType, kOp, kRoot, kReceiver, kSalt, kUses };

/// A count: the elements of so many bytes, and so many more or fewer.
struct Size {
  std::size_t bytes = 0;
  std::ptrdiff_t more = 0;
};

/// Sizes around every border of the geometry.
std::vector<Size> sizes_of(Kernel kernel, const Geometry& g, int blocks) {
  const Shape shape = cases::shape_of(kernel);
  if (shape == Shape::nothing) return {{}};
  const auto n = static_cast<std::ptrdiff_t>(g.ranks);
  const auto b = static_cast<std::size_t>(blocks), slots = static_cast<std::size_t>(g.slots);
  std::vector<Size> sizes = {{}, {0, 1}, {0, 7}, {0, n - 1}, {0, n + 1}, {kLine, 1}, {kLine * b, 0}};
  const auto around = [&](std::size_t bytes) {
    for (const std::ptrdiff_t more : {-1, 0, 1}) sizes.push_back({bytes, more});
  };
  if (by_packets(kernel)) {
    around(kPacketLine);
    around(kLine * b);
    sizes.push_back({g.packet_bytes, 0});
    sizes.push_back({g.packet_bytes * b, 0});
    sizes.push_back({g.packet_bytes * b, -1});
    return sizes;
  }
  if (shape == Shape::message) {
    around(Header::kShort);
    around(g.p2p_slot_bytes);
    around(g.p2p_slot_bytes * b);
    // Every slot again, and more of the last.
    sizes.push_back({g.p2p_slot_bytes * b * static_cast<std::size_t>(g.p2p_slots), 1});
    sizes.push_back({g.p2p_slot_bytes * b * static_cast<std::size_t>(2 * g.p2p_slots + 1), 3});
    return sizes;
  }
  // The slices of the kernels: a slot, or a lane of one, of which there are one for each rank, or for each power of
  // two.
  const auto ranks = static_cast<std::size_t>(g.ranks);
  const std::size_t spread = shape == Shape::all_reduce ? ranks : 1;  // the count is shared out over the ranks
  const std::size_t lane = g.slot_bytes / ranks;
  around(g.slot_bytes * spread);
  around(g.slot_bytes / static_cast<std::size_t>(ceil_log2(g.ranks) + 1) / kLine * kLine * spread);
  around(lane * spread);
  sizes.push_back({lane * spread * b * (slots + 2), 3});
  sizes.push_back({g.slot_bytes * spread * b * 2, 3});
  return sizes;
}

std::size_t elements(const Size& size, std::size_t width) {
  const auto count = static_cast<std::ptrdiff_t>(size.bytes / width) + size.more;
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

Geometry geometry_for(int ranks, int blocks, int slots) { return cases::tight_geometry(ranks, blocks, slots); }

/// How many ways there are to choose what is not pinned. All kernels have as many sizes for any blocks and slots.
struct Ways {
  std::size_t sizes, memories, places, blocks, slots;

  Ways(Kernel kernel, int ranks, const Pins& pins)
      : sizes(pins.count || pins.bytes ? 1 : sizes_of(kernel, geometry_for(ranks, 1, cases::kLeastSlots), 1).size()),
        memories(pins.mapped            ? 1
                 : by_multicast(kernel) ? 5
                                        : 4),
        places(pins.in_place || !Case{.kernel = kernel}.may_be_in_place() ? 1 : 2),
        blocks(pins.blocks ? 1 : kMostBlocks),
        slots(pins.slots ? 1 : kMostSlots - cases::kLeastSlots + 1) {}
  std::size_t all() const { return sizes * memories * places * blocks * slots; }
};

/// Far from itself and coprime to `n`, so that neighbours differ much, and n multiples of it give all numbers below n.
std::size_t stride_for(std::size_t n) {
  std::size_t stride = n * 618 / 1000 + 1;
  while (std::gcd(stride, n) != 1) ++stride;
  return stride;
}

}  // namespace

std::size_t drawn(std::uint64_t seed, std::uint64_t what_for, std::size_t below) {
  // splitmix64
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + (what_for + 1) * 0xd1342543de82ef95u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>((x ^ x >> 31) % below);
}

std::size_t combinations(Kernel kernel, int ranks, const Pins& pins) { return Ways(kernel, ranks, pins).all(); }

std::optional<Trial> trial_of(Kernel kernel, int ranks, const Pins& pins, std::uint64_t seed) {
  const Ways ways(kernel, ranks, pins);
  // Worlds in which few seeds are tried begin in different places, so that together they try all.
  const std::size_t start = static_cast<std::size_t>(ranks) * 120;
  std::size_t which = (static_cast<std::size_t>(seed % ways.all()) + start) * stride_for(ways.all()) % ways.all();
  const auto digit = [&which](std::size_t of) {
    const std::size_t value = which % of;
    which /= of;
    return static_cast<int>(value);
  };
  Case c{.kernel = kernel};
  c.mapped = pins.mapped.value_or(static_cast<Mapped>(digit(ways.memories)));
  c.blocks = pins.blocks.value_or(1 + digit(ways.blocks));
  const int slots = pins.slots.value_or(cases::kLeastSlots + digit(ways.slots));
  c.in_place = c.may_be_in_place() && pins.in_place.value_or(digit(ways.places) == 1);
  const auto size_index = static_cast<std::size_t>(digit(ways.sizes));
  Trial trial{.geometry = geometry_for(ranks, c.blocks, slots), .calls = {}, .seed = seed, .packet_uses = 0};
  const Size size =
      pins.bytes ? Size{*pins.bytes, 0} : sizes_of(kernel, trial.geometry, c.blocks)[pins.count ? 0 : size_index];

  const auto n = static_cast<std::size_t>(ranks);
  c.root = pins.root.value_or(static_cast<int>(drawn(seed, kRoot, n)));
  c.to = static_cast<int>((static_cast<std::size_t>(c.root) + 1 + drawn(seed, kReceiver, n - 1)) % n);
  c.salt = drawn(seed, kSalt, 1u << 20);
  // Not every kernel takes every type with every operation.
  bool taken = false;
  for (std::uint64_t again = 0; again < 64 && !taken; ++again) {
    c.type = pins.type.value_or(static_cast<DataType>(drawn(seed + again, kType, kDataTypes)));
    c.op = pins.op.value_or(static_cast<ReduceOp>(drawn(seed + again, kOp, kReduceOps)));
    c.count = pins.count.value_or(elements(size, size_of(c.type)));
    if (c.shape() == Shape::nothing) c.count = 0;
    if (by_packets(kernel)) {
      // Room for what is asked for, which may be more than any of the sizes above.
      const std::size_t band = part(c.count, static_cast<std::size_t>(c.blocks), 0, kLine / size_of(c.type)).size();
      trial.geometry.packet_bytes =
          std::max(trial.geometry.packet_bytes, ceil_div(band * size_of(c.type), kLine) * kLine);
    }
    taken = cases::takes(c, trial.geometry);
  }
  if (!taken) return {};

  // Packets have two halves, which the third call uses again; their tags may repeat between two calls.
  const int calls = by_packets(kernel) ? 4 : c.shape() == Shape::message ? 3 : 2;
  if (by_packets(kernel) && drawn(seed, kUses, 3) == 0) trial.packet_uses = kBeforeTagsRepeat;
  for (int call = 0; call < calls; ++call) {
    trial.calls.push_back(c);
    c.salt += 9;
    c.root = (c.root + 1) % ranks;
    c.to = (c.to + 1) % ranks;
  }
  return trial;
}

}  // namespace tutti::model

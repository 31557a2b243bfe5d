// Which kernel a call runs, and why. Depends only on what is equal on all ranks.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "collectives/backend.hpp"
#include "collectives/tuning.hpp"
#include "kernels/connection.hpp"
#include "kernels/kernels.hpp"

namespace tutti {

struct Plan {
  Kernel kernel = Kernel::barrier;
  Algorithm algorithm = Algorithm::direct;
  std::string_view reason;
};

/// A kernel, by the collective that it serves and the algorithm that it is.
struct Implementation {
  Collective collective;
  Algorithm algorithm;
  Kernel kernel;
};
std::span<const Implementation> implementations();
/// Null if there is none.
const Implementation* implementation_of(Collective collective, Algorithm algorithm);

/// Whether `kernel` reduces every element at once, over all ranks in their order, or reduces nothing.
bool in_rank_order(const Implementation& implementation);

/// What the formula of `implementation` multiplies for a call of `bytes` bytes of Request::bytes().
Quantities quantities_of(const Implementation& implementation, int ranks, double bytes, int blocks);

/// What choosing needs of a communicator: the formulas of its number of ranks, and what limits them.
class Chooser {
 public:
  /// `geometry`: the one by which to choose (on GPUs, with the packets of all blocks).
  Chooser(const Geometry& geometry, bool deterministic, const Tuning& tuning);
  Chooser() : Chooser(Geometry{.ranks = 1}, false, Tuning{}) {}

  int ranks() const { return ranks_; }
  std::size_t packet_bytes() const { return packet_bytes_; }
  bool deterministic() const { return deterministic_; }
  /// Whether the ranks have a switch that reduces and replicates; they have none unless it is said.
  bool multicast() const { return multicast_; }
  void set_multicast(bool has) { multicast_ = has; }
  const char* origin() const { return origin_.data(); }

  /// What `of` is expected to take for `request`, whether or not it can serve it; infinite without a formula.
  double nanoseconds(const Implementation& of, const Request& request) const;

  /// Whether an automatic choice may take `of` for `request`.
  bool may_serve(const Implementation& of, const Request& request) const;

  /// The fastest by its formula of those that may serve `request`, but for the algorithm `except`; null if none is
  /// left.
  const Implementation* fastest(const Request& request, Algorithm except = Algorithm::automatic) const;

 private:
  /// A formula for this number of ranks.
  struct Line {
    double fixed = std::numeric_limits<double>::infinity();
    double wire = 0;                         ///< Cost::bytes of each of Request::bytes()
    std::array<double, kByteRanges> byte{};  ///< nanoseconds of each of the former, by range
  };
  int ranks_;
  std::size_t packet_bytes_;
  bool deterministic_;
  bool multicast_ = false;
  std::array<Line, kKernels> lines_;
  std::array<char, 160> origin_;
};

/// Throws ErrorCode::unsupported, alike on all ranks, if the request forces an algorithm that cannot serve it.
Plan choose(const Request& request, const Chooser& chooser);

/// The algorithms that a collective can be forced to use on every machine: "ring, tree".
std::string algorithms_of(Collective collective);

/// What `plan` costs by its kernel's formula if all buffers are mapped, what it is expected to take, and the next best.
Choice choice_of(const Request& request, const Plan& plan, const Chooser& chooser, int blocks);

/// What ranks compare when they meet in `request`; a send and its receive have the same.
Description describe(const Request& request, const Plan& plan, int blocks);

/// "all_reduce f32 sum, 1024 elements, by ring", for messages.
std::string to_string(Description description, std::uint64_t elements);

}  // namespace tutti

// One execution of a path: what each read returns, the order of the fence.sc, the order of writes; and the relations
// that follow from them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/emulator/litmus/skeleton.hpp"

namespace tutti::emulator::litmus {

/// `coherence` and `from_reads` are filled last; everything else rests on reads and fences alone.
struct Execution {
  explicit Execution(const Skeleton& the_skeleton);

  static constexpr int kInitial = -1;  ///< the write before all threads

  /// Takes cell `c` of the memory (one of those of the read) from `write`, or from kInitial.
  void read_from(int read, int cell, int write);
  int source(int read, int cell) const;

  /// Values of all reads and writes, by their definitions. False if a value would come out of itself, through reads and
  /// what depends on them: the axiom No-Thin-Air.
  bool evaluate();
  /// Whether the values are those for which the path was chosen.
  bool fits_path() const;
  std::uint64_t value(const Symbol& symbol) const;

  /// Observation order: from writes to the reads that see them, directly or through atomics in between.
  void observe();
  /// Base causality order and causality order, from all that synchronizes.
  void derive_causality();
  void derive_from_reads();

  const Skeleton& skeleton;
  Relation reads_from;      ///< writes to reads, at any cell
  Relation observation;     ///< writes to reads
  Relation fence_order;     ///< Fence-SC order, pairwise
  Relation base_causality;  ///< transitive
  Relation causality;
  Relation coherence;                 ///< transitive, overlapping writes
  Relation from_reads;                ///< reads to the writes that replace what they saw
  std::vector<std::uint64_t> values;  ///< of reads and writes

 private:
  std::uint64_t read_value(int read) const;
  std::uint64_t written_value(int write) const;

  std::vector<int> sources_;  ///< [event * cells + cell], for reads
  std::size_t cells_;
};

/// Which axioms must hold. No-Thin-Air cannot be left out: without it values have no definition.
struct Axioms {
  bool coherence = true;
  bool fence_sc = true;
  bool atomicity = true;
  bool sc_per_location = true;
  bool causality = true;
};

/// The axioms, each as the ISA states it. They need all relations of the execution, except that fence_sc and
/// no_read_from_the_future need no coherence.
bool satisfies_coherence(const Execution& execution);
bool satisfies_fence_sc(const Execution& execution);
bool satisfies_atomicity(const Execution& execution);
bool satisfies_sc_per_location(const Execution& execution);
/// First half of Causality: a read does not read from a write that it precedes in causality order.
bool reads_nothing_from_the_future(const Execution& execution);
/// Second half: a read does not read what a write that precedes it has replaced.
bool reads_nothing_replaced(const Execution& execution);

}  // namespace tutti::emulator::litmus

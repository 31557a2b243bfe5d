// A library whose collectives are measured beside tutti's, in processes of its own.
#pragma once
#include <memory>
#include <string>

#include "bench/buffers.hpp"

namespace tutti::bench::peers {

class Library {
 public:
  virtual ~Library() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string version() const = 0;
  /// Why it cannot run `c`, the same on all ranks; empty if it can.
  virtual std::string refusal(const Case& c) const = 0;
  /// Runs `c` once, to its end.
  virtual void run(const Case& c, const Buffers& buffers) = 0;
};

/// Joins the other ranks. `rank` and `size`: of a peer that has no launcher of its own, which meets in `folder`.
std::unique_ptr<Library> open_library(int rank, int size, const std::string& folder);

}  // namespace tutti::bench::peers

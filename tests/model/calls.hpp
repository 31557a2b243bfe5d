// Calls of kernels in the model.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "kernels/block_model.hpp"
#include "tests/kernel_cases.hpp"

namespace tutti::model {

using namespace cases;

/// Fewer schedules under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kReduced = true;
#else
inline constexpr bool kReduced = false;
#endif
/// Many more, if asked for.
inline bool full() {
  const char* const asked = std::getenv("TUTTI_FULL");
  return asked && std::string_view(asked) == "1";
}

/// Ranks are the communicator's.
class Buffers : public CaseBuffers<Communicator> {
 public:
  using CaseBuffers::CaseBuffers;
  Buffers(Model& model, std::size_t bytes) : CaseBuffers(model.world(), bytes) {}

  /// The same as an op of the model.
  Op prepare(const Case& c, int rank) {
    const Prepared p = CaseBuffers::prepare(c, rank);
    return run(c.kernel, p.call, c.blocks, p.in_bytes, p.out_bytes);
  }
  void verify(const Case& c, int rank) {
    const std::string wrong = wrong_in(c, rank);
    if (!wrong.empty()) ADD_FAILURE() << wrong;
  }
};

}  // namespace tutti::model

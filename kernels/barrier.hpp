// Barrier: entering is an exchange between all, so it is one.
#pragma once
#include "kernels/block.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void barrier(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
}

}  // namespace tutti

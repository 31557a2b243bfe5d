// What a kernel costs by its plan, to be compared with what the model counts.
#pragma once

namespace tutti {

/// Of one call whose messages fit one slice each, with as many slots as they need.
struct Cost {
  int steps = 0;     ///< the longest chain of messages, each sent after the one before was received; `enter` is one
  double bytes = 0;  ///< the most that one rank sends, or receives, whichever is more; flags do not count
};

}  // namespace tutti

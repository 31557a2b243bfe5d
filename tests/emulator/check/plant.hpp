// A defect planted in a kernel: what its block does wrong. Chosen when the kernel is launched.
#pragma once
#include "kernels/kernels.hpp"

namespace tutti::emulator {

struct Plant {
  enum class Kind : int {
    none,
    omits_wait,     ///< of `purpose`
    waits_short,    ///< for one signal too few
    omits_signal,   ///< of `purpose`
    signals_early,  ///< of `purpose`: counts one more than is done
    omits_leave,
    omits_advance,  ///< of the sending end of `purpose`
    omits_sync,
    copies_one_less,  ///< byte
    copies_one_more,
    reads_whole_words,  ///< copies up to the next 16 bytes
    reduces_one_less,   ///< element
    reduces_one_more,
    wrong_direction,  ///< the next rank is taken for the previous one, and the reverse
    wrong_peer,       ///< signals of `purpose` to one peer go to the one after
    shares_lane,      ///< takes the first lane for another
    puts_no_packets,
    puts_one_less,  ///< element
    tears_packets,  ///< stores data and tag apart
    omits_get,      ///< of packets
    keeps_uses,     ///< does not count its use of the packets
  };
  static constexpr int kKinds = 21;

  Kind kind = Kind::none;
  int rank = -1;  ///< whose blocks have it; kAll: all ranks'
  Purpose purpose = Purpose::data;
};

}  // namespace tutti::emulator

// A defect planted in a kernel: what its block does wrong. Chosen when the kernel is launched.
#pragma once
#include <string>

#include "kernels/kernels.hpp"

namespace tutti::emulator {

struct Plant {
  enum class Kind : int {
    none,
    observes,       ///< none, but notes each defect that would have made a difference
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
  static constexpr int kKinds = 22;

  Kind kind = Kind::none;
  int rank = -1;  ///< whose blocks have it; kAll: all ranks'
  Purpose purpose = Purpose::data;
  std::uint64_t* used = nullptr;  ///< [kKinds][kPurposes] where it is noted that a defect was come by
};

inline std::string text_of(const Plant& plant) {
  constexpr const char* kinds[Plant::kKinds] = {"none",
                                                "observes",
                                                "omits its waits",
                                                "waits for one signal too few",
                                                "omits its signals",
                                                "signals one step early",
                                                "omits leave",
                                                "omits advance_sent",
                                                "omits sync",
                                                "copies a byte less",
                                                "copies a byte more",
                                                "copies whole words",
                                                "reduces an element less",
                                                "reduces an element more",
                                                "takes next for prev",
                                                "signals the peer after",
                                                "takes the first lane for another",
                                                "puts no packets",
                                                "puts an element less",
                                                "puts packets that may be torn",
                                                "omits get_packets",
                                                "does not count its packets"};
  constexpr const char* purposes[kPurposes] = {"data", "credit", "enter", "leave", "p2p_data", "p2p_credit"};
  return std::string("rank ") + std::to_string(plant.rank) + " " + kinds[static_cast<int>(plant.kind)] + " (" +
         purposes[static_cast<int>(plant.purpose)] + ")";
}

}  // namespace tutti::emulator

// What a run in virtual time did, word by word: tables, pictures and timelines are made from it.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/connection.hpp"
#include "kernels/model_words.hpp"

namespace tutti::timed {

/// Where bytes stand, as the algorithm sees them.
struct At {
  enum class Kind : std::uint8_t {
    in,       ///< of a rank's call
    out,      ///< the same; of a call in place, both are `out`
    inbox,    ///< a slot of it
    outbox,   ///< the same
    packets,  ///< from one sender
    message,  ///< a slot for messages of one sender
    elsewhere,
  };
  Kind kind = Kind::elsewhere;
  int rank = -1;           ///< whose memory
  int slot = -1;           ///< of inbox, outbox and message; half of packets
  int sender = -1;         ///< of packets and message
  std::size_t offset = 0;  ///< bytes from the begin of the buffer or slot
};

/// One word of one block.
struct Event {
  model::Word word = model::Word::sync;
  int rank = 0, block = 0;
  const char* file = "";  ///< of the kernel, and the line in it
  int line = 0;
  double begin = 0, end = 0;  ///< ns; a word that waits ends when it has what it waited for
  double arrived = 0;         ///< of what stores at a peer: when the last byte, or flag, is there
  int step = 0;               ///< messages of this call that came before its end, one after the other: see Spent::steps
  std::size_t bytes = 0;      ///< at each place that is read or written
  std::vector<At> from, to;   ///< of copy, reduce and the packets' words; in the order they are added
  Flags flags = data(kAll);   ///< of signal and wait
  Count count = 0;            ///< the same, relative to the call
};

/// In the order in which words began; of one block, in its order.
using Trace = std::vector<Event>;

}  // namespace tutti::timed

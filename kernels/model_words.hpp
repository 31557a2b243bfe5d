// The words of a block as the model sees them: where in which kernel's source one stands, and what a test lets it do.
#pragma once
#include <cstdint>
#include <source_location>
#include <string>

#include "kernels/connection.hpp"

namespace tutti::model {

/// The words of a block. After them, what a test may change without being words: lanes, asked for between words. Last,
/// `caller`: the program's own use of its buffers, before and after a call.
enum class Word : std::uint8_t {
  copy,
  reduce,
  enter,
  leave,
  signal,
  wait,
  advance_sent,
  advance_received,
  advance_uses,
  put_packets,
  get_packets,
  reduce_packets,
  wipe_packets,
  offer,
  accept,
  sync,
  lane_to,
  lane_from,
  caller,
};
const char* name_of(Word word);
const char* name_of(Purpose purpose);

/// Where a word stands: the kernel's file, without its folder, and the line.
struct Line {
  const char* file = "";
  std::uint32_t number = 0;

  Line() = default;
  explicit Line(const std::source_location& at);
  /// "ring.hpp:54"
  std::string text() const;
};

/// A word about to run, as tests that change what it does see it.
struct WordAt {
  const char* kernel;
  int communicator;  ///< 0: of all ranks
  int rank;          ///< in the communicator
  int block;
  std::size_t call;  ///< of this rank on this communicator, from 0
  Word word;
  Flags flags;            ///< of signal, wait and advance, and data of a lane's peer; else data(kAll)
  Count count;            ///< of signal, wait, advance and lane, relative to the call; else 0
  Lane lane;              ///< of lane_to and lane_from
  std::uint32_t ordinal;  ///< which word of the block's call, from 1; of a lane, the word before it
  const char* file;
  int line;
};

/// What a word is to do instead of what it says.
struct Verdict {
  bool nothing = false;  ///< be left out; not for lanes
  Count less = 0;        ///< signal, wait for, or advance by, so many signals fewer
  int lane = -1;         ///< of lane_to and lane_from: take this one instead
  bool silent = false;   ///< of enter and leave: tell nobody
  bool deaf = false;     ///< of enter and leave: wait for nobody
  bool early = false;    ///< of what tells others: vouch neither for the block's last access nor for what followed
};

}  // namespace tutti::model

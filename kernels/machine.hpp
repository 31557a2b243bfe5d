// A machine as the executor in virtual time sees it: how long words, flags and bytes take. All times are in
// nanoseconds, all rates in bytes per nanosecond (10^9 bytes per second).
#pragma once
#include <string>
#include <vector>

namespace tutti::timed {

/// How the ranks' ports are joined.
enum class Wiring {
  switched,  ///< each rank has a port; any pair may use all of both its ports
  direct,    ///< each pair has a link of its own
  shared,    ///< one memory, or one bus, for all: CPUs, GPUs behind one bridge
};

/// Bytes per nanosecond that one block moves while all that a call touches fits `bytes`; beyond the last tier, that
/// one's.
struct Tier {
  double bytes = 0;
  double own_load = 0, own_store = 0;    ///< memory that only this rank has touched lately
  double peer_load = 0, peer_store = 0;  ///< memory that a peer has
};

struct Machine {
  std::string name;
  std::string about;   ///< one line, for headings
  bool is_gpu = true;  ///< blocks have cores of their own; stores to peers are posted
  int ranks = 2;       ///< GPUs, or processes
  int blocks = 0;      ///< of a large call; 0: as many as the library would run
  Wiring wiring = Wiring::switched;

  double launch = 0;     ///< from the call until its blocks begin
  double word = 0;       ///< of a copy or a reduce, whatever its length
  double signal = 0;     ///< of a signal word until its first flag is stored
  double each_flag = 0;  ///< of each further flag that one word sets or looks at (GPUs: a lane each, so 0)
  double wait = 0;       ///< of a wait whose flag has come
  double flag = 0;       ///< from the store of a flag until its reader can see it
  double fence = 0;      ///< until the last stores to a peer are known to have arrived, before a signal
  double load = 0;       ///< until the first byte of a peer's memory arrives

  double link = 0;          ///< a rank's port, each way; with Wiring::shared of all ranks together
  double pair = 0;          ///< between two ranks, each way; 0: as the ports allow
  double memory = 0;        ///< a rank's own memory, reads and writes together; with Wiring::shared of all together
  double block = 0;         ///< GPUs: what one block loads, or stores
  double packet_block = 0;  ///< the same, of payload, by packets
  double packet_wire = 1;   ///< bytes that cross for each byte of payload by packets

  int cores = 0;            ///< CPUs: that the ranks share, rank r on core r mod cores; 0: one for each block
  double handover = 0;      ///< from one rank that waits to the next on its core
  std::vector<Tier> tiers;  ///< CPUs: by ascending bytes
};

}  // namespace tutti::timed

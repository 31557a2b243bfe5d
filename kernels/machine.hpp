// A machine as the executor in virtual time sees it: how long words, flags and bytes take. All times are in
// nanoseconds, all rates in bytes per nanosecond (10^9 bytes per second).
#pragma once
#include <string>

namespace tutti::timed {

/// How the ranks' ports are joined.
enum class Wiring {
  switched,  ///< each rank has a port; any pair may use all of both its ports
  direct,    ///< each pair has a link of its own
  shared,    ///< one memory, or one bus, for all: CPUs, GPUs behind one bridge
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
  double multicast = 0;     ///< a rank's port, each way, of what the switch reduces or replicates; 0: it does neither
  double memory = 0;        ///< a rank's own memory, reads and writes together; with Wiring::shared of all together
  double block = 0;         ///< GPUs: what one block loads, or stores
  double packet_block = 0;  ///< the same, of payload, by packets
  double packet_wire = 1;   ///< bytes that cross for each byte of payload by packets

  // CPUs: whatever a core loads and stores takes the time of where the lines are (kernels/timed_caches.hpp).
  int cores = 0;             ///< that the ranks share, rank r on core r mod cores; 0: one for each rank
  double handover = 0;       ///< from one rank that waits to the next on its core
  double page = 0;           ///< for each 4 KiB that a word touches, where ranks share a core: translations are lost
  double each_block = 0;     ///< for each block of a call that has several, beside `launch`
  double core_cache = 0;     ///< bytes of a core's own caches, as far as they hold
  double last_cache = 0;     ///< bytes of a last-level cache, as far as they hold
  int last_caches = 1;       ///< core c has number c mod last_caches; 1: the cores are near each other
  double own_load = 0;       ///< lines in the core's own caches
  double own_store = 0;      ///< the same; no other core has them
  double peer_load = 0;      ///< lines in another core's caches
  double peer_add = 0;       ///< the same in a reduce, which walks several places at once; 0: no less
  double peer_store = 0;     ///< the same: that core loses them
  double last_load = 0;      ///< lines in the last-level cache
  double last_store = 0;     ///< the same
  double memory_load = 0;    ///< lines in memory alone
  double memory_store = 0;   ///< the same, through the caches
  double stream_store = 0;   ///< past the caches
  double streams_above = 0;  ///< bytes of all ranks' buffers above which stores into slots and to peers are streamed
  double streams_all_above = 0;  ///< the same, above which all long stores are streamed; 0: never
};

}  // namespace tutti::timed

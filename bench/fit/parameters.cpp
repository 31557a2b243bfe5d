#include "bench/fit/parameters.hpp"

#include <unistd.h>

namespace tutti::fit {
namespace {

using timed::Machine;

constexpr double kNs = 0.5, kLongest = 1e5;  // nanoseconds
constexpr double kSlow = 0.2, kFast = 500;   // bytes a nanosecond
constexpr Parameter kParameters[] = {
    {"launch", &Machine::launch, kNs, kLongest},
    {"each_block", &Machine::each_block, kNs, kLongest},
    {"word", &Machine::word, kNs, kLongest},
    {"signal", &Machine::signal, kNs, kLongest},
    {"each_flag", &Machine::each_flag, kNs, kLongest},
    {"wait", &Machine::wait, kNs, kLongest},
    {"flag", &Machine::flag, kNs, kLongest},
    {"fence", &Machine::fence, kNs, kLongest},
    {"load", &Machine::load, kNs, kLongest},
    {"handover", &Machine::handover, kNs, kLongest},
    {"page", &Machine::page, kNs, kLongest},
    {"core_cache", &Machine::core_cache, 16 << 10, 1e9},
    {"last_cache", &Machine::last_cache, 1 << 20, 1e10},
    {"memory", &Machine::memory, kSlow, kFast},
    {"own_load", &Machine::own_load, kSlow, kFast},
    {"own_store", &Machine::own_store, kSlow, kFast},
    {"peer_load", &Machine::peer_load, kSlow, kFast},
    {"peer_add", &Machine::peer_add, kSlow, kFast},
    {"peer_store", &Machine::peer_store, kSlow, kFast},
    {"last_load", &Machine::last_load, kSlow, kFast},
    {"last_store", &Machine::last_store, kSlow, kFast},
    {"memory_load", &Machine::memory_load, kSlow, kFast},
    {"memory_store", &Machine::memory_store, kSlow, kFast},
    {"stream_store", &Machine::stream_store, kSlow, kFast},
};

// As backend_native.cpp has it: bytes of all ranks' buffers from which stores are streamed to far peers; near, never.
constexpr double kLeastWatched = 16 << 10;
// A virtual machine may be told of less cache than is there: here 8 MiB buffers, 32 MiB in all, moved at a cache's
// rate.
constexpr double kLastHolds = 4;

double cache_of(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<double>(bytes) : 0;
}

}  // namespace

std::span<const Parameter> parameters() { return kParameters; }

CacheSizes this_machines_caches() { return {cache_of(_SC_LEVEL2_CACHE_SIZE), cache_of(_SC_LEVEL3_CACHE_SIZE)}; }

timed::Machine first_guess(int cores, const CacheSizes& caches, bench::Placement placement) {
  const bool far = placement == bench::Placement::far;
  Machine m;
  m.is_gpu = false;
  m.wiring = timed::Wiring::shared;
  m.cores = m.ranks = cores;
  m.core_cache = caches.core;
  m.last_cache = kLastHolds * caches.last;
  m.streams_all_above = caches.last;
  m.last_caches = far ? cores : 1;
  m.launch = 45;
  m.each_block = 210;
  m.word = 9;
  m.signal = 15;
  m.each_flag = 1;
  m.wait = 12;
  m.flag = far ? 230 : 45;
  m.fence = 480;
  m.load = far ? 53 : 20;
  m.handover = 2200;
  m.page = 60;
  m.memory = far ? 60 : 35;
  m.own_load = 150;
  m.own_store = far ? 100 : 50;
  m.peer_load = far ? 18 : 60;
  m.peer_add = far ? 9 : 35;
  m.peer_store = far ? 2.3 : 10;
  m.last_load = far ? 32 : 45;
  m.last_store = far ? 22 : 100;
  m.memory_load = 25;
  m.memory_store = far ? 28 : 12;
  m.stream_store = far ? 24 : 40;
  m.streams_above = far ? kLeastWatched : 0;
  return m;
}

}  // namespace tutti::fit

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
  m.last_cache = caches.last;
  m.last_caches = far ? cores : 1;
  m.launch = 50;
  m.each_block = 250;
  m.word = 8;
  m.signal = 4;
  m.each_flag = 4;
  m.wait = 10;
  m.flag = far ? 200 : 50;
  m.fence = 50;
  m.load = far ? 150 : 40;
  m.handover = 1400;
  m.page = 100;
  m.memory = 40;
  m.own_load = 60;
  m.own_store = 50;
  m.peer_load = far ? 10 : 20;
  m.peer_add = far ? 4 : 10;
  m.peer_store = far ? 2 : 5;
  m.last_load = 25;
  m.last_store = 15;
  m.memory_load = 12;
  m.memory_store = 8;
  m.stream_store = 15;
  m.streams_above = far ? kLeastWatched : 0;
  return m;
}

}  // namespace tutti::fit

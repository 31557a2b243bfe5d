#include "bench/predict/machine_keys.hpp"

namespace tutti::predict {
namespace {

using timed::Machine;

constexpr Key kKeys[] = {
    {"ranks", "ranks", &Machine::ranks, Needed::above, Needed::above},
    {"blocks", "blocks", &Machine::blocks, Needed::maybe, Needed::maybe},
    {"launch", "ns", &Machine::launch, Needed::always, Needed::always},
    {"word", "ns", &Machine::word, Needed::always, Needed::always},
    {"signal", "ns", &Machine::signal, Needed::always, Needed::always},
    {"each_flag", "ns", &Machine::each_flag, Needed::maybe, Needed::maybe},
    {"wait", "ns", &Machine::wait, Needed::always, Needed::always},
    {"flag", "ns", &Machine::flag, Needed::always, Needed::always},
    {"fence", "ns", &Machine::fence, Needed::always, Needed::maybe},
    {"load", "ns", &Machine::load, Needed::always, Needed::maybe},
    {"link", "GB/s", &Machine::link, Needed::above, Needed::maybe},
    {"pair", "GB/s", &Machine::pair, Needed::maybe, Needed::maybe},
    {"multicast", "GB/s", &Machine::multicast, Needed::maybe, Needed::never},
    {"memory", "GB/s", &Machine::memory, Needed::above, Needed::maybe},
    {"block", "GB/s", &Machine::block, Needed::above, Needed::never},
    {"packet_block", "GB/s", &Machine::packet_block, Needed::above, Needed::never},
    {"packet_wire", "bytes per byte", &Machine::packet_wire, Needed::above, Needed::maybe},
    {"cores", "cores", &Machine::cores, Needed::never, Needed::above},
    {"page", "ns", &Machine::page, Needed::never, Needed::maybe},
    {"handover", "ns", &Machine::handover, Needed::never, Needed::maybe},
    {"each_block", "ns", &Machine::each_block, Needed::never, Needed::maybe},
    {"core_cache", "bytes", &Machine::core_cache, Needed::never, Needed::above},
    {"last_cache", "bytes", &Machine::last_cache, Needed::never, Needed::above},
    {"last_caches", "caches", &Machine::last_caches, Needed::never, Needed::above},
    {"own_load", "GB/s", &Machine::own_load, Needed::never, Needed::above},
    {"own_store", "GB/s", &Machine::own_store, Needed::never, Needed::above},
    {"peer_load", "GB/s", &Machine::peer_load, Needed::never, Needed::above},
    {"peer_add", "GB/s", &Machine::peer_add, Needed::never, Needed::above},
    {"peer_store", "GB/s", &Machine::peer_store, Needed::never, Needed::above},
    {"last_load", "GB/s", &Machine::last_load, Needed::never, Needed::above},
    {"last_store", "GB/s", &Machine::last_store, Needed::never, Needed::above},
    {"memory_load", "GB/s", &Machine::memory_load, Needed::never, Needed::above},
    {"memory_store", "GB/s", &Machine::memory_store, Needed::never, Needed::above},
    {"stream_store", "GB/s", &Machine::stream_store, Needed::never, Needed::above},
    {"streams_all_above", "bytes", &Machine::streams_all_above, Needed::never, Needed::maybe},
    {"streams_above", "bytes", &Machine::streams_above, Needed::never, Needed::maybe},
};

}  // namespace

std::span<const Key> machine_keys() { return kKeys; }

}  // namespace tutti::predict

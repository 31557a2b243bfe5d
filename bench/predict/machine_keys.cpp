#include "bench/predict/machine_keys.hpp"

namespace tutti::predict {
namespace {

using timed::Machine;
using timed::Tier;

constexpr Key kKeys[] = {
    {"ranks", "ranks", &Machine::ranks, Needed::above, Needed::above},
    {"blocks", "blocks", &Machine::blocks, Needed::maybe, Needed::maybe},
    {"cores", "cores", &Machine::cores, Needed::never, Needed::above},
    {"launch", "ns", &Machine::launch, Needed::always, Needed::always},
    {"word", "ns", &Machine::word, Needed::always, Needed::always},
    {"signal", "ns", &Machine::signal, Needed::always, Needed::always},
    {"each_flag", "ns", &Machine::each_flag, Needed::maybe, Needed::maybe},
    {"wait", "ns", &Machine::wait, Needed::always, Needed::always},
    {"flag", "ns", &Machine::flag, Needed::always, Needed::always},
    {"fence", "ns", &Machine::fence, Needed::always, Needed::maybe},
    {"load", "ns", &Machine::load, Needed::always, Needed::maybe},
    {"handover", "ns", &Machine::handover, Needed::never, Needed::maybe},
    {"link", "GB/s", &Machine::link, Needed::above, Needed::maybe},
    {"pair", "GB/s", &Machine::pair, Needed::maybe, Needed::maybe},
    {"memory", "GB/s", &Machine::memory, Needed::above, Needed::maybe},
    {"block", "GB/s", &Machine::block, Needed::above, Needed::never},
    {"packet_block", "GB/s", &Machine::packet_block, Needed::above, Needed::never},
    {"packet_wire", "bytes per byte", &Machine::packet_wire, Needed::above, Needed::maybe},
};

constexpr TierKey kTierKeys[] = {
    {"bytes", "bytes", &Tier::bytes},          {"own_load", "GB/s", &Tier::own_load},
    {"own_store", "GB/s", &Tier::own_store},   {"peer_load", "GB/s", &Tier::peer_load},
    {"peer_store", "GB/s", &Tier::peer_store},
};

}  // namespace

std::span<const Key> machine_keys() { return kKeys; }
std::span<const TierKey> tier_keys() { return kTierKeys; }

}  // namespace tutti::predict

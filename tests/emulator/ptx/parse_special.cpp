#include "tests/emulator/ptx/parse_special.hpp"

#include <unordered_map>

namespace tutti::emulator {
namespace {

using Map = std::unordered_map<std::string_view, SpecialRegister>;

SpecialRegister in_slot(SpecialSlot slot, Type type = Type::u32) { return {SpecialRegister::Of::slot, type, slot}; }
SpecialRegister fixed(std::uint32_t value, Type type = Type::u32) {
  return {SpecialRegister::Of::literal, type, value};
}
SpecialRegister reads(Clock clock, Type type) {
  return {SpecialRegister::Of::clock, type, static_cast<std::uint32_t>(clock)};
}

const Map& registers() {
  static const Map kRegisters = {
      {"%tid.x", in_slot(tid_x)},
      {"%tid.y", in_slot(tid_y)},
      {"%tid.z", in_slot(tid_z)},
      {"%ntid.x", in_slot(ntid_x)},
      {"%ntid.y", in_slot(ntid_y)},
      {"%ntid.z", in_slot(ntid_z)},
      {"%ctaid.x", in_slot(ctaid_x)},
      {"%ctaid.y", in_slot(ctaid_y)},
      {"%ctaid.z", in_slot(ctaid_z)},
      {"%nctaid.x", in_slot(nctaid_x)},
      {"%nctaid.y", in_slot(nctaid_y)},
      {"%nctaid.z", in_slot(nctaid_z)},
      {"%laneid", in_slot(laneid)},
      {"%warpid", in_slot(warpid)},
      {"%nwarpid", in_slot(nwarpid)},
      {"%smid", in_slot(smid)},
      {"%nsmid", in_slot(nsmid)},
      {"%gridid", in_slot(gridid, Type::u64)},
      {"%lanemask_eq", in_slot(lanemask_eq)},
      {"%lanemask_le", in_slot(lanemask_le)},
      {"%lanemask_lt", in_slot(lanemask_lt)},
      {"%lanemask_ge", in_slot(lanemask_ge)},
      {"%lanemask_gt", in_slot(lanemask_gt)},
      {"%dynamic_smem_size", in_slot(dynamic_smem_size)},
      {"%total_smem_size", in_slot(total_smem_size)},
      {"%is_explicit_cluster", fixed(0, Type::pred)},
      {"%clusterid.x", in_slot(ctaid_x)},
      {"%clusterid.y", in_slot(ctaid_y)},
      {"%clusterid.z", in_slot(ctaid_z)},
      {"%nclusterid.x", in_slot(nctaid_x)},
      {"%nclusterid.y", in_slot(nctaid_y)},
      {"%nclusterid.z", in_slot(nctaid_z)},
      {"%cluster_ctaid.x", fixed(0)},
      {"%cluster_ctaid.y", fixed(0)},
      {"%cluster_ctaid.z", fixed(0)},
      {"%cluster_nctaid.x", fixed(1)},
      {"%cluster_nctaid.y", fixed(1)},
      {"%cluster_nctaid.z", fixed(1)},
      {"%cluster_ctarank", fixed(0)},
      {"%cluster_nctarank", fixed(1)},
      {"%clock", reads(Clock::clock, Type::u32)},
      {"%clock_hi", reads(Clock::clock_hi, Type::u32)},
      {"%clock64", reads(Clock::clock64, Type::u64)},
      {"%globaltimer", reads(Clock::global_timer, Type::u64)},
      {"%globaltimer_lo", reads(Clock::global_timer_lo, Type::u32)},
      {"%globaltimer_hi", reads(Clock::global_timer_hi, Type::u32)},
  };
  return kRegisters;
}

}  // namespace

std::optional<SpecialRegister> special_register(std::string_view name) {
  const auto found = registers().find(name);
  if (found == registers().end()) return std::nullopt;
  return found->second;
}

}  // namespace tutti::emulator

#include "tests/emulator/ptx/decode.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <unordered_map>

#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator {

Form& Form::add(const OperandRule& rule) {
  if (count == rules.size()) throw std::logic_error("an instruction with too many operands");
  rules[count++] = rule;
  return *this;
}

Form decode(std::string_view spelling, bool pair) {
  using Family = Form (*)(Words&);
  static const std::unordered_map<std::string_view, Family> kFamilies = {
      {"ld", decode_load},
      {"ldu", decode_uniform_load},
      {"st", decode_store},
      {"atom", decode_atomic},
      {"red", decode_reduction},
      {"multimem", decode_multimem},
      {"fence", decode_fence},
      {"membar", decode_memory_barrier},
      {"prefetch", decode_prefetch},
      {"prefetchu", decode_prefetch},
      {"applypriority", decode_priority},
      {"createpolicy", decode_policy},
      {"cvta", decode_convert_address},
      {"isspacep", decode_is_in_space},
      {"bar", decode_barrier},
      {"barrier", decode_barrier},
      {"shfl", decode_shuffle},
      {"vote", decode_vote},
      {"match", decode_match},
      {"redux", decode_warp_reduction},
      {"activemask", decode_active_mask},
      {"elect", decode_elect},
      {"ret", decode_plain},
      {"exit", decode_plain},
      {"trap", decode_plain},
      {"brkpt", decode_plain},
      {"nanosleep", decode_sleep},
      {"griddepcontrol", decode_grid_dependency},
      {"pmevent", decode_event},
      {"setmaxnreg", decode_register_count},
  };
  Words words(spelling);
  const auto family = kFamilies.find(words.name());
  if (family == kFamilies.end()) return decode_computation(spelling, pair);
  const Form form = family->second(words);
  words.finish();
  return form;
}

}  // namespace tutti::emulator

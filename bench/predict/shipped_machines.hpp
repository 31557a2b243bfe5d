// The files of bench/machines, in the program: written by embed_machines.cmake.
#pragma once
#include <span>
#include <string_view>

namespace tutti::predict {

struct ShippedMachine {
  std::string_view name;
  std::string_view text;
};
extern const std::span<const ShippedMachine> kShippedMachines;

}  // namespace tutti::predict

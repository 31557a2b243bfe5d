// Numbers for instructions, so that records of accesses stay small.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/machine/block.hpp"

namespace tutti::emulator {

class CodeNumbers {
 public:
  void clear() { known_.clear(), last_ = nullptr, next_ = 1; }

  /// The number of the instruction that the thread is at; never 0.
  std::uint32_t of(const Thread& thread) {
    if (thread.function != last_) [[unlikely]]
      look_up(thread);
    return last_begin_ + static_cast<std::uint32_t>(thread.next);
  }

  /// "ring_all_reduce at PTX line 17 (ring.hpp:40 in ...): st.release.sys...".
  std::string describe(std::uint32_t number) const;
  /// Null for a number that is none.
  const Instruction* find(std::uint32_t number) const;

 private:
  struct Known {
    const Function* function;
    const Module* module;  // may be null: made by hand
    std::uint32_t begin;
  };
  void look_up(const Thread& thread);
  const Known* owner(std::uint32_t number) const;

  std::vector<Known> known_;  // few: functions that run
  const Function* last_ = nullptr;
  std::uint32_t last_begin_ = 0;
  std::uint32_t next_ = 1;
};

}  // namespace tutti::emulator

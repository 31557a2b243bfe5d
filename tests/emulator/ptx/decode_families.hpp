// The families of instructions, by the first word of their mnemonics. Each reads the words that it knows; decode()
// checks that none is left.
#pragma once
#include "tests/emulator/ptx/decode.hpp"
#include "tests/emulator/ptx/decode_words.hpp"

namespace tutti::emulator {

Form decode_load(Words& words);
Form decode_uniform_load(Words& words);
Form decode_store(Words& words);

Form decode_atomic(Words& words);
Form decode_reduction(Words& words);
Form decode_multimem(Words& words);

Form decode_fence(Words& words);
Form decode_memory_barrier(Words& words);
Form decode_prefetch(Words& words);
Form decode_priority(Words& words);
Form decode_policy(Words& words);
Form decode_convert_address(Words& words);
Form decode_is_in_space(Words& words);

Form decode_barrier(Words& words);
Form decode_shuffle(Words& words);
Form decode_vote(Words& words);
Form decode_match(Words& words);
Form decode_warp_reduction(Words& words);
Form decode_active_mask(Words& words);
Form decode_elect(Words& words);

/// ret, exit, trap, brkpt
Form decode_plain(Words& words);
Form decode_sleep(Words& words);
Form decode_grid_dependency(Words& words);
Form decode_event(Words& words);
Form decode_register_count(Words& words);

/// What only computes.
Form decode_computation(std::string_view spelling, bool pair);

}  // namespace tutti::emulator

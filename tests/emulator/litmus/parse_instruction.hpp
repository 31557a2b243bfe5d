// One line of a thread.
#pragma once
#include "tests/emulator/litmus/program.hpp"
#include "tests/emulator/litmus/tokens.hpp"

namespace tutti::emulator::litmus {

/// Appends the instruction that the line holds to the thread, with the registers that it names first.
void parse_instruction(Tokens& tokens, const Program& program, Thread& thread, int line);

/// ==, != and so on.
Comparison parse_comparison(Tokens& tokens);

/// Bytes of u8, b32 and so on.
int parse_type(Tokens& tokens, const std::string& type);

}  // namespace tutti::emulator::litmus

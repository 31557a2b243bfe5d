#pragma once

namespace tutti::emulated {

/// Ends the program: it called what the stand-in does not know.
[[noreturn]] void unknown_entry(const char* name);

}  // namespace tutti::emulated

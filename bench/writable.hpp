// Whether a result can be written, asked before hours of measuring.
#pragma once
#include <string>

namespace tutti::bench {

/// Whether a file can be written there, or made. Opens nothing: a pipe would wait for its reader. Follows links.
bool writable(const std::string& name);

}  // namespace tutti::bench

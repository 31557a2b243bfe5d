// The GPU code that nvcc embeds: fatbin containers, in a file or in memory.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tutti::emulator {

struct EmbeddedCode {
  enum class Kind { ptx, cubin } kind;
  int architecture = 0;  ///< such as 90
  std::string bytes;     ///< decompressed (LZ4 and zstd); PTX without its terminating zero
};

/// All entries of the container that begins at `begin` (what __cudaRegisterFatBinary is given points to one).
/// `most`: bytes known to be readable. Throws std::runtime_error saying what is wrong with it.
std::vector<EmbeddedCode> code_in_container(const void* begin, std::size_t most = static_cast<std::size_t>(-1));

/// All entries of all containers in a file: program, library, object or archive.
std::vector<EmbeddedCode> code_in_file(const std::string& path);

/// PTX of the newest architecture that is not above `architecture`; null if there is none.
const EmbeddedCode* best_ptx(const std::vector<EmbeddedCode>& code, int architecture);

}  // namespace tutti::emulator

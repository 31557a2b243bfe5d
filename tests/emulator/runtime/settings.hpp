#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::emulated {

/// What the environment says about the emulated machine, read once; a bad value ends the program with one line.
struct Settings {
  int gpus = 1;                                ///< TUTTI_EMULATED_GPUS, 0 to 64
  int multiprocessors = 132;                   ///< TUTTI_EMULATED_SMS, per GPU
  int major = 9, minor = 0;                    ///< TUTTI_EMULATED_ARCHITECTURE, as in 90
  std::size_t memory = std::size_t{16} << 30;  ///< TUTTI_EMULATED_MEMORY, in MiB, per GPU and process
  bool peer_access = true;                     ///< TUTTI_EMULATED_PEER_ACCESS, 0 or 1
  bool quiet = false;                          ///< TUTTI_EMULATION_QUIET is set
  std::vector<int> visible;                    ///< CUDA_VISIBLE_DEVICES: which GPU of the machine each device is
};

const Settings& settings();

/// The process's rank in its job (OMPI_COMM_WORLD_RANK or TUTTI_RANK); 0 if it is in none.
long rank_of_process();

/// The name that tells programs that no figure of theirs is worth anything.
inline constexpr const char* kDeviceName = "tutti emulated GPU (no NVIDIA hardware)";

/// The 16 bytes of the UUID of one GPU of the machine, the same in every process of this user.
std::string uuid_of(int gpu);

}  // namespace tutti::emulated

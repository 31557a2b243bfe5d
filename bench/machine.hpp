// What a run was measured on.
#pragma once
#include <string>
#include <vector>

namespace tutti::bench {

struct Machine {
  std::string cpu;
  int cores = 1;  ///< that this process may use
  double memory_gib = 0;
  std::vector<std::string> gpus;
  std::string mpi;  ///< name and version of the MPI library
};

Machine this_machine();

/// Where native's collectives run: "the CPU (and why)" or "the GPU (which)".
std::string device_of(bool on_gpu, const Machine& machine);

}  // namespace tutti::bench

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
  std::string mpi;        ///< name and version of the MPI library
  bool emulated = false;  ///< its GPUs are, so no time of theirs means anything
};

/// `on_gpu`: native runs on the current GPU, which is then among its GPUs also where the system does not tell of any.
Machine this_machine(bool on_gpu);

/// Where native's collectives run: "the CPU (and why)" or "the GPU (which)".
std::string device_of(bool on_gpu, const Machine& machine);

}  // namespace tutti::bench

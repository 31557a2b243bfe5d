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

/// This process's rank as its launcher tells it in the environment, before anything is initialised; 0 if it does not.
int launched_rank();

}  // namespace tutti::bench

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

}  // namespace tutti::bench

#include "collectives/mpi_library.hpp"

#include <mpi.h>

#include <regex>

namespace tutti {

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "an unknown MPI";
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n...": what is before the first comma or end of line.
  const std::string first =
      std::regex_replace(std::string(text, static_cast<std::size_t>(length)), std::regex("[,\n][^]*"), "");
  return std::regex_replace(first, std::regex("( v| Version:[ \t]*)(?=[0-9])"), " ");
}

}  // namespace tutti

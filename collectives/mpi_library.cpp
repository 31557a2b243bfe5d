#include "collectives/mpi_library.hpp"

#include <mpi.h>

#include <string_view>

namespace tutti {

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "an unknown MPI";
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n...": the name, and the version that starts with a digit.
  std::string_view first(text, static_cast<std::size_t>(length));
  first = first.substr(0, first.find_first_of(",\n"));
  const std::size_t digit = first.find_first_of("0123456789");
  if (digit == std::string_view::npos) return std::string(first);
  std::string_view name = first.substr(0, digit);
  for (const std::string_view filler : {" v", " Version:\t", " Version: ", " "}) {
    if (!name.ends_with(filler)) continue;
    name.remove_suffix(filler.size());
    break;
  }
  return std::string(name).append(" ").append(first.substr(digit));
}

}  // namespace tutti

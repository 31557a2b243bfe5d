// Which MPI library this is.
#pragma once
#include <string>

namespace tutti {

/// Name and version of the MPI library, as in "Open MPI 4.1.4". May be called at any time.
std::string mpi_library();

}  // namespace tutti

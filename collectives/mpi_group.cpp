#include "collectives/mpi_group.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "collectives/agree.hpp"
#include "collectives/error.hpp"
#include "collectives/mpi_environment.hpp"

namespace tutti {
namespace {

constexpr int kTag = 7717;  // tells these creations from others' under way between the same processes

/// Where a rank is in MPI_COMM_WORLD.
struct Place {
  int rank = 0;
  int of = 0;
};

/// What is wrong with `places`, or nothing: they must be different ones of one world.
std::string trouble_with(const std::vector<Place>& places) {
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (places[a].of == places[b].of && places[a].rank != places[b].rank) continue;
      return fmt::format(
          "the mpi backend needs ranks that are processes of one MPI job, but rank {} is process {} of {} and rank {} "
          "is process {} of {} of their MPI_COMM_WORLD: start them with one mpirun, or use the native backend",
          b, places[b].rank, places[b].of, a, places[a].rank, places[a].of);
    }
  }
  return {};
}

}  // namespace

MpiGroup::MpiGroup(Bootstrap& bootstrap) : rank_(bootstrap.rank()), size_(bootstrap.size()) {
  const auto refusal = [this](const char* where) {
    return fmt::format(
        "the mpi backend needs every rank in a process of an MPI job, but rank {} of {} is {}: start them with mpirun, "
        "or use the native backend",
        rank_, size_, where);
  };
  if (size_ > 1 && bootstrap.shares_memory()) throw Error(ErrorCode::unsupported, refusal("a thread"));
  agree(bootstrap, ErrorCode::unsupported, size_ > 1 && !mpi_is_present() ? refusal("in none") : std::string());
  require_mpi();
  Place mine;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mine.of);
  const std::vector<Place> places = bootstrap.all_gather(mine);
  agree(bootstrap, ErrorCode::unsupported, trouble_with(places));
  std::vector<int> ranks;
  for (const Place& place : places) ranks.push_back(place.rank);
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  const int included = MPI_Group_incl(world, size_, ranks.data(), &group);
  MPI_Group_free(&world);
  check_mpi(included, "MPI_Group_incl");
  const int created = MPI_Comm_create_group(MPI_COMM_WORLD, group, kTag, &comm_);
  MPI_Group_free(&group);
  check_mpi(created, "MPI_Comm_create_group");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiGroup::~MpiGroup() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Comm_free(&comm_);
}

}  // namespace tutti

// How communicators come to be.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "collectives/agree.hpp"
#include "collectives/nccl_interface/configuration.hpp"
#include "collectives/nccl_interface/group.hpp"

namespace tutti::nccl_interface {
namespace {

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

UniqueId id_of(const ncclUniqueId& given) {
  UniqueId id;
  static_assert(sizeof id.bytes == sizeof given.internal);
  std::memcpy(id.bytes.data(), given.internal, sizeof given.internal);
  return id;
}

/// Adds the making of rank `rank` of `size` on `device` to the group.
void add_join(const char* function, ncclComm_t* comm, const UniqueId& id, int rank, int size, int device,
              bool blocking) {
  auto made = add_communicator(device, blocking);
  *comm = made.get();
  ncclComm* const its = made.get();
  add({.function = function,
       .work = [its, id, rank, size] { its->join(id, rank, size); },
       .makes = std::move(made),
       .place = comm,
       .through = nullptr});
}

ncclResult_t init_rank(const char* function, ncclComm_t* comm, int nranks, int ids, const ncclUniqueId* id, int rank,
                       const ncclConfig_t* config) {
  return answer_in_group(function, [&] {
    require(comm, "comm");
    *comm = nullptr;
    require(id, "commIds");
    if (nranks < 1 || rank < 0 || rank >= nranks)
      throw Refusal(ncclInvalidArgument, fmt::format("rank {} of {}: ranks are 0 to nranks - 1", rank, nranks));
    if (ids < 1 || ids > nranks)
      throw Refusal(ncclInvalidArgument, fmt::format("nId is {}; it must be 1 to {}", ids, nranks));
    add_join(function, comm, id_of(id[0]), rank, nranks, current_device(), is_blocking(config));
    return ncclSuccess;
  });
}

/// What the ranks of a communicator ask of its split.
struct Wish {
  int color;
  int key;
};

/// The ranks of `color` in their new order.
std::vector<int> group_of(const std::vector<Wish>& wishes, int color) {
  std::vector<int> group;
  for (std::size_t r = 0; r < wishes.size(); ++r)
    if (wishes[r].color == color) group.push_back(static_cast<int>(r));
  std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
    return wishes[static_cast<std::size_t>(a)].key < wishes[static_cast<std::size_t>(b)].key;
  });
  return group;
}

/// The ranks of a color meet at an id that the first of them makes. `child` is null for a rank of no color.
void split(ncclComm& parent, ncclComm* child, int color, int key) {
  Bootstrap& bootstrap = parent.bootstrap();
  const std::vector<int> group = group_of(bootstrap.all_gather(Wish{color, key}), color);
  UniqueId mine;
  std::string trouble;
  try {
    if (child && group.front() == parent.rank()) mine = unique_id();
  } catch (const Error& error) {
    trouble = error.what();
  }
  agree(bootstrap, ErrorCode::system, trouble);
  const std::vector<UniqueId> ids = bootstrap.all_gather(mine);
  if (!child) return;
  const auto place = std::find(group.begin(), group.end(), parent.rank()) - group.begin();
  child->join(ids[static_cast<std::size_t>(group.front())], static_cast<int>(place), static_cast<int>(group.size()));
}

}  // namespace
}  // namespace tutti::nccl_interface

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return answer(__func__, [&] {
    require(uniqueId, "uniqueId");
    if (std::getenv("NCCL_COMM_ID"))
      throw Refusal(ncclInvalidUsage, "NCCL_COMM_ID is set, which tutti does not serve; hand the id over instead");
    const tutti::UniqueId id = tutti::unique_id();
    std::memcpy(uniqueId->internal, id.bytes.data(), sizeof uniqueId->internal);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return init_rank(__func__, comm, nranks, 1, &commId, rank, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config) {
  return init_rank(__func__, comm, nranks, 1, &commId, rank, config);
}

/// Several ids let NCCL's ranks meet at several places; here the first serves all.
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                                      ncclConfig_t* config) {
  return init_rank(__func__, newcomm, nranks, nId, commIds, myrank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return answer_in_group(__func__, [&] {
    require(comm, "comm");
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (ndev < 1 || (!devlist && ndev > devices))
      throw Refusal(ncclInvalidArgument, fmt::format("ndev is {}; this process has {} GPUs", ndev, devices));
    std::set<int> taken;
    for (int rank = 0; rank < ndev; ++rank) {
      comm[rank] = nullptr;
      const int device = devlist ? devlist[rank] : rank;
      if (device < 0 || device >= devices)
        throw Refusal(ncclInvalidArgument, fmt::format("devlist names GPU {}; there are 0 to {}", device, devices - 1));
      if (!taken.insert(device).second)
        throw Refusal(ncclInvalidUsage, fmt::format("devlist names GPU {} twice", device));
    }
    const tutti::UniqueId id = tutti::unique_id();
    for (int rank = 0; rank < ndev; ++rank)
      add_join("ncclCommInitAll", comm + rank, id, rank, ndev, devlist ? devlist[rank] : rank, true);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  return answer_in_group(__func__, [&] {
    require(newcomm, "newcomm");
    *newcomm = nullptr;
    auto parent = communicator(comm);
    parent->require_ready();
    if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
      throw Refusal(ncclInvalidArgument, fmt::format("color is {}; give 0 or more, or NCCL_SPLIT_NOCOLOR", color));
    const bool blocking = is_blocking(config, parent->blocking);
    CommunicatorPointer child;
    if (color != NCCL_SPLIT_NOCOLOR) {
      child = add_communicator(parent->device, blocking);
      *newcomm = child.get();
    }
    add({.function = "ncclCommSplit",
         .work = [its = parent.get(), made = child.get(), color, key] { split(*its, made, color, key); },
         .makes = std::move(child),
         .place = newcomm,
         .through = std::move(parent)});
    return ncclSuccess;
  });
}

ncclResult_t ncclCommShrink(ncclComm_t, int*, int, ncclComm_t* newcomm, ncclConfig_t*, int) {
  return answer(__func__, [&]() -> ncclResult_t {
    if (newcomm) *newcomm = nullptr;
    throw Refusal(ncclInvalidUsage, "tutti does not shrink communicators; use ncclCommSplit, or make a new one");
  });
}

}  // extern "C"

#include "collectives/make_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "collectives/backend_native.hpp"
#include "collectives/backend_nccl.hpp"
#include "collectives/native_cuda.hpp"

namespace tutti {

Communicator make_communicator(std::shared_ptr<detail::SessionState> session, std::shared_ptr<Bootstrap> bootstrap,
                               std::vector<int> members, const CommunicatorOptions& options) {
  auto state = std::make_shared<detail::CommunicatorState>();
  state->session = std::move(session);
  state->bootstrap = std::move(bootstrap);
  state->members = std::move(members);
  switch (state->session->backend) {
    case BackendKind::mpi: state->backend = mpi_backend(*state->bootstrap); break;
    case BackendKind::nccl: state->backend = nccl_backend(*state, options); break;
    default:
      if (state->session->on_gpu)
        state->backend = native_cuda_backend(*state, options);
      else
        state->backend = std::make_unique<NativeBackend>(*state, options);
  }
  return Communicator(std::move(state));
}

Communicator Communicator::split(std::int64_t color, int key, const CommunicatorOptions& options) {
  if (!state_) throw Error(ErrorCode::invalid_argument, "split: this communicator is empty");
  Bootstrap& parent = *state_->bootstrap;
  struct Wish {
    std::int64_t color;
    int key;
  };
  const auto wishes = parent.all_gather(Wish{color, key});
  std::vector<int> group;  // ranks here of this rank's color
  for (int r = 0; r < parent.size(); ++r) {
    const Wish& theirs = wishes[static_cast<std::size_t>(r)];
    if (theirs.color != kNoColor && (theirs.color < 0 || theirs.color > INT_MAX))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("split: rank {} gives color {}; give 0 to {}, or Communicator::kNoColor to stay out", r,
                              theirs.color, INT_MAX));
    if (color != kNoColor && theirs.color == color) group.push_back(r);
  }
  std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
    return wishes[static_cast<std::size_t>(a)].key < wishes[static_cast<std::size_t>(b)].key;
  });
  std::shared_ptr<Bootstrap> bootstrap = parent.subgroup(group);
  if (group.empty()) return {};
  std::vector<int> members;
  for (const int r : group) members.push_back(state_->members[static_cast<std::size_t>(r)]);
  return make_communicator(state_->session, std::move(bootstrap), std::move(members), options);
}

}  // namespace tutti

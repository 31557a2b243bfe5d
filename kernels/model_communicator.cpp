#include "kernels/model_communicator.hpp"

#include <algorithm>

#include "kernels/block_model.hpp"
#include "kernels/model.hpp"

namespace tutti::model {

Op run(Kernel kernel, const Call& call, int blocks, std::size_t in_bytes, std::size_t out_bytes) {
  return {.name = name_of(kernel),
          .body = [kernel](ModelBlock& block, const Call& c) { run_kernel(kernel, block, c); },
          .call = call,
          .blocks = blocks,
          .in_bytes = in_bytes,
          .out_bytes = out_bytes,
          .collective = kernel != Kernel::send && kernel != Kernel::recv,
          .sends = kernel == Kernel::send};
}

Communicator::Communicator(Model& model, int number, const Geometry& geometry, std::vector<int> members)
    : model_(model),
      number_(number),
      layout_(layout_of(geometry)),
      members_(std::move(members)),
      calls_(members_.size()) {
  std::vector<char*> arenas;
  for (int r = 0; r < size(); ++r) {
    std::string name = "arena of rank ";
    name.append(std::to_string(r));
    arenas.push_back(model.memory_.allocate_arena(session_rank(r), layout_, named(std::move(name))));
  }
  for (int r = 0; r < size(); ++r) {
    char* const arena = arenas[static_cast<std::size_t>(r)];
    std::copy(arenas.begin(), arenas.end(), reinterpret_cast<char**>(arena + layout_.arenas));
    std::copy(members_.begin(), members_.end(), reinterpret_cast<int*>(arena + layout_.members));
    teams_.push_back({.arena = arena,
                      .rank = r,
                      .segments = model.memory_.segments(),
                      .segment_ranks = model.ranks(),
                      .layout = layout_});
  }
}

int Communicator::rank_of(int session_rank) const {
  const auto found = std::find(members_.begin(), members_.end(), session_rank);
  return found == members_.end() ? -1 : static_cast<int>(found - members_.begin());
}

char* Communicator::allocate(int rank, std::size_t bytes) { return model_.allocate(session_rank(rank), bytes); }
int Communicator::allocate_segment(std::size_t bytes) { return model_.allocate_segment(bytes); }
char* Communicator::segment(int number, int rank) const { return model_.segment(number, session_rank(rank)); }
Place Communicator::place_of(const void* at) const { return model_.place_of(at); }

void Communicator::set_uses(Region region, std::uint64_t uses) {
  for (const Team& t : teams_)
    for (int b = 0; b < geometry().blocks; ++b) Connections(t, b, 1).uses(region) = uses;
}

Spent& Communicator::spent_by(std::size_t call, int rank) {
  if (call >= spent_.size()) spent_.resize(call + 1, std::vector<Spent>(static_cast<std::size_t>(size())));
  return spent_[call][static_cast<std::size_t>(rank)];
}

Spent Communicator::spent(std::size_t call, int rank) const {
  return call < spent_.size() ? spent_[call][static_cast<std::size_t>(rank)] : Spent{};
}

/// Collectives come in the same order on all ranks, messages of a pair and direction in the same order at both ends.
std::uint32_t Communicator::generation_of(const Op& op, int rank) {
  Calls& calls = calls_[static_cast<std::size_t>(rank)];
  return op.collective ? ++calls.collectives : ++calls.messages[{op.call.peer, op.sends}];
}

std::string Communicator::named(std::string text) const {
  if (number_ > 0) text.append(" of communicator ").append(std::to_string(number_));
  return text;
}

}  // namespace tutti::model

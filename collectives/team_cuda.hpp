// One rank's part in a communicator on a GPU: all that its kernels touch, and the order of its calls. It lives as long
// as the communicator, or as graphs with calls of it.
#pragma once
#include <memory>
#include <vector>

#include "collectives/chains_cuda.hpp"
#include "collectives/segments_cuda.hpp"
#include "collectives/session_state.hpp"
#include "kernels/launch_cuda.hpp"

namespace tutti {

class CudaTeam {
 public:
  /// Collective; throws on all ranks alike. `options` are the same on all.
  CudaTeam(const detail::CommunicatorState& communicator, const CommunicatorOptions& options);
  ~CudaTeam();
  CudaTeam(const CudaTeam&) = delete;
  CudaTeam& operator=(const CudaTeam&) = delete;

  const Team& team() const { return team_; }
  const Reports& reports() const { return reports_; }
  Chains& chains() { return chains_; }
  int ranks() const { return team_.layout.geometry.ranks; }

 private:
  void create(const detail::CommunicatorState& communicator, const CommunicatorOptions& options);
  void make_reports();
  void prepare_arena(const std::vector<int>& members, std::uint64_t first_packet_use);
  void let_go();

  std::shared_ptr<detail::DeviceSession> device_;
  Team team_;
  detail::Blocks blocks_;
  std::shared_ptr<SharedSegment> arena_;
  Reports reports_;
  Chains chains_;
};

}  // namespace tutti

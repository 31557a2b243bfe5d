// Ranks that find each other through sockets: processes or threads, without MPI.
#pragma once
#include <memory>
#include <vector>

#include "collectives/bootstrap.hpp"
#include "collectives/bootstrap_sockets_star.hpp"
#include "collectives/process_identity.hpp"
#include "collectives/rendezvous.hpp"

namespace tutti {

class SocketsBootstrap : public Bootstrap {
 public:
  /// `star` connects the ranks, whose processes are not known yet. Collective over them.
  SocketsBootstrap(std::unique_ptr<Star> star, int rank, int size, double timeout_s);
  using Bootstrap::all_gather;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool shares_memory() const override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void barrier() override;
  std::vector<Descriptor> share(int fd) override;
  std::unique_ptr<Bootstrap> subgroup(std::span<const int> members) override { return subgroup(members, timeout_s_); }
  /// The same, with another bound for every wait of the group. Its making is bound by this one's.
  std::unique_ptr<Bootstrap> subgroup(std::span<const int> members, double timeout_s);
  bool alive(int peer) const override;
  std::uint64_t bytes() const override { return bytes_; }

 private:
  SocketsBootstrap(std::unique_ptr<Star> star, int rank, std::vector<ProcessIdentity> processes, double timeout_s);
  std::vector<int> ended_ranks() const;

  const int rank_, size_;
  const double timeout_s_;
  const std::unique_ptr<Star> star_;
  std::vector<ProcessIdentity> processes_;
  std::uint64_t bytes_ = 0;
};

/// Rank `arrival.rank` of the job that meets at `host`, where rank 0 itself receives the others. Collective over the
/// job. A rank that comes before rank 0 waits for it.
std::unique_ptr<SocketsBootstrap> sockets_bootstrap_at(const SocketAddress& host, const Arrival& arrival);

}  // namespace tutti

// Which process on which host a rank is, and whether it still runs.
#pragma once
#include <cstdint>
#include <span>

namespace tutti {

struct ProcessIdentity {
  std::int64_t pid;
  std::uint64_t start;          ///< clock ticks after boot, so that a reused pid is not taken for the old process
  std::uint64_t pid_namespace;  ///< pids of another namespace mean nothing here
  char boot_id[40];             ///< names the running kernel, hence the host
  char host[64];
};

ProcessIdentity identify_this_process();

/// False if the process has ended (also as a zombie); true if it runs or cannot be seen from here.
bool still_running(const ProcessIdentity& process);

bool same_process(const ProcessIdentity& a, const ProcessIdentity& b);

/// Throws ErrorCode::unsupported, naming the hosts, unless all of `ranks` (in rank order, equal on every caller) run on
/// one host.
void require_one_host(std::span<const ProcessIdentity> ranks);

}  // namespace tutti

#include "collectives/process_identity.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "collectives/bootstrap.hpp"
#include "collectives/error.hpp"

namespace tutti {
namespace {

/// The first bytes of a small file of /proc; empty if it cannot be read.
std::string read_proc(const std::string& path) {
  char text[1024];
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t length = file.get() < 0 ? 0 : ::read(file.get(), text, sizeof text);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

struct Stat {
  char state = '\0';  ///< '\0': not readable
  std::uint64_t start = 0;
};

Stat stat_of(std::int64_t pid) {
  const std::string text = read_proc(fmt::format("/proc/{}/stat", pid));
  // The second field is the program's name in parentheses and may hold anything; the third is the state, the 22nd the
  // start.
  std::size_t at = text.rfind(')');
  if (at == std::string::npos || at + 2 >= text.size()) return {};
  Stat stat{text[at + 2], 0};
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at != std::string::npos) stat.start = std::strtoull(text.c_str() + at, nullptr, 10);
  return stat;
}

const ProcessIdentity& this_process() {
  static const ProcessIdentity mine = [] {
    ProcessIdentity id{};
    id.pid = ::getpid();
    id.start = stat_of(id.pid).start;
    struct ::stat space {};
    if (::stat("/proc/self/ns/pid", &space) == 0) id.pid_namespace = space.st_ino;
    std::string boot = read_proc("/proc/sys/kernel/random/boot_id");
    boot.resize(std::min(boot.find_last_not_of('\n') + 1, sizeof id.boot_id - 1));
    std::memcpy(id.boot_id, boot.data(), boot.size());
    ::gethostname(id.host, sizeof id.host - 1);
    return id;
  }();
  return mine;
}

bool same_host(const ProcessIdentity& a, const ProcessIdentity& b) {
  // Without /proc the host's name has to do.
  const bool known = a.boot_id[0] != '\0' && b.boot_id[0] != '\0';
  return known ? std::strcmp(a.boot_id, b.boot_id) == 0 : std::strcmp(a.host, b.host) == 0;
}

}  // namespace

ProcessIdentity identify_this_process() {
  // A fork inherits the static; its pid tells.
  if (this_process().pid == ::getpid()) return this_process();
  ProcessIdentity id = this_process();
  id.pid = ::getpid();
  id.start = stat_of(id.pid).start;
  return id;
}

bool still_running(const ProcessIdentity& process) {
  const ProcessIdentity& mine = this_process();
  if (!same_host(process, mine) || process.pid_namespace != mine.pid_namespace) return true;
  const Stat stat = stat_of(process.pid);
  if (stat.state == '\0') return ::kill(static_cast<pid_t>(process.pid), 0) == 0 || errno != ESRCH;
  if (stat.state == 'Z' || stat.state == 'X') return false;
  return process.start == 0 || stat.start == process.start;
}

bool same_process(const ProcessIdentity& a, const ProcessIdentity& b) {
  return same_host(a, b) && a.pid_namespace == b.pid_namespace && a.pid == b.pid && a.start == b.start;
}

void require_one_host(std::span<const ProcessIdentity> ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (same_host(ranks[0], ranks[rank])) continue;
    throw Error(ErrorCode::unsupported,
                fmt::format("rank 0 runs on host {} (boot {:.8}) and rank {} on host {} (boot {:.8}): ranks share "
                            "memory, so start all of them on one host, or use the mpi backend",
                            ranks[0].host, ranks[0].boot_id, rank, ranks[rank].host, ranks[rank].boot_id));
  }
}

}  // namespace tutti

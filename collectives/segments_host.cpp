// Segments in CPU memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "collectives/agree.hpp"
#include "collectives/error.hpp"
#include "collectives/free_memory.hpp"
#include "collectives/mapping.hpp"
#include "collectives/process_identity.hpp"
#include "collectives/segments.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U  // Linux 6.3
#endif

namespace tutti {
namespace {

class HostSegment : public SharedSegment {
 public:
  explicit HostSegment(std::vector<std::shared_ptr<const Mapping>> shares) : shares_(std::move(shares)) {}
  char* base(int rank) const override { return shares_[static_cast<std::size_t>(rank)]->base(); }
  std::size_t bytes(int rank) const override { return shares_[static_cast<std::size_t>(rank)]->bytes(); }

 private:
  std::vector<std::shared_ptr<const Mapping>> shares_;
};

std::string in_words(std::size_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

/// Refuses before anything is reserved: the kernel would grant more than there is and then kill processes.
void require_free_memory(const std::vector<std::size_t>& wanted, const std::vector<std::size_t>& free) {
  std::size_t sum = 0;
  for (std::size_t bytes : wanted) sum = bytes > SIZE_MAX - sum ? SIZE_MAX : sum + bytes;
  const auto least = std::min_element(free.begin(), free.end());
  constexpr std::size_t kKeptFree = 32;  // one part of so many, for what page tables and others need meanwhile
  if (sum <= *least - *least / kKeptFree) return;
  const auto most = std::max_element(wanted.begin(), wanted.end());
  throw Error(ErrorCode::system,
              fmt::format("not enough memory: the {} ranks need {} together (rank {} the most, {}), rank {} finds {} "
                          "free; allocate less, use fewer ranks, or raise the memory limit",
                          wanted.size(), in_words(sum), most - wanted.begin(), in_words(*most), least - free.begin(),
                          in_words(*least)));
}

/// A file without a name that lives in memory.
Descriptor nameless_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = ::memfd_create("tutti", kFlags | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create("tutti", kFlags);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES)) return Descriptor(fd);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = fmt::format("/tutti-{}-{}", ::getpid(), attempt);
    fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0) {
      ::shm_unlink(name.c_str());
      break;
    }
    if (errno != EEXIST) break;
  }
  return Descriptor(fd);
}

/// This rank's share in a file. Leaves `file` and `share` empty if `bytes` is 0.
std::string make_share(std::size_t bytes, Pages pages, Descriptor& file, Mapping& share) {
  if (bytes == 0) return {};
  const auto refused = [&](const char* call, int error) {
    return fmt::format("cannot reserve {} of shared memory: {}: {} ({} of memory and {} of /dev/shm are free)",
                       in_words(bytes), call, std::strerror(error), in_words(free_memory()),
                       in_words(free_shared_memory_files()));
  };
  file = nameless_file();
  if (file.get() < 0) return refused("memfd_create", errno);
  const auto length = static_cast<off_t>(bytes);
  if (::ftruncate(file.get(), length) != 0) return refused("ftruncate", errno);
  share = Mapping(bytes, file.get());
  if (share.base() == nullptr) return refused("mmap", errno);
  // Nobody can take the pages away under a peer any more. A shm_open file cannot be sealed; ours is never shrunk. Its
  // file system may be full before memory is, and whoever touches a page then is killed.
  const bool sealed = ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (sealed && pages == Pages::when_touched) return {};
  // Pages made through the advised mapping may be huge, those made by fallocate alone may not. If there is a lack,
  // fallocate says so, so this result does not matter.
  share.populate();
  constexpr off_t kStep = 256 << 20;  // a signal undoes one step, not all
  for (off_t at = 0; at < length;) {
    const off_t step = std::min(kStep, length - at);
    const int error = ::posix_fallocate(file.get(), at, step);
    if (error == EINTR) continue;
    if (error != 0) return refused("posix_fallocate", error);
    at += step;
  }
  return {};
}

std::shared_ptr<SharedSegment> among_processes(Bootstrap& bootstrap, const std::vector<std::size_t>& wanted,
                                               Pages pages) {
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  Descriptor file;
  Mapping share;
  agree(bootstrap, ErrorCode::system, make_share(wanted[rank], pages, file, share));
  std::vector<Descriptor> files = bootstrap.share(file.get());
  std::vector<std::shared_ptr<const Mapping>> shares(wanted.size());
  std::string trouble;
  for (std::size_t peer = 0; peer < wanted.size() && trouble.empty(); ++peer) {
    if (peer == rank) {
      shares[peer] = std::make_shared<const Mapping>(std::move(share));
      continue;
    }
    struct stat info {};
    if (wanted[peer] > 0 &&
        (::fstat(files[peer].get(), &info) != 0 || static_cast<std::size_t>(info.st_size) < wanted[peer])) {
      trouble = fmt::format("rank {} handed over {} instead of {}", peer,
                            in_words(static_cast<std::size_t>(info.st_size)), in_words(wanted[peer]));
      break;
    }
    shares[peer] = std::make_shared<const Mapping>(wanted[peer], files[peer].get());
    if (wanted[peer] > 0 && shares[peer]->base() == nullptr) {
      trouble = fmt::format("cannot map {} of rank {}: {} (ulimit -v, vm.max_map_count)", in_words(wanted[peer]), peer,
                            std::strerror(errno));
    }
  }
  agree(bootstrap, ErrorCode::system, trouble);
  return std::make_shared<HostSegment>(std::move(shares));
}

std::shared_ptr<SharedSegment> among_threads(Bootstrap& bootstrap, const std::vector<std::size_t>& wanted,
                                             Pages pages) {
  const std::size_t bytes = wanted[static_cast<std::size_t>(bootstrap.rank())];
  Mapping share(bytes, -1);
  std::string trouble;
  if (bytes > 0 && (share.base() == nullptr || (pages == Pages::reserved && !share.populate()))) {
    trouble = fmt::format("cannot reserve {}: {} ({} are free)", in_words(bytes), std::strerror(errno),
                          in_words(free_memory()));
  }
  agree(bootstrap, ErrorCode::system, trouble);
  using Owner = std::shared_ptr<const Mapping>;
  // On the heap: if an exchange below fails, a slower rank may still read it, and then it is never freed.
  auto* const mine = new Owner(std::make_shared<const Mapping>(std::move(share)));
  std::vector<Owner> shares;
  for (const Owner* theirs : bootstrap.all_gather(mine)) shares.push_back(*theirs);
  bootstrap.barrier();
  delete mine;
  return std::make_shared<HostSegment>(std::move(shares));
}

}  // namespace

std::shared_ptr<SharedSegment> allocate_host_segment(Bootstrap& bootstrap, std::size_t bytes, Pages pages) {
  const bool threads = bootstrap.shares_memory();
  if (!threads) require_one_host(bootstrap.all_gather(identify_this_process()));
  const std::vector<std::size_t> wanted = bootstrap.all_gather(bytes);
  require_free_memory(wanted, bootstrap.all_gather(bytes == 0 ? SIZE_MAX : free_memory()));
  return threads ? among_threads(bootstrap, wanted, pages) : among_processes(bootstrap, wanted, pages);
}

}  // namespace tutti

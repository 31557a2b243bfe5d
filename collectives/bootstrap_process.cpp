// The job that this process was started in.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <string_view>

#include "collectives/bootstrap_sockets.hpp"
#include "collectives/deadline.hpp"
#include "collectives/error.hpp"

namespace tutti {
namespace {

constexpr const char* kRank = "TUTTI_RANK";
constexpr const char* kSize = "TUTTI_SIZE";
constexpr const char* kRendezvous = "TUTTI_RENDEZVOUS";
constexpr const char* kWhoSets = "./tutti --no-mpi sets TUTTI_RENDEZVOUS, TUTTI_RANK and TUTTI_SIZE for its ranks";

std::string_view value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string_view() : value;
}

int number(const char* variable, int least, int most) {
  const std::string_view text = value_of(variable);
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is '{}': give a whole number from {} to {} ({})", variable,
                                                         text, least, most, kWhoSets));
  }
  return value;
}

/// This process's place in the job of a launcher without MPI.
Arrival launched_as() {
  constexpr int kMostRanks = 65536;
  const std::string_view text = value_of(kRendezvous);
  const auto token = token_from_hex(text);
  if (!token) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} is '{}': give 32 hexadecimal digits, the same to all ranks ({})", kRendezvous, text, kWhoSets));
  }
  const int size = number(kSize, 1, kMostRanks);
  return {*token, number(kRank, 0, size - 1), size, 0, {}, identify_this_process()};
}

bool launched_without_mpi() {
  if (!value_of(kRendezvous).empty()) return true;
  for (const char* variable : {kRank, kSize}) {
    if (value_of(variable).empty()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is set and {} is not: unset it, or set all ({})", variable, kRendezvous, kWhoSets));
  }
  return false;
}

/// The process joins the job once; every bootstrap that is asked for is a group of all its ranks.
class LaunchedJob {
 public:
  std::unique_ptr<Bootstrap> bootstrap(double timeout_s) {
    std::lock_guard lock(mutex_);
    if (job_ == nullptr) {
      Arrival arrival = launched_as();
      arrival.timeout_s = timeout_s;
      // The first half of the token names the place, which every user of this host can see; the second is the secret.
      const std::string name = fmt::format("tutti-{}", to_hex(std::span<const std::uint8_t>(arrival.token).first(8)));
      job_ = sockets_bootstrap_at(unix_address(name), arrival);
      process_ = ::getpid();
    }
    if (process_ != ::getpid()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("this is a fork of rank {}, which has joined the job already: make sessions there, or "
                              "start the ranks with their own {}",
                              job_->rank(), kRank));
    }
    std::vector<int> everyone(static_cast<std::size_t>(job_->size()));
    std::iota(everyone.begin(), everyone.end(), 0);
    return job_->subgroup(everyone, timeout_s);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<SocketsBootstrap> job_;
  pid_t process_ = 0;
};

}  // namespace

std::unique_ptr<Bootstrap> process_bootstrap(double timeout_s) {
  if (!launched_without_mpi()) return mpi_bootstrap(timeout_s);
  static LaunchedJob* const job = new LaunchedJob;  // to the end of the process, as MPI's
  return job->bootstrap(timeout_s > 0 ? timeout_s : default_timeout_s());
}

}  // namespace tutti

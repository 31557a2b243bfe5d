// What all communicators of a session share: how its ranks come to agree on it.
#include "collectives/session_state.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "collectives/agree.hpp"
#include "collectives/agreed_tuning.hpp"
#include "collectives/deadline.hpp"
#include "collectives/native_cuda.hpp"

namespace tutti {
namespace {

/// What this rank's options and environment ask for. Where they make no sense, `trouble` says so, and all ranks are to
/// hear of it: until then the others wait for this one.
struct Settings {
  explicit Settings(const SessionOptions& options) {
    try {
      if (!(options.timeout_s >= 0))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("session: timeout_s is {:g}; give seconds, or 0 for TUTTI_TIMEOUT", options.timeout_s));
      timeout_s = options.timeout_s > 0 ? options.timeout_s : default_timeout_s();
      if (options.threads < 0 || options.threads > kMostThreads)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("session: threads is {}; give 1 to {}, or 0 for TUTTI_THREADS", options.threads, kMostThreads));
      threads = options.threads > 0 ? options.threads : threads_asked_for();
      backend = options.backend == BackendKind::automatic ? default_backend() : options.backend;
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  double timeout_s = 600;
  int threads = 0;  ///< 0: as the cores allow
  BackendKind backend = BackendKind::native;
  std::string trouble;
};

/// The backend that every rank asks for. Collective; throws on all ranks alike.
BackendKind agreed_backend(Bootstrap& bootstrap, const SessionOptions& options) {
  const Settings mine(options);
  agree(bootstrap, ErrorCode::invalid_argument, mine.trouble);
  const auto kinds = bootstrap.all_gather(mine.backend);
  for (std::size_t rank = 1; rank < kinds.size(); ++rank)
    if (kinds[rank] != kinds[0])
      throw Error(
          ErrorCode::mismatch,
          fmt::format("session: rank 0 asks for backend {}, rank {} for {}; give all ranks the same options and "
                      "TUTTI_BACKEND",
                      name_of(kinds[0]), rank, name_of(kinds[rank])));
  return mine.backend;
}

/// The cores that each rank has for itself, of those that the job may run on; 0 if there are fewer cores than ranks.
/// Collective.
int cores_per_rank(Bootstrap& bootstrap) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  cpu_set_t all = mine;
  for (const cpu_set_t& theirs : bootstrap.all_gather(mine)) CPU_OR(&all, &all, &theirs);
  return CPU_COUNT(&all) / bootstrap.size();
}

/// Polls before a wait hands its core on: many if every thread that waits has a core of its own, few otherwise.
/// Measured at 4 ranks on 2 cores: 100 polls make a barrier 3 times slower, 500 make it 5 times slower.
int spins_for(int cores, int threads) { return threads <= cores ? 2000 : 3; }

/// Collective.
int agreed_threads(Bootstrap& bootstrap, int wanted, int cores) {
  const int mine = wanted > 0 ? wanted : std::clamp(cores, 1, kMostThreads);
  const auto all = bootstrap.all_gather(mine);
  return *std::min_element(all.begin(), all.end());
}

}  // namespace

namespace detail {

double exchange_timeout_s(const SessionOptions& options) { return 2 * Settings(options).timeout_s; }

SessionState::SessionState(std::unique_ptr<Bootstrap> made, const SessionOptions& options)
    : bootstrap(std::move(made)),
      backend(agreed_backend(*bootstrap, options)),
      timeout(std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(Settings(options).timeout_s))),
      device(backend == BackendKind::mpi ? nullptr : device_session(*bootstrap, backend, timeout, options.gpu)),
      on_gpu(device != nullptr),
      segments(bootstrap->size()),
      cores(cores_per_rank(*bootstrap)),
      threads(agreed_threads(*bootstrap, Settings(options).threads, cores)),
      tuning(backend == BackendKind::native ? agreed_tuning(*bootstrap, options.tuning, on_gpu, cores == 0) : Tuning{}),
      progress(spins_for(cores, threads), threads, timeout) {}

}  // namespace detail

}  // namespace tutti

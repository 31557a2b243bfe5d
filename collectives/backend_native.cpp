#include "collectives/backend_native.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "collectives/call_for.hpp"
#include "collectives/failure_message.hpp"
#include "collectives/geometry_host.hpp"

namespace tutti {
namespace {

constexpr std::size_t kLeastWatched = 16 << 10;  // bytes of all ranks' buffers from which streaming may pay

/// As the system says (a name of sysconf's), or `unknown`.
std::size_t cache_of(int name, std::size_t unknown) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : unknown;
}

/// Bytes of a rank's buffers up to which reading near peers pays, where a core has a cache of so many bytes for itself.
/// What a peer has just read of more than 1.5 times that is in its cache no longer, and then stores to it are fast (Zen
/// 4: 28 us against 40 for 1 MiB). On a mesh stores win far earlier (Sapphire Rapids, all-reduce of 64 KiB, 256 KiB,
/// 1 MiB: pulled 7.0, 21 and 108 us, pushed 8.3, 16 and 63).
std::size_t most_pulled(std::size_t cache) { return on_one_mesh() ? cache / 8 : cache * 3 / 2; }

/// A segment in the session's table: out of it and unmapped at its end.
struct TabledSegment {
  TabledSegment(SegmentTable& segments, std::shared_ptr<SharedSegment> memory, int at)
      : table(segments), segment(std::move(memory)), index(at) {}
  TabledSegment(const TabledSegment&) = delete;
  ~TabledSegment() { table.remove(index); }
  SegmentTable& table;
  std::shared_ptr<SharedSegment> segment;
  int index;
};

struct HostSegmentOwner : detail::SegmentOwner {
  HostSegmentOwner(Progress& driver, std::shared_ptr<TabledSegment> memory)
      : progress(driver), segment(std::move(memory)) {}
  /// Calls in flight may reach the peers' shares, whatever buffer this rank gave them.
  ~HostSegmentOwner() override { progress.keep(std::move(segment)); }
  Progress& progress;
  std::shared_ptr<TabledSegment> segment;
};

/// What a call on a communicator of one rank does.
void copy_alone(const Request& request) {
  if (request.in && request.out && request.in != request.out && !request.is_message())
    std::memcpy(request.out, request.in, request.bytes());
}

}  // namespace

/// A call in flight: one launch, or those of a group.
class NativeOperation : public detail::Operation {
 public:
  NativeOperation(NativeBackend& backend, std::vector<std::shared_ptr<Launch>> launches)
      : backend_(backend), launches_(std::move(launches)) {}
  bool test() override {
    if (!backend_.session_.progress.test(launches_)) return false;
    report();
    return true;
  }
  void wait() override {
    backend_.session_.progress.wait(launches_);
    report();
  }

 private:
  void report() const {
    for (const auto& launch : launches_)
      if (launch->skipped || launch->failure.kind != Failure::Kind::none) backend_.throw_if_failed();
  }
  NativeBackend& backend_;
  std::vector<std::shared_ptr<Launch>> launches_;
};

NativeBackend::NativeBackend(const detail::CommunicatorState& communicator, const CommunicatorOptions& options)
    : session_(*communicator.session),
      members_(communicator.members),
      options_(options),
      launches_(team_, 1 + 2 * communicator.bootstrap->size(), [this](const Launch& launch) { return ended(launch); }),
      cache_bytes_(cache_of(_SC_LEVEL3_CACHE_SIZE, 16 << 20)),
      most_pulled_(most_pulled(cache_of(_SC_LEVEL2_CACHE_SIZE, 1 << 20))) {
  Bootstrap& bootstrap = *communicator.bootstrap;
  const int ranks = bootstrap.size();
  if (ranks > kMaxRanks)
    throw Error(ErrorCode::unsupported,
                fmt::format("communicator: {} ranks; native serves at most {}", ranks, kMaxRanks));
  everyone_ = set_of(members_);
  options_ = bootstrap.all_gather(options)[0];
  if (options_.blocks < 0 || options_.blocks > kMostHostBlocks)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("communicator: blocks is {}; use 1 to {}, or 0 for as many as help", options_.blocks,
                            kMostHostBlocks));

  team_.layout =
      layout_of(host_geometry(ranks, std::max(options_.blocks, session_.threads), std::max(options_.blocks, 1)));
  chooser_ = Chooser(team_.layout.geometry, options_.deterministic, session_.tuning);
  arena_ = allocate_host_segment(bootstrap, team_.layout.bytes, Pages::when_touched);
  team_.arena = arena_->base(bootstrap.rank());
  team_.rank = bootstrap.rank();
  team_.segments = session_.segments.bases();
  team_.segment_ranks = session_.segments.ranks();
  // The arena arrives zeroed, and what follows is read by this rank alone: no peer can signal too early.
  auto** const arenas = reinterpret_cast<char**>(team_.arena + team_.layout.arenas);
  for (int r = 0; r < ranks; ++r) arenas[r] = arena_->base(r);
  std::copy(members_.begin(), members_.end(), reinterpret_cast<int*>(team_.arena + team_.layout.members));
  for (int b = 0; b < team_.layout.geometry.packet_blocks; ++b)
    Connections(team_, b, team_.layout.geometry.packet_blocks).uses(Region::packets) = options_.first_packet_use;
  // What other communicators have found; until this one's calls find out anew.
  std::atomic_ref(Connections(team_, 0, 1).board(team_.rank)->line_ns)
      .store(session_.nearness.typical_ns(), std::memory_order_relaxed);
  session_.progress.add(&launches_);
}

NativeBackend::~NativeBackend() { session_.progress.remove(&launches_); }

int NativeBackend::chain_of(const Request& request) const {
  if (request.collective == Collective::send) return 1 + 2 * request.peer;
  if (request.collective == Collective::recv) return 2 + 2 * request.peer;
  return 0;
}

/// The shortest way of a line that a rank knows: ranks that always come first know none.
std::uint64_t NativeBackend::least_line_ns() const {
  std::uint64_t least = 0;
  for (int r = 0; r < team_.layout.geometry.ranks; ++r) {
    auto& theirs = Connections(team_, 0, 1).board(r)->line_ns;
    const std::uint64_t ns = std::atomic_ref(theirs).load(std::memory_order_relaxed);
    if (ns != 0 && (least == 0 || ns < least)) least = ns;
  }
  return least;
}

StorePolicy NativeBackend::stores_for(const Request& request) {
  const auto ranks = static_cast<std::size_t>(team_.layout.geometry.ranks);
  const std::size_t footprint = (request.bytes_in(ranks) + request.bytes_out(ranks)) * ranks;
  StorePolicy policy;
  if (footprint > cache_bytes_) policy.buffers = host::Stores::streaming;
  if (footprint >= kLeastWatched) {
    constexpr std::uint64_t kCallsPerLook = 8;  // a look costs a line of each peer, a sample the clock's time twice
    const bool looks = looks_++ % kCallsPerLook == 0;
    if (looks) far_ = Nearness::far(least_line_ns());
    if (looks || session_.nearness.typical_ns() == 0) policy.nearness = &session_.nearness;
    if (far_) policy.shared = host::Stores::streaming;
  }
  return policy;
}

const NativeBackend::Planned& NativeBackend::planned(const Request& request) {
  const auto which = request.count * 5 + static_cast<std::size_t>(request.collective) * 3;
  Planned& found = planned_[which % planned_.size()];
  if (found.serves(request)) return found;
  found.blocks = 0;  // of none, should planning throw
  found.like = request;
  found.plan = choose(request, chooser_);
  const int blocks = blocks_of(request, found.plan);
  found.chain = chain_of(request);
  found.call = tutti::call_for(request, found.plan, blocks,
                               {team_.rank, team_.layout.geometry.ranks, session_.segments, everyone_});
  found.blocks = blocks;
  return found;
}

Call NativeBackend::call_for(const Request& request, const Planned& plan) {
  const auto n = static_cast<std::size_t>(team_.layout.geometry.ranks);
  Call call = plan.call;
  set_buffers(call, request, plan.plan.kernel, {team_.rank, team_.layout.geometry.ranks, session_.segments, everyone_});
  if (!request.is_message()) call.number = ++calls_;
  call.pulls = request.collective == Collective::broadcast ||
               (!far_ && request.bytes_in(n) + request.bytes_out(n) <= most_pulled_);
  return call;
}

int NativeBackend::blocks_of(const Request& request, const Plan& plan) const {
  return host_blocks(request, plan, team_.layout.geometry.ranks, session_.threads, options_.blocks);
}

void NativeBackend::throw_if_failed() const {
  if (failed_.load(std::memory_order_acquire)) throw *error_;
}

bool NativeBackend::ended(const Launch& launch) {
  if (launch.failure.kind == Failure::Kind::none) return false;
  if (!error_) {
    const Connections arenas(team_, 0, 1);
    error_ = std::make_shared<const Error>(explain(launch.failure, launch.call, team_.rank, session_.timeout,
                                                   [&](int peer) { return seen_board(arenas, peer); }));
    failed_.store(true, std::memory_order_release);
  }
  return true;
}

void NativeBackend::run(const Request& request) {
  throw_if_failed();
  const Planned& plan = planned(request);
  if (team_.layout.geometry.ranks == 1) return copy_alone(request);
  const StorePolicy stores = stores_for(request);
  const Call call = call_for(request, plan);
  session_.progress.run(launches_, plan.plan.kernel, call, plan.blocks, stores, plan.chain);
  throw_if_failed();
}

std::shared_ptr<Launch> NativeBackend::prepare(const Request& request) {
  const Planned& plan = planned(request);
  auto launch = std::make_shared<Launch>();
  launch->kernel = plan.plan.kernel;
  launch->stores = stores_for(request);
  launch->call = call_for(request, plan);
  launch->blocks = plan.blocks;
  launch->chain = plan.chain;
  return launch;
}

std::shared_ptr<detail::Operation> NativeBackend::start(const Request& request) { return start_group({&request, 1}); }

std::shared_ptr<detail::Operation> NativeBackend::start_group(std::span<const Request> requests) {
  throw_if_failed();
  std::vector<std::shared_ptr<Launch>> launches;
  if (team_.layout.geometry.ranks == 1) {
    for (const Request& request : requests) {
      choose(request, chooser_);  // refuses what more ranks would refuse
      copy_alone(request);
    }
  } else {
    for (const Request& request : requests) launches.push_back(prepare(request));
    session_.progress.start(launches_, launches);
  }
  return std::make_shared<NativeOperation>(*this, std::move(launches));
}

void NativeBackend::run_group(std::span<const Request> requests) {
  if (requests.size() == 1) return run(requests[0]);
  if (team_.layout.geometry.ranks == 1) return start_group(requests)->wait();
  throw_if_failed();
  std::vector<std::shared_ptr<Launch>> launches;
  for (const Request& request : requests) launches.push_back(prepare(request));
  session_.progress.run(launches_, launches);
  throw_if_failed();
}

Choice NativeBackend::choice(const Request& request) const {
  const Plan plan = choose(request, chooser_);
  return choice_of(request, plan, chooser_, blocks_of(request, plan));
}

std::pair<std::shared_ptr<detail::SegmentOwner>, void*> NativeBackend::allocate(Bootstrap& bootstrap,
                                                                                std::size_t bytes) {
  auto memory = allocate_host_segment(bootstrap, bytes);
  const int index = session_.segments.add(bootstrap, members_, *memory);
  char* const base = memory->base(bootstrap.rank());
  auto tabled = std::make_shared<TabledSegment>(session_.segments, std::move(memory), index);
  return {std::make_shared<HostSegmentOwner>(session_.progress, std::move(tabled)), base};
}

}  // namespace tutti

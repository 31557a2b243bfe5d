#include "collectives/backend_nccl.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "collectives/deadline.hpp"
#include "collectives/device_cuda.hpp"
#include "collectives/nccl_library.hpp"
#include "collectives/nccl_memory.hpp"
#include "collectives/nccl_watch.hpp"
#include "collectives/ranges_cuda.hpp"
#include "collectives/session_state.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti {
namespace {

using detail::check_cuda;
using detail::OnDevice;

constexpr nccl::Type type_of(DataType type) {
  using nccl::Type;
  constexpr Type types[kDataTypes] = {Type::f32, Type::f64, Type::f16, Type::bf16, Type::i8,
                                      Type::u8,  Type::i32, Type::u32, Type::i64,  Type::u64};
  return types[static_cast<int>(type)];
}
constexpr nccl::Op op_of(ReduceOp op) {
  using nccl::Op;
  constexpr Op ops[kReduceOps] = {Op::sum, Op::prod, Op::min, Op::max, Op::avg};
  return ops[static_cast<int>(op)];
}

/// "all_reduce f32 sum, 1024 elements".
std::string words(const Request& r) {
  if (r.collective == Collective::barrier) return name_of(r.collective);
  std::string text = fmt::format("{} {}", name_of(r.collective), name_of(r.type));
  if (r.reduces()) text += fmt::format(" {}", name_of(r.op));
  if (r.is_message()) text += fmt::format(" {} rank {}", r.collective == Collective::send ? "to" : "from", r.peer);
  if (r.is_rooted()) text += fmt::format(" of root {}", r.peer);
  return text + fmt::format(", {} elements", r.count);
}

// A blocking communicator: a non-blocking one would start a thread for each call (NCCL's group.cc), which NCCL's users
// avoid too, and then the comparison would not be fair. So it is not NCCL's host code that is bounded but its kernels:
// `await` and the watch abort the communicator. Creation connects the ranks, while the bootstrap has just shown that
// they are all there; what NCCL connects later, in the first message between two ranks, waits for both without bound.
class NcclBackend : public Backend {
 public:
  explicit NcclBackend(const detail::CommunicatorState& communicator);
  ~NcclBackend() override;

  BackendKind kind() const override { return BackendKind::nccl; }
  Choice choice(const Request&) const override { return {Algorithm::automatic, "NCCL decides"}; }
  void run(const Request& request) override { run_group({&request, 1}); }
  std::shared_ptr<detail::Operation> start(const Request& request) override { return start_group({&request, 1}); }
  void run_group(std::span<const Request> requests) override;
  std::shared_ptr<detail::Operation> start_group(std::span<const Request> requests) override;
  std::pair<std::shared_ptr<detail::SegmentOwner>, void*> allocate(Bootstrap& bootstrap, std::size_t bytes) override;
  std::shared_ptr<detail::SegmentOwner> register_memory(Bootstrap& bootstrap, void* memory, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override { device_->copy(to, from, bytes); }

 private:
  class InFlight;
  class Registered;
  using Outcome = nccl::Result;

  void connect(Bootstrap& bootstrap);
  void refuse_algorithm(const Request& request) const;
  void throw_if_failed() const;
  /// Ends the communicator with what becomes every later call's error. Under the mutex.
  void fail(ErrorCode code, const std::string& text);
  void check(Outcome outcome, const Request& request);
  bool has_trouble(const Request& running);  ///< NCCL's own; then the communicator has failed
  void time_out(const Request& running);

  /// NCCL runs what is called on one communicator one after the other, also messages that do not wait for each other,
  /// and whatever their streams. So messages to higher and to lower ranks have communicators of their own: then those
  /// that cross, or go round a ring, meet. A tangle within one direction needs a group, as in NCCL.
  enum Way { kTogether, kUp, kDown, kWays };
  struct Line {
    nccl::Comm comm = nullptr;
    cudaStream_t stream = nullptr;  ///< of calls that name none
    cudaEvent_t last = nullptr;     ///< the end of the last call
  };
  Way way_of(const Request& request) const;
  Line& line_of(const Request& request) { return lines_[way_of(request)]; }
  cudaStream_t own_stream(std::span<const Request> requests) const;
  void let_go();

  void enqueue(std::span<const Request> requests, cudaStream_t stream);
  void enqueue_group(std::span<const Request> requests, cudaStream_t stream);
  Outcome issue(const Request& request, cudaStream_t stream);
  /// A rooted collective, or one between all, out of messages.
  Outcome exchange(const Request& request, cudaStream_t stream);
  void keep_own_part(const Request& request, cudaStream_t stream);
  void await(cudaEvent_t end, const Request& request);

  std::shared_ptr<detail::DeviceSession> device_;
  const nccl::Library* nccl_ = nullptr;
  int rank_;
  int ranks_;
  std::vector<int> members_;  ///< the session's rank of each rank
  std::shared_ptr<NcclMemory> memory_;
  float* one_ = nullptr;  ///< what a barrier sums
  cudaEvent_t fork_ = nullptr;
  cudaEvent_t join_ = nullptr;
  std::mutex mutex_;  ///< of the communicators, for the watch
  std::array<Line, kWays> lines_;
  std::shared_ptr<const Error> error_;
  std::atomic<bool> failed_ = false;
  std::unique_ptr<NcclWatch> watch_;
};

class NcclBackend::InFlight : public detail::Operation {
 public:
  InFlight(NcclBackend& backend, cudaStream_t stream, const Request& request) : backend_(backend), request_(request) {
    check_cuda(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check_cuda(cudaEventRecord(end_, stream), "cudaEventRecord");
  }
  ~InFlight() override { cudaEventDestroy(end_); }
  bool test() override {
    const OnDevice current(backend_.device_->device());
    const detail::BesideCaptures beside;
    const cudaError_t result = cudaEventQuery(end_);
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      backend_.throw_if_failed();
      return false;
    }
    check_cuda(result, "NCCL's kernel");
    backend_.throw_if_failed();
    return true;
  }
  void wait() override {
    const OnDevice current(backend_.device_->device());
    const detail::BesideCaptures beside;
    backend_.await(end_, request_);
  }

 private:
  NcclBackend& backend_;
  Request request_;
  cudaEvent_t end_ = nullptr;
};

class NcclBackend::Registered : public detail::SegmentOwner {
 public:
  Registered(NcclBackend& backend, void* handle) : backend_(backend), handle_(handle) {}
  ~Registered() override {
    const std::lock_guard lock(backend_.mutex_);
    const nccl::Comm comm = backend_.lines_[kTogether].comm;
    if (handle_ && comm) backend_.nccl_->comm_deregister(comm, handle_);
  }

 private:
  NcclBackend& backend_;
  void* handle_;
};

NcclBackend::NcclBackend(const detail::CommunicatorState& communicator)
    : device_(communicator.session->device),
      rank_(communicator.bootstrap->rank()),
      ranks_(communicator.bootstrap->size()) {
  Bootstrap& bootstrap = *communicator.bootstrap;
  const OnDevice current(device_->device());
  const detail::BesideCaptures beside;
  detail::together(bootstrap, [&] { nccl_ = &nccl::library(); });
  const std::vector<int> versions = bootstrap.all_gather(nccl_->version);
  for (int r = 1; r < ranks_; ++r)
    if (const int theirs = versions[static_cast<std::size_t>(r)]; theirs != versions[0])
      throw Error(ErrorCode::unsupported, fmt::format("backend nccl: rank 0 opened version {}, rank {} version {}",
                                                      nccl::version_text(versions[0]), r, nccl::version_text(theirs)));
  members_ = communicator.members;
  device_->expect_idle(bootstrap, members_, "a communicator is made");
  memory_ = std::make_shared<NcclMemory>(*nccl_);
  try {
    connect(bootstrap);
  } catch (...) {
    let_go();
    throw;
  }
  watch_ =
      std::make_unique<NcclWatch>(device_->device(), device_->timeout(), [this](const Request& running, bool overdue) {
        const std::lock_guard lock(mutex_);
        if (overdue) time_out(running);
        return has_trouble(running);
      });
}

void NcclBackend::connect(Bootstrap& bootstrap) {
  detail::together(bootstrap, [&] {
    for (cudaEvent_t* const event : {&fork_, &join_})
      check_cuda(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    for (Line& line : lines_) {
      check_cuda(cudaStreamCreateWithFlags(&line.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      line.last = device_->make_end();
    }
    one_ = static_cast<float*>(memory_->allocate(sizeof(float)));
    check_cuda(cudaMemsetAsync(one_, 0, sizeof(float), lines_[kTogether].stream), "cudaMemsetAsync");
  });
  for (Line& line : lines_) {
    if (ranks_ == 1 && &line != &lines_[kTogether]) break;  // nobody to send to
    nccl::Id id{};
    detail::together(bootstrap, [&] {
      if (rank_ == 0) check(nccl_->get_unique_id(&id), {});
    });
    id = bootstrap.all_gather(id)[0];
    detail::together(bootstrap, [&] {
      nccl::Config config;
      config.blocking = 1;
      check(nccl_->comm_init_rank_config(&line.comm, ranks_, id, rank_, &config), {});
    });
  }
  detail::together(bootstrap, [&] {
    enqueue(std::array{Request{}}, lines_[kTogether].stream);
    await(lines_[kTogether].last, Request{});
  });
}

NcclBackend::~NcclBackend() {
  const OnDevice current(device_->device(), std::nothrow);
  try {
    const detail::BesideCaptures beside;
    for (const Line& line : lines_)
      if (!failed_) await(line.last, Request{});
  } catch (const Error&) {  // who called has heard of it, or nobody calls any more
  }
  watch_.reset();
  for (Line& line : lines_) {
    if (line.comm) nccl_->comm_destroy(line.comm);
    line.comm = nullptr;
  }
  let_go();
}

void NcclBackend::let_go() {
  for (Line& line : lines_) {
    if (line.comm) nccl_->comm_abort(line.comm);
    if (line.last) device_->drop_end(line.last);
    if (line.stream) cudaStreamDestroy(line.stream);
    line = {};
  }
  for (const cudaEvent_t event : {fork_, join_})
    if (event) cudaEventDestroy(event);
}

NcclBackend::Way NcclBackend::way_of(const Request& r) const {
  if (!r.is_message()) return kTogether;
  return (r.collective == Collective::send) == (r.peer > rank_) ? kUp : kDown;
}

cudaStream_t NcclBackend::own_stream(std::span<const Request> requests) const {
  Way way = way_of(requests[0]);
  for (const Request& request : requests)
    if (way_of(request) != way) way = kUp;
  return lines_[way].stream;
}

void NcclBackend::refuse_algorithm(const Request& r) const {
  if (r.algorithm == Algorithm::automatic) return;
  throw Error(ErrorCode::unsupported, fmt::format("rank {}: {} by algorithm {} was asked of the nccl backend, whose "
                                                  "algorithms are NCCL's choice: use auto, or native",
                                                  rank_, name_of(r.collective), name_of(r.algorithm)));
}

void NcclBackend::throw_if_failed() const {
  if (failed_.load(std::memory_order_acquire)) throw *error_;
}

void NcclBackend::fail(ErrorCode code, const std::string& text) {
  if (failed_) return;
  error_ = std::make_shared<const Error>(code, fmt::format("rank {}: {}", rank_, text));
  failed_.store(true, std::memory_order_release);
  for (Line& line : lines_) {
    if (line.comm) nccl_->comm_abort(line.comm);  // ends its kernels, and frees it
    line.comm = nullptr;
  }
}

void NcclBackend::check(Outcome outcome, const Request& request) {
  if (outcome == Outcome::success) return;
  const char* const last = nccl_->get_last_error(line_of(request).comm);
  fail(ErrorCode::system, fmt::format("{}: NCCL {} says: {}. {}", words(request), nccl::version_text(nccl_->version),
                                      nccl_->get_error_string(outcome), last ? last : ""));
  throw *error_;
}

bool NcclBackend::has_trouble(const Request& running) {
  for (const Line& line : lines_) {
    if (failed_) break;
    Outcome trouble = Outcome::success;
    if (!line.comm || nccl_->comm_get_async_error(line.comm, &trouble) != Outcome::success ||
        trouble == Outcome::success || trouble == Outcome::in_progress)
      continue;
    const char* const last = nccl_->get_last_error(line.comm);
    fail(ErrorCode::peer_failed,
         fmt::format("{}: NCCL says: {}. {}", words(running), nccl_->get_error_string(trouble), last ? last : ""));
  }
  return failed_;
}

void NcclBackend::time_out(const Request& running) {
  fail(ErrorCode::timeout,
       fmt::format(
           "{}: did not end within {:g} s, so NCCL's communicator was aborted. NCCL does not say who is missing: "
           "are all ranks alive, and do they make the same calls? TUTTI_TIMEOUT sets the limit in seconds",
           words(running), std::chrono::duration<double>(device_->timeout()).count()));
}

NcclBackend::Outcome NcclBackend::exchange(const Request& r, cudaStream_t stream) {
  const bool to_root = r.collective == Collective::gather, from_root = r.collective == Collective::scatter;
  const nccl::Type type = type_of(r.type);
  const nccl::Comm comm = lines_[kTogether].comm;
  Outcome outcome = nccl_->group_start();
  const auto add = [&outcome](Outcome next) {
    if (outcome == Outcome::success) outcome = next;
  };
  for (int p = 0; p < ranks_; ++p) {
    if (p == rank_) continue;
    const std::size_t at = static_cast<std::size_t>(p) * r.bytes();
    const bool sends = to_root ? p == r.peer : !from_root || rank_ == r.peer;
    const bool receives = from_root ? p == r.peer : !to_root || rank_ == r.peer;
    if (sends) add(nccl_->send(static_cast<const char*>(r.in) + (to_root ? 0 : at), r.count, type, p, comm, stream));
    if (receives) add(nccl_->recv(static_cast<char*>(r.out) + (from_root ? 0 : at), r.count, type, p, comm, stream));
  }
  add(nccl_->group_end());
  return outcome;
}

void NcclBackend::keep_own_part(const Request& r, cudaStream_t stream) {
  if (r.is_rooted() && rank_ != r.peer) return;
  const std::size_t own = static_cast<std::size_t>(rank_) * r.bytes();
  const char* const from = static_cast<const char*>(r.in) + (r.spreads_in() ? own : 0);
  char* const to = static_cast<char*>(r.out) + (r.spreads_out() ? own : 0);
  if (from != to) check_cuda(cudaMemcpyAsync(to, from, r.bytes(), cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
}

NcclBackend::Outcome NcclBackend::issue(const Request& r, cudaStream_t stream) {
  const nccl::Type type = type_of(r.type);
  const nccl::Comm comm = line_of(r).comm;
  switch (r.collective) {
    case Collective::all_reduce: return nccl_->all_reduce(r.in, r.out, r.count, type, op_of(r.op), comm, stream);
    case Collective::reduce_scatter:
      return nccl_->reduce_scatter(r.in, r.out, r.count, type, op_of(r.op), comm, stream);
    case Collective::all_gather: return nccl_->all_gather(r.in, r.out, r.count, type, comm, stream);
    case Collective::broadcast: return nccl_->broadcast(r.in, r.out, r.count, type, r.peer, comm, stream);
    case Collective::reduce: return nccl_->reduce(r.in, r.out, r.count, type, op_of(r.op), r.peer, comm, stream);
    case Collective::send: return nccl_->send(r.in, r.count, type, r.peer, comm, stream);
    case Collective::recv: return nccl_->recv(r.out, r.count, type, r.peer, comm, stream);
    case Collective::barrier: return nccl_->all_reduce(one_, one_, 1, nccl::Type::f32, nccl::Op::sum, comm, stream);
    case Collective::gather:
      if (nccl_->gather) return nccl_->gather(r.in, r.out, r.count, type, r.peer, comm, stream);
      break;
    case Collective::scatter:
      if (nccl_->scatter) return nccl_->scatter(r.in, r.out, r.count, type, r.peer, comm, stream);
      break;
    case Collective::all_to_all:
      if (nccl_->all_to_all) return nccl_->all_to_all(r.in, r.out, r.count, type, comm, stream);
      break;
  }
  keep_own_part(r, stream);
  return exchange(r, stream);
}

void NcclBackend::enqueue(std::span<const Request> requests, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (requests.size() > 1)
    enqueue_group(requests, stream);
  else if (requests[0].count > 0 || requests[0].collective == Collective::barrier)
    check(issue(requests[0], stream), requests[0]);
  if (detail::capture_of(stream) != 0) return;
  for (const Request& request : requests) check_cuda(cudaEventRecord(line_of(request).last, stream), "cudaEventRecord");
}

/// On one stream the two communicators' kernels would wait for each other, so one goes to another stream beside it.
void NcclBackend::enqueue_group(std::span<const Request> requests, cudaStream_t stream) {
  const cudaStream_t down = lines_[kDown].stream;
  check_cuda(cudaEventRecord(fork_, stream), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(down, fork_, 0), "cudaStreamWaitEvent");
  check(nccl_->group_start(), requests[0]);
  Outcome outcome = Outcome::success;
  for (const Request& request : requests)
    if (outcome == Outcome::success && request.count > 0)
      outcome = issue(request, way_of(request) == kDown ? down : stream);
  if (const Outcome end = nccl_->group_end(); outcome == Outcome::success) outcome = end;
  check(outcome, requests[0]);
  check_cuda(cudaEventRecord(join_, down), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(stream, join_, 0), "cudaStreamWaitEvent");
}

void NcclBackend::await(cudaEvent_t end, const Request& request) {
  // A short spin costs no latency; a long wait leaves the core to others.
  constexpr int kSpins = 2000;
  const Deadline deadline(std::chrono::duration<double>(device_->timeout()).count());
  for (int polls = 0;; ++polls) {
    const cudaError_t result = cudaEventQuery(end);
    if (result != cudaErrorNotReady) {
      throw_if_failed();
      check_cuda(result, "NCCL's kernel");
      return;
    }
    if (polls < kSpins) continue;
    cudaGetLastError();
    {
      const std::lock_guard lock(mutex_);
      if (deadline.passed()) time_out(request);
      if (has_trouble(request)) throw *error_;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void NcclBackend::run_group(std::span<const Request> requests) {
  for (const Request& request : requests) refuse_algorithm(request);
  throw_if_failed();
  const OnDevice current(device_->device());
  const CallRange range(requests, "nccl");
  auto* const stream = static_cast<cudaStream_t>(requests[0].stream);
  if (stream) {
    const bool captured = detail::capture_of(stream) != 0;
    if (!captured) watch_->begin(stream);
    enqueue(requests, stream);
    if (!captured) watch_->end(stream, requests[0]);
    return;
  }
  detail::expect_no_capture(name_of(requests[0].collective));
  const detail::BesideCaptures beside;
  const cudaStream_t own = own_stream(requests);
  device_->follow_default(own);
  enqueue(requests, own);
  await(line_of(requests[0]).last, requests[0]);
}

std::shared_ptr<detail::Operation> NcclBackend::start_group(std::span<const Request> requests) {
  for (const Request& request : requests) refuse_algorithm(request);
  throw_if_failed();
  const OnDevice current(device_->device());
  const CallRange range(requests, "nccl");
  auto* stream = static_cast<cudaStream_t>(requests[0].stream);
  detail::expect_handle_possible(stream, name_of(requests[0].collective));
  const detail::BesideCaptures beside;
  if (!stream) device_->follow_default(stream = own_stream(requests));
  watch_->begin(stream);
  enqueue(requests, stream);
  watch_->end(stream, requests[0]);
  return std::make_shared<InFlight>(*this, stream, requests[0]);
}

std::pair<std::shared_ptr<detail::SegmentOwner>, void*> NcclBackend::allocate(Bootstrap& bootstrap, std::size_t bytes) {
  const OnDevice current(device_->device());
  const detail::BesideCaptures beside;
  device_->expect_idle(bootstrap, members_, "memory is allocated");
  memory_->free_retired();
  void* data = nullptr;
  detail::together(bootstrap, [&] {
    if (bytes == 0) return;
    data = memory_->allocate(bytes);
    check_cuda(cudaMemsetAsync(data, 0, bytes, device_->quiet()), "cudaMemsetAsync");
    check_cuda(cudaStreamSynchronize(device_->quiet()), "cudaStreamSynchronize");
  });
  return {memory_->owner_of(data), data};
}

std::shared_ptr<detail::SegmentOwner> NcclBackend::register_memory(Bootstrap& bootstrap, void* memory,
                                                                   std::size_t bytes) {
  detail::together(bootstrap, [&] { throw_if_failed(); });  // one rank may know before the others
  const OnDevice current(device_->device());
  const detail::BesideCaptures beside;
  void* handle = nullptr;
  bool registered = nccl_->comm_register != nullptr;
  if (registered && bytes > 0) {
    const std::lock_guard lock(mutex_);
    registered = nccl_->comm_register(lines_[kTogether].comm, memory, bytes, &handle) == Outcome::success;
  }
  auto owner = std::make_shared<Registered>(*this, handle);
  for (const int theirs : bootstrap.all_gather(static_cast<int>(registered))) registered = registered && theirs;
  return registered ? owner : nullptr;
}

}  // namespace

std::unique_ptr<Backend> nccl_backend(const detail::CommunicatorState& communicator, const CommunicatorOptions&) {
  if (!communicator.session->device)
    throw Error(ErrorCode::unsupported, "backend nccl: this session runs on the CPU; use native or mpi there");
  return std::make_unique<NcclBackend>(communicator);
}

}  // namespace tutti

#include "collectives/backend_native_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "collectives/failure_message_cuda.hpp"
#include "collectives/geometry_cuda.hpp"
#include "collectives/native_cuda.hpp"
#include "collectives/probe_cuda.hpp"
#include "collectives/ranges_cuda.hpp"

namespace tutti {
namespace {

using detail::check_cuda;
using detail::OnDevice;

struct DeviceSegmentOwner : detail::SegmentOwner {
  DeviceSegmentOwner(SegmentTable& segments, std::shared_ptr<detail::DeviceSession> session,
                     std::shared_ptr<SharedSegment> memory, int at)
      : table(segments), device(std::move(session)), segment(std::move(memory)), index(at) {}
  ~DeviceSegmentOwner() override {
    table.remove(index);
    try {
      device->withdraw(index);
    } catch (const Error&) {  // the device is beyond help; the next call says so
    }
  }
  SegmentTable& table;
  std::shared_ptr<detail::DeviceSession> device;
  std::shared_ptr<SharedSegment> segment;
  int index;
};

/// A kernel reads elements whole; elsewhere any alignment will do.
void check_aligned(const Request& request) {
  const bool reduces = request.collective == Collective::all_reduce || request.collective == Collective::reduce_scatter;
  const std::size_t element = size_of(request.type);
  for (const void* const pointer : {request.in, static_cast<const void*>(request.out)})
    if (reduces && request.count > 0 && reinterpret_cast<std::uintptr_t>(pointer) % element != 0)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: {} is no address of {} elements; on a GPU it must be a "
                              "multiple of {}",
                              name_of(request.collective), pointer, name_of(request.type), element));
}

/// What was enqueued on a stream up to now.
class CudaOperation : public detail::Operation {
 public:
  CudaOperation(NativeCudaBackend& backend, int device, cudaStream_t stream) : backend_(backend), device_(device) {
    check_cuda(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check_cuda(cudaEventRecord(end_, stream), "cudaEventRecord");
  }
  ~CudaOperation() override { cudaEventDestroy(end_); }
  bool test() override {
    const OnDevice current(device_);
    const cudaError_t result = cudaEventQuery(end_);
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check_cuda(result, "a kernel");
    backend_.throw_if_failed();
    return true;
  }
  void wait() override {
    const OnDevice current(device_);
    check_cuda(cudaEventSynchronize(end_), "a kernel");
    backend_.throw_if_failed();
  }

 private:
  NativeCudaBackend& backend_;
  int device_;
  cudaEvent_t end_ = nullptr;
};

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

NativeCudaBackend::NativeCudaBackend(const detail::CommunicatorState& communicator, const CommunicatorOptions& options)
    : session_(*communicator.session),
      members_(communicator.members),
      everyone_(set_of(members_)),
      device_(session_.device),
      chains_(1 + 2 * static_cast<std::size_t>(communicator.bootstrap->size())) {
  Bootstrap& bootstrap = *communicator.bootstrap;
  const OnDevice current(device_->device());
  options_ = bootstrap.all_gather(options)[0];
  const int ranks = bootstrap.size();
  if (ranks > kMaxRanks)
    throw Error(ErrorCode::unsupported,
                fmt::format("communicator: {} ranks; native serves at most {}", ranks, kMaxRanks));
  // A collective and one message to and from each peer may be in flight at once, and all their blocks must run.
  const int needed = kCudaBlocks + 2 * (ranks - 1);
  if (device_->resident_blocks() < needed)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("communicator: {} ranks need {} blocks of tutti's kernels to run at once, and a GPU here holds {}",
                    ranks, needed, device_->resident_blocks()));
  team_.layout = layout_of(cuda_geometry(ranks));
  team_.rank = bootstrap.rank();
  team_.segments = device_->segments();
  team_.segment_ranks = session_.segments.ranks();
  arena_ = allocate_device_segment(bootstrap, device_, team_.layout.bytes);
  team_.arena = arena_->base(team_.rank);
  try {
    detail::together(bootstrap, [&] { prepare_arena(bootstrap); });
    if (ranks > 1) {
      static_assert(2 * kMaxRanks * sizeof(std::uint64_t) <= kCudaBlocks * sizeof(FailureRecord));
      prove_memory(bootstrap, team_, device_->quiet(), reinterpret_cast<std::uint64_t*>(reports_.records));
    }
  } catch (...) {
    if (reports_.failed) device_->retire_host(reports_.failed);
    throw;
  }
}

NativeCudaBackend::~NativeCudaBackend() {
  cudaSetDevice(device_->device());
  for (Chain& each : chains_) {
    if (each.used) cudaEventSynchronize(each.last);  // kernels write to the arena and to the reports
    if (each.last) device_->drop_end(each.last);
    if (each.stream) cudaStreamDestroy(each.stream);
  }
  device_->retire_host(reports_.failed);
}

/// Fills what only this rank reads: peers may not write there, so it does not matter how far they are.
void NativeCudaBackend::prepare_arena(Bootstrap& bootstrap) {
  const auto ranks = static_cast<std::size_t>(bootstrap.size());
  std::vector<char*> arenas(ranks);
  for (std::size_t r = 0; r < ranks; ++r) arenas[r] = arena_->base(static_cast<int>(r));
  const cudaStream_t quiet = device_->quiet();
  check_cuda(cudaMemcpyAsync(team_.arena + team_.layout.arenas, arenas.data(), ranks * sizeof(char*),
                             cudaMemcpyHostToDevice, quiet),
             "cudaMemcpyAsync");
  check_cuda(cudaMemcpyAsync(team_.arena + team_.layout.members, members_.data(), ranks * sizeof members_[0],
                             cudaMemcpyHostToDevice, quiet),
             "cudaMemcpyAsync");
  static_assert(static_cast<int>(Region::packets) == 0);
  const std::vector<std::uint64_t> uses(kCudaBlocks, options_.first_packet_use);
  check_cuda(cudaMemcpyAsync(team_.arena + team_.layout.uses, uses.data(), uses.size() * sizeof uses[0],
                             cudaMemcpyHostToDevice, quiet),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(quiet), "cudaStreamSynchronize");

  const std::size_t report_bytes = sizeof(FailureRecord) * (1 + static_cast<std::size_t>(kCudaBlocks) * ranks);
  void* reports = nullptr;
  check_cuda(cudaHostAlloc(&reports, report_bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  std::memset(reports, 0, report_bytes);
  reports_.failed = static_cast<std::uint64_t*>(reports);
  reports_.records = static_cast<FailureRecord*>(reports) + 1;
  reports_.timeout_ns = static_cast<std::uint64_t>(device_->timeout().count());
}

Plan NativeCudaBackend::plan_for(const Request& request) const {
  return choose(request, choosing_geometry(team_.layout.geometry), options_.deterministic);
}

Call NativeCudaBackend::call_for(const Request& request, const Plan& plan, int blocks) {
  const int ranks = team_.layout.geometry.ranks;
  const bool average = request.op == ReduceOp::avg;
  Call call;
  call.in = static_cast<const char*>(request.in);
  call.out = static_cast<char*>(request.out);
  call.count = request.count;
  call.reduction = {request.type, average ? ReduceOp::sum : request.op,
                    average ? static_cast<std::uint32_t>(ranks) : 1};
  call.peer = request.peer;
  call.description = describe(request, plan, blocks);
  if (!request.is_message()) call.number = ++calls_;
  if (!by_packets(plan.kernel) && request.count > 0) {
    const auto n = static_cast<std::size_t>(ranks);
    const bool broadcasts = request.collective == Collective::broadcast;  // one buffer, in and out on every rank
    if (broadcasts || request.has_in(team_.rank))
      call.in_place = session_.segments.find(request.in, request.bytes_in(n), everyone_);
    if (broadcasts || request.has_out(team_.rank))
      call.out_place = session_.segments.find(request.out, request.bytes_out(n), everyone_);
  }
  return call;
}

std::size_t NativeCudaBackend::chain_of(const Request& request) const {
  if (!request.is_message()) return 0;
  return (request.collective == Collective::send ? 1 : 2) + 2 * static_cast<std::size_t>(request.peer);
}

NativeCudaBackend::Chain& NativeCudaBackend::chain(std::size_t index) {
  Chain& found = chains_[index];
  // Blocking in CUDA's sense: ordered with the legacy default stream.
  if (!found.stream) check_cuda(cudaStreamCreate(&found.stream), "cudaStreamCreate");
  if (!found.last) found.last = device_->make_end();
  return found;
}

void NativeCudaBackend::copy_alone(const Request& request, cudaStream_t stream) {
  if (request.in && request.out && request.in != request.out && !request.is_message())
    check_cuda(cudaMemcpyAsync(request.out, request.in, request.bytes(), cudaMemcpyDeviceToDevice, stream),
               "cudaMemcpyAsync");
}

cudaStream_t NativeCudaBackend::enqueue(std::span<const Request> requests) {
  throw_if_failed();
  std::vector<std::size_t> chains;
  for (const Request& request : requests) {
    check_aligned(request);
    chains.push_back(chain_of(request));
  }
  auto* stream = static_cast<cudaStream_t>(requests[0].stream);
  if (!stream) stream = chain(chains[0]).stream;
  // A graph's own edges order what is captured into it.
  const bool captured = is_capturing(stream);
  if (!captured)
    for (const std::size_t index : chains)
      if (chain(index).used) check_cuda(cudaStreamWaitEvent(stream, chain(index).last, 0), "cudaStreamWaitEvent");
  if (team_.layout.geometry.ranks == 1)
    for (const Request& request : requests) {
      plan_for(request);  // refuses what more ranks would refuse
      copy_alone(request, stream);
    }
  else
    launch_requests(requests, stream);
  if (!captured)
    for (const std::size_t index : chains) {
      check_cuda(cudaEventRecord(chain(index).last, stream), "cudaEventRecord");
      chain(index).used = true;
    }
  return stream;
}

void NativeCudaBackend::launch_requests(std::span<const Request> requests, cudaStream_t stream) {
  const int ranks = team_.layout.geometry.ranks;
  if (!requests[0].is_message()) {
    const Plan plan = plan_for(requests[0]);
    const int blocks = cuda_blocks(requests[0], plan, ranks, device_->resident_blocks());
    const Call call = call_for(requests[0], plan, blocks);
    check_cuda(launch(plan.kernel, blocks, team_, call, reports_, stream), name_of(plan.kernel));
    return;
  }
  if (requests.size() > kMaxMessages)
    throw Error(ErrorCode::unsupported, fmt::format("a group of {} sends and receives; on a GPU one has at most {}",
                                                    requests.size(), kMaxMessages));
  std::vector<const Request*> sorted;
  for (const Request& request : requests) sorted.push_back(&request);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Request* a, const Request* b) { return chain_of(*a) < chain_of(*b); });
  std::vector<Message> messages;
  std::vector<int> ends;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Plan plan = plan_for(*sorted[i]);
    const int blocks = cuda_blocks(*sorted[i], plan, ranks, device_->resident_blocks());
    messages.push_back({call_for(*sorted[i], plan, blocks), blocks, plan.kernel == Kernel::send});
    if (i + 1 == sorted.size() || chain_of(*sorted[i]) != chain_of(*sorted[i + 1]))
      ends.push_back(static_cast<int>(i) + 1);
  }
  check_cuda(launch_messages(messages, ends, team_, reports_, stream), "send and recv");
}

void NativeCudaBackend::run_group(std::span<const Request> requests) {
  const OnDevice current(device_->device());
  const CallRange range(requests, plan_for(requests[0]));
  const cudaStream_t stream = enqueue(requests);
  if (requests[0].stream) return;
  check_cuda(cudaStreamSynchronize(stream), name_of(requests[0].collective));
  throw_if_failed();
}

std::shared_ptr<detail::Operation> NativeCudaBackend::start_group(std::span<const Request> requests) {
  const OnDevice current(device_->device());
  const CallRange range(requests, plan_for(requests[0]));
  return std::make_shared<CudaOperation>(*this, device_->device(), enqueue(requests));
}

void NativeCudaBackend::throw_if_failed() {
  // Written by a kernel at any time, and released after its record.
  if (!error_ && std::atomic_ref(*reports_.failed).load(std::memory_order_acquire) != 0) {
    const int ranks = team_.layout.geometry.ranks;
    const std::span records(reports_.records, static_cast<std::size_t>(kCudaBlocks) * static_cast<std::size_t>(ranks));
    error_ = std::make_shared<const Error>(explain(records, team_.rank, ranks, device_->timeout()));
  }
  if (error_) throw *error_;
}

Choice NativeCudaBackend::choice(const Request& request) const {
  const Plan plan = plan_for(request);
  const int ranks = team_.layout.geometry.ranks;
  return choice_of(request, plan, ranks, cuda_blocks(request, plan, ranks, device_->resident_blocks()));
}

std::pair<std::shared_ptr<detail::SegmentOwner>, void*> NativeCudaBackend::allocate(Bootstrap& bootstrap,
                                                                                    std::size_t bytes) {
  auto memory = allocate_device_segment(bootstrap, device_, bytes);
  const int index = session_.segments.add(bootstrap, members_, *memory);
  auto owner = std::make_shared<DeviceSegmentOwner>(session_.segments, device_, memory, index);
  detail::together(bootstrap, [&] {
    device_->publish(index, session_.segments.bases() + static_cast<std::ptrdiff_t>(index) * session_.segments.ranks());
  });
  return {std::move(owner), memory->base(bootstrap.rank())};
}

std::unique_ptr<Backend> native_cuda_backend(const detail::CommunicatorState& communicator,
                                             const CommunicatorOptions& options) {
  return std::make_unique<NativeCudaBackend>(communicator, options);
}

}  // namespace tutti

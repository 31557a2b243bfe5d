#include "collectives/backend_native_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "collectives/call_for.hpp"
#include "collectives/failure_message_cuda.hpp"
#include "collectives/geometry_gpu.hpp"
#include "collectives/graph_keeping_cuda.hpp"
#include "collectives/native_cuda.hpp"
#include "collectives/ranges_cuda.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti {
namespace {

using detail::check_cuda;
using detail::OnDevice;

struct DeviceSegmentOwner : detail::SegmentOwner {
  DeviceSegmentOwner(SegmentTable& segments, std::shared_ptr<detail::DeviceSession> session,
                     std::shared_ptr<SharedSegment> memory, int at)
      : table(segments), device(std::move(session)), segment(std::move(memory)), index(at) {}
  ~DeviceSegmentOwner() override {
    try {
      device->withdraw(index);
    } catch (const Error&) {  // the device is beyond help; the next call says so
    }
    table.remove(index);  // only now: another thread may enter its own under the index from here on
    segment.reset();
    try {
      device->close_if_idle();
    } catch (const Error&) {
    }
  }
  SegmentTable& table;
  std::shared_ptr<detail::DeviceSession> device;
  std::shared_ptr<SharedSegment> segment;
  int index;
};

/// A kernel reads elements whole; elsewhere any alignment will do.
void check_aligned(const Request& request, int rank) {
  if (!request.reduces() || request.count == 0) return;
  const std::size_t element = size_of(request.type);
  const void* const out = request.has_out(rank) ? request.out : nullptr;
  for (const void* const pointer : {request.in, out})
    if (reinterpret_cast<std::uintptr_t>(pointer) % element != 0)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: {} is no address of {} elements; on a GPU it must be a multiple of {}",
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
    const detail::BesideCaptures beside;
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
    const detail::BesideCaptures beside;
    check_cuda(cudaEventSynchronize(end_), "a kernel");
    backend_.throw_if_failed();
  }

 private:
  NativeCudaBackend& backend_;
  int device_;
  cudaEvent_t end_ = nullptr;
};

}  // namespace

NativeCudaBackend::NativeCudaBackend(const detail::CommunicatorState& communicator, const CommunicatorOptions& options)
    : session_(*communicator.session),
      members_(communicator.members),
      device_(session_.device),
      options_(communicator.bootstrap->all_gather(options)[0]) {
  const OnDevice current(device_->device());
  const detail::BesideCaptures beside;
  drop_what_graphs_kept();
  team_ = std::make_shared<CudaTeam>(communicator, options_);
  chooser_ = Chooser(choosing_geometry(team().layout.geometry), options_.deterministic, session_.tuning);
  chooser_.set_multicast(device_->multicast() && ranks() > 1);
  everyone_ = set_of(members_);  // the team refuses more ranks than a set holds
}

Plan NativeCudaBackend::plan_for(const Request& request) const { return choose(request, chooser_); }

/// As many as have something to do, out of the communicator's part of the GPU's.
int NativeCudaBackend::blocks_for(const Request& request, const Plan& plan) const {
  if (ranks() == 1) return 1;
  return gpu_blocks(request, plan, team().layout.geometry);
}

Call NativeCudaBackend::call_for(const Request& request, const Plan& plan, int blocks) {
  Call call = tutti::call_for(request, plan, blocks, {team().rank, ranks(), session_.segments, everyone_});
  if (!request.is_message()) call.number = ++calls_;
  return call;
}

std::size_t NativeCudaBackend::chain_of(const Request& request) const {
  if (!request.is_message()) return 0;
  return (request.collective == Collective::send ? 1 : 2) + 2 * static_cast<std::size_t>(request.peer);
}

void NativeCudaBackend::copy_alone(const Request& request, cudaStream_t stream) {
  if (request.in && request.out && request.in != request.out && !request.is_message())
    check_cuda(cudaMemcpyAsync(request.out, request.in, request.bytes(), cudaMemcpyDeviceToDevice, stream),
               "cudaMemcpyAsync");
}

cudaStream_t NativeCudaBackend::enqueue(std::span<const Request> requests, cudaStream_t stream) {
  throw_if_failed();
  std::vector<std::size_t> chains;
  for (const Request& request : requests) {
    check_aligned(request, team().rank);
    if (ranks() == 1) plan_for(request);  // refuses what more ranks would refuse
    chains.push_back(chain_of(request));
  }
  if (!stream) {
    stream = team_->chains().own_stream(chains[0]);
    device_->follow_default(stream);
  }
  if (const unsigned long long capture = detail::capture_of(stream); capture != 0 && capture != kept_with_) {
    keep_with_graph(stream, team_);
    kept_with_ = capture;
  }
  team_->chains().join(stream, chains);
  if (ranks() == 1)
    for (const Request& request : requests) copy_alone(request, stream);
  else
    launch_requests(requests, stream);
  team_->chains().leave(stream, chains);
  return stream;
}

void NativeCudaBackend::launch_requests(std::span<const Request> requests, cudaStream_t stream) {
  const Reports& reports = team_->reports();
  if (!requests[0].is_message()) {
    const Plan plan = plan_for(requests[0]);
    const int blocks = blocks_for(requests[0], plan);
    const Call call = call_for(requests[0], plan, blocks);
    check_cuda(launch(plan.kernel, blocks, team(), call, reports, stream), name_of(plan.kernel));
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
    const int blocks = blocks_for(*sorted[i], plan);
    messages.push_back({call_for(*sorted[i], plan, blocks), blocks, plan.kernel == Kernel::send});
    if (i + 1 == sorted.size() || chain_of(*sorted[i]) != chain_of(*sorted[i + 1]))
      ends.push_back(static_cast<int>(i) + 1);
  }
  check_cuda(launch_messages(messages, ends, team(), reports, stream), "send and recv");
}

void NativeCudaBackend::run_group(std::span<const Request> requests) {
  const OnDevice current(device_->device());
  const CallRange range(requests, name_of(plan_for(requests[0]).algorithm));
  auto* const stream = static_cast<cudaStream_t>(requests[0].stream);
  if (!stream) detail::expect_no_capture(name_of(requests[0].collective));
  const detail::BesideCaptures beside;
  const cudaStream_t used = enqueue(requests, stream);
  if (stream) return;
  check_cuda(cudaStreamSynchronize(used), name_of(requests[0].collective));
  throw_if_failed();
}

std::shared_ptr<detail::Operation> NativeCudaBackend::start_group(std::span<const Request> requests) {
  const OnDevice current(device_->device());
  const CallRange range(requests, name_of(plan_for(requests[0]).algorithm));
  auto* const stream = static_cast<cudaStream_t>(requests[0].stream);
  detail::expect_handle_possible(stream, name_of(requests[0].collective));
  const detail::BesideCaptures beside;
  return std::make_shared<CudaOperation>(*this, device_->device(), enqueue(requests, stream));
}

void NativeCudaBackend::throw_if_failed() {
  // Written by a kernel at any time, and released after its record.
  const Reports& reports = team_->reports();
  const std::lock_guard lock(mutex_);
  if (!error_ && std::atomic_ref(*reports.failed).load(std::memory_order_acquire) != 0) {
    const auto count = static_cast<std::size_t>(team().layout.geometry.blocks) * static_cast<std::size_t>(ranks());
    error_ = std::make_shared<const Error>(
        explain(std::span(reports.records, count), team().rank, ranks(), device_->timeout()));
  }
  if (error_) throw *error_;
}

void NativeCudaBackend::abort(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::make_shared<const Error>(why);
  }
  if (ranks() == 1 || !is_busy()) return;  // peers that are behind may still end their calls well
  const OnDevice current(device_->device());
  const detail::BesideCaptures beside;
  const std::uint64_t failed = 1;
  check_cuda(cudaMemcpyAsync(team().arena + team().layout.board + offsetof(Board, failed), &failed, sizeof failed,
                             cudaMemcpyHostToDevice, device_->quiet()),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(device_->quiet()), "cudaStreamSynchronize");
}

Choice NativeCudaBackend::choice(const Request& request) const {
  const Plan plan = plan_for(request);
  return choice_of(request, plan, chooser_, blocks_for(request, plan));
}

std::shared_ptr<detail::SegmentOwner> NativeCudaBackend::enter_in_table(Bootstrap& bootstrap,
                                                                        std::shared_ptr<SharedSegment> segment) {
  const int index = session_.segments.add(bootstrap, members_, *segment);
  auto owner = std::make_shared<DeviceSegmentOwner>(session_.segments, device_, std::move(segment), index);
  detail::together(bootstrap, [&] {
    device_->publish(index, session_.segments.bases() + static_cast<std::ptrdiff_t>(index) * session_.segments.ranks());
  });
  return owner;
}

std::pair<std::shared_ptr<detail::SegmentOwner>, void*> NativeCudaBackend::allocate(Bootstrap& bootstrap,
                                                                                    std::size_t bytes) {
  drop_what_graphs_kept();
  auto memory = allocate_device_segment({bootstrap, members_}, device_, bytes, true);
  char* const base = memory->base(bootstrap.rank());
  return {enter_in_table(bootstrap, std::move(memory)), base};
}

std::shared_ptr<detail::SegmentOwner> NativeCudaBackend::register_memory(Bootstrap& bootstrap, void* memory,
                                                                         std::size_t bytes) {
  auto segment = register_device_memory({bootstrap, members_}, device_, memory, bytes);
  return segment ? enter_in_table(bootstrap, std::move(segment)) : nullptr;
}

std::unique_ptr<Backend> native_cuda_backend(const detail::CommunicatorState& communicator,
                                             const CommunicatorOptions& options) {
  return std::make_unique<NativeCudaBackend>(communicator, options);
}

}  // namespace tutti

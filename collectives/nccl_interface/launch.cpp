#include "collectives/nccl_interface/launch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/nccl_interface/elements.hpp"
#include "collectives/nccl_interface/messages.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti::nccl_interface {
namespace {

using detail::BesideCaptures;
using detail::OnDevice;

/// tutti waits for calls on its null stream; this name of the default stream means the same stream without that.
cudaStream_t stream_of(const Call& call) {
  return call.request.stream ? static_cast<cudaStream_t>(call.request.stream) : cudaStreamLegacy;
}

void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (to != from) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
}

/// The streams of one communicator's part of a group, joined into the first of them.
class Streams {
 public:
  explicit Streams(std::span<Call* const> calls) {
    for (const Call* const call : calls)
      if (std::find(all_.begin(), all_.end(), stream_of(*call)) == all_.end()) all_.push_back(stream_of(*call));
  }
  cudaStream_t first() const { return all_.front(); }
  void join() const {
    for (std::size_t i = 1; i < all_.size(); ++i) order(all_[i], all_[0]);
  }
  void leave() const {
    for (std::size_t i = 1; i < all_.size(); ++i) order(all_[0], all_[i]);
  }

 private:
  static void order(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    cudaError_t result = cudaEventRecord(event, before);
    if (result == cudaSuccess) result = cudaStreamWaitEvent(after, event, 0);
    cudaEventDestroy(event);  // freed once it is past
    check(result, "ordering two streams");
  }
  std::vector<cudaStream_t> all_;
};

void reserve_scratch(ncclComm& communicator, Call& call) {
  if (!call.scaling && !call.narrow) return;
  const Request& request = call.request;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool has_out = request.has_out(communicator.rank());
  // What the collective writes may hold its input before, where it is as large.
  if (!call.narrow && has_out && !request.spreads_in()) return;
  const std::size_t in = ceil_div(request.bytes_in(ranks), kLine) * kLine;
  const std::size_t out = call.narrow && has_out ? request.bytes_out(ranks) : 0;
  call.scratch_in = communicator.scratch.reserve(in + out, stream_of(call));
  if (out > 0) call.scratch_out = static_cast<char*>(call.scratch_in) + in;
}

void launch_broadcast(ncclComm& communicator, Request request, cudaStream_t stream) {
  // tutti's is in place.
  const bool sends = request.peer == communicator.rank();
  if (sends && !request.out) request.out = const_cast<void*>(request.in);
  if (sends) copy(request.out, request.in, request.bytes(), stream);
  request.in = request.out;
  communicator.backend().run_group({&request, 1});
}

void launch_reduction(ncclComm& communicator, const Call& call, cudaStream_t stream) {
  Request request = call.request;
  request.stream = stream;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t element = size_of(request.type);
  const std::size_t count_in = request.bytes_in(ranks) / element, count_out = request.bytes_out(ranks) / element;
  const bool has_out = request.has_out(communicator.rank());
  if (call.scratch_in) communicator.scratch.begin(stream);
  if (call.scaling || call.narrow) {
    void* const to = call.scratch_in ? call.scratch_in : request.out;
    if (call.narrow)
      widen(*call.narrow, request.in, to, count_in, call.scaling ? &*call.scaling : nullptr, stream);
    else
      scale(*call.scaling, request.in, to, count_in, stream);
    request.in = to;
  }
  if (call.scratch_out) request.out = call.scratch_out;
  communicator.backend().run_group({&request, 1});
  if (call.scratch_out) narrow(*call.narrow, call.scratch_out, call.request.out, count_out, stream);
  if (call.divides && has_out)
    divide(request.type, request.out, count_out, static_cast<unsigned>(communicator.size()), stream);
  if (call.scratch_in) communicator.scratch.end(stream);
}

void launch_collective(ncclComm& communicator, const Call& call, cudaStream_t stream) {
  Request request = call.request;
  request.stream = stream;
  if (request.collective == Collective::broadcast)
    launch_broadcast(communicator, request, stream);
  else if (request.reduces())
    launch_reduction(communicator, call, stream);
  else
    communicator.backend().run_group({&request, 1});
}

void launch_on(ncclComm& communicator, std::span<Call* const> calls) {
  const std::lock_guard lock(communicator.calls);
  const OnDevice current(communicator.device);
  const BesideCaptures beside;
  const Streams streams(calls);
  streams.join();
  std::vector<Request> messages;
  for (Call* const call : calls)
    if (call->request.is_message())
      messages.push_back(call->request);
    else
      launch_collective(communicator, *call, streams.first());
  if (!messages.empty()) launch_messages(communicator, messages, streams.first());
  streams.leave();
}

}  // namespace

void launch(std::span<Call> calls) {
  std::vector<std::pair<ncclComm*, std::vector<Call*>>> parts;
  for (Call& call : calls) {
    ncclComm* const its = call.communicator.get();
    auto part = std::find_if(parts.begin(), parts.end(), [its](const auto& each) { return each.first == its; });
    if (part == parts.end()) part = parts.insert(parts.end(), {its, {}});
    part->second.push_back(&call);
  }
  for (Call& call : calls) {
    const std::lock_guard lock(call.communicator->calls);
    const OnDevice current(call.communicator->device);
    const BesideCaptures beside;
    reserve_scratch(*call.communicator, call);
  }
  for (auto& [communicator, its_calls] : parts) launch_on(*communicator, its_calls);
}

}  // namespace tutti::nccl_interface

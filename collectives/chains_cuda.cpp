#include "collectives/chains_cuda.hpp"

#include "collectives/streams_cuda.hpp"

namespace tutti {

using detail::check_cuda;

Chains::Chains(std::shared_ptr<detail::DeviceSession> device, std::size_t count)
    : device_(std::move(device)), chains_(count) {}

Chains::~Chains() {
  for (Chain& chain : chains_) {
    if (chain.last) device_->drop_end(chain.last);
    if (chain.captured) cudaEventDestroy(chain.captured);
    if (chain.stream) cudaStreamDestroy(chain.stream);
  }
}

Chains::Chain& Chains::at(std::size_t index) {
  Chain& chain = chains_[index];
  if (!chain.last) chain.last = device_->make_end();
  return chain;
}

cudaStream_t Chains::own_stream(std::size_t index) {
  Chain& chain = at(index);
  if (!chain.stream)
    check_cuda(cudaStreamCreateWithFlags(&chain.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return chain.stream;
}

void Chains::join(cudaStream_t stream, std::span<const std::size_t> chains) {
  const unsigned long long capture = detail::capture_of(stream);
  for (const std::size_t index : chains) {
    const Chain& chain = at(index);
    const bool follows_inside = capture != 0 && chain.capture == capture;
    check_cuda(cudaStreamWaitEvent(stream, follows_inside ? chain.captured : chain.last,
                                   capture == 0 || follows_inside ? cudaEventWaitDefault : cudaEventWaitExternal),
               "cudaStreamWaitEvent");
  }
}

void Chains::leave(cudaStream_t stream, std::span<const std::size_t> chains) {
  const unsigned long long capture = detail::capture_of(stream);
  for (const std::size_t index : chains) {
    Chain& chain = at(index);
    if (capture == 0) {
      check_cuda(cudaEventRecord(chain.last, stream), "cudaEventRecord");
      continue;
    }
    if (!chain.captured)
      check_cuda(cudaEventCreateWithFlags(&chain.captured, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check_cuda(cudaEventRecordWithFlags(chain.last, stream, cudaEventRecordExternal), "cudaEventRecordWithFlags");
    check_cuda(cudaEventRecord(chain.captured, stream), "cudaEventRecord");
    chain.capture = capture;
  }
}

void Chains::wait() {
  for (const Chain& chain : chains_)
    if (chain.last) cudaEventSynchronize(chain.last);
}

}  // namespace tutti

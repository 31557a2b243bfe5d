#include "collectives/nccl_interface/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "kernels/launch_cuda.hpp"

namespace tutti::nccl_interface {
namespace {

/// A rank has no connection with itself: the k-th send to it is copied to the k-th receive.
void copy_to_self(std::span<const Request> sends, std::span<const Request> receives, cudaStream_t stream) {
  if (sends.size() != receives.size())
    throw Refusal(ncclInvalidUsage,
                  fmt::format("a group has {} sends of this rank to itself and {} receives; it needs as many",
                              sends.size(), receives.size()));
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Request &send = sends[i], &receive = receives[i];
    if (send.count != receive.count || send.type != receive.type)
      throw Refusal(ncclInvalidUsage,
                    fmt::format("a send of {} {} to the own rank meets a receive of {} {}", send.count,
                                name_of(send.type), receive.count, name_of(receive.type)));
    if (send.in != receive.out)
      check(cudaMemcpyAsync(receive.out, send.in, send.bytes(), cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
  }
}

/// Messages that need nothing of each other, in queues, one for each peer and direction.
class Batch {
 public:
  bool holds_back(const Request& send) const {
    const auto* const begin = static_cast<const char*>(send.in);
    return std::any_of(received_.begin(), received_.end(),
                       [&](const auto& range) { return begin < range.second && range.first < begin + send.bytes(); });
  }
  void add(const Request& message) {
    queues_[{message.peer, message.collective}].push_back(message);
    if (message.collective != Collective::recv) return;
    const auto* const begin = static_cast<const char*>(message.out);
    received_.emplace_back(begin, begin + message.bytes());
  }
  /// So many of each queue at a time as one launch has room for: as many on all ranks, so that what meets is launched
  /// in the same round.
  void launch(ncclComm& communicator) {
    static_assert(kMaxMessages >= 2 * (kMaxRanks - 1));
    if (queues_.empty()) return;
    const std::size_t at_once = kMaxMessages / static_cast<std::size_t>(2 * communicator.size() - 2);
    while (!queues_.empty()) {
      std::vector<Request> round;
      for (auto queue = queues_.begin(); queue != queues_.end();) {
        auto& waiting = queue->second;
        for (std::size_t i = 0; i < at_once && !waiting.empty(); ++i) {
          round.push_back(waiting.front());
          waiting.pop_front();
        }
        queue = waiting.empty() ? queues_.erase(queue) : std::next(queue);
      }
      communicator.backend().run_group(round);
    }
    received_.clear();
  }

 private:
  std::map<std::pair<int, Collective>, std::deque<Request>> queues_;
  std::vector<std::pair<const char*, const char*>> received_;
};

}  // namespace

void launch_messages(ncclComm& communicator, std::span<const Request> messages, cudaStream_t stream) {
  std::vector<Request> own_sends, own_receives;
  for (const Request& message : messages)
    if (message.peer == communicator.rank())
      (message.collective == Collective::send ? own_sends : own_receives).push_back(message);
  copy_to_self(own_sends, own_receives, stream);
  Batch batch;
  for (Request message : messages) {
    if (message.peer == communicator.rank()) continue;
    message.stream = stream;
    if (message.collective == Collective::send && batch.holds_back(message)) batch.launch(communicator);
    batch.add(message);
  }
  batch.launch(communicator);
}

}  // namespace tutti::nccl_interface

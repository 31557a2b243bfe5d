// A message on its way, which holds up neither the trainer's next work nor messages in the other direction.
#pragma once
#include "trainers/device.hpp"

namespace tutti::trainers {

/// Its buffer is busy from start to finish. Not to be moved while it is under way.
class Sending {
 public:
  /// Sends `count` elements at `data`, once the device's work so far has ended, in side order `side` of a GPU.
  template <class T>
  void start(Device& device, int side, Communicator& comm, const T* data, std::size_t count, int peer) {
    if (!device.on_gpu()) {
      handle_ = comm.isend(data, count, peer);
      return;
    }
    comm.send(data, count, peer, device.fork(side));
    device.set(mark_, side);
  }
  /// The device's work from now on may change the buffer. Does nothing if nothing was sent.
  void finish(Device& device) {
    handle_.wait();
    device.join(mark_);
  }

 private:
  Handle handle_;      // on the CPU
  Device::Mark mark_;  // on a GPU
};

}  // namespace tutti::trainers

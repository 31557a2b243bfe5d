#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "tests/emulator/runtime/capture.hpp"
#include "tests/emulator/runtime/graph.hpp"
#include "tests/emulator/runtime/streams.hpp"

namespace tutti::emulated {

/// One cudaStreamBeginCapture, up to its cudaStreamEndCapture. Its functions lock graphs_mutex() themselves.
class StreamCapture final : public Capture, public std::enable_shared_from_this<StreamCapture> {
 public:
  /// Throws Failure: a default stream, or one that is being captured.
  static std::shared_ptr<StreamCapture> begin(const std::shared_ptr<Stream>& origin, cudaStreamCaptureMode mode);
  /// The graph's handle; throws Failure, after which the capture is over as well, unless the caller may not end it.
  cudaGraph_t end(const Stream& stream);

  void append(Stream& stream, Operation operation) override;
  void record(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags) override;
  void await(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags) override;
  void invalidate() override;

  void append_graph(Stream& stream, const Graph& graph);
  /// The stream's next node comes after these.
  void set_last(Stream& stream, std::vector<GraphNode*> last);
  const std::vector<GraphNode*>& last(Stream& stream);

  bool active() const { return status_ == cudaStreamCaptureStatusActive; }
  cudaStreamCaptureStatus status() const { return status_; }
  unsigned long long id() const { return id_; }
  Graph& graph() { return *graph_; }
  /// Is the calling thread, or any (mode global), held back by it?
  bool forbids_unsafe_calls(cudaStreamCaptureMode mode_of_thread) const;
  bool has_blocking_stream_of(const Device& device) const;

 private:
  struct Member {
    std::shared_ptr<Stream> stream;
    std::vector<GraphNode*> last;
  };

  StreamCapture(const std::shared_ptr<Stream>& origin, cudaStreamCaptureMode mode);
  Member& member(Stream& stream);
  void require_active() const;
  void append_work(Stream& stream, Work work);
  bool joined() const;
  void let_streams_go();

  const unsigned long long id_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_;
  Stream* const origin_;
  cudaStreamCaptureStatus status_ = cudaStreamCaptureStatusActive;
  std::shared_ptr<Graph> graph_;
  std::map<Stream*, Member> members_;
};

/// The capture that a stream takes part in; null if in none.
std::shared_ptr<StreamCapture> capture_of(const Stream& stream);

/// How the calling thread treats captures (cudaThreadExchangeStreamCaptureMode).
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace tutti::emulated

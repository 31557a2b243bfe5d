// The entry points of stream capture.
#include <algorithm>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/stream_capture.hpp"

namespace tutti::emulated {
namespace {

bool is_capture_mode(cudaStreamCaptureMode mode) {
  return mode == cudaStreamCaptureModeGlobal || mode == cudaStreamCaptureModeThreadLocal ||
         mode == cudaStreamCaptureModeRelaxed;
}

cudaError_t begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return entry([&](Device&) {
    require(is_capture_mode(mode), cudaErrorInvalidValue);
    StreamCapture::begin(stream_of(handle), mode);
  });
}

cudaError_t end_capture(cudaStream_t handle, cudaGraph_t* graph) {
  return entry([&](Device&) {
    require(graph != nullptr, cudaErrorInvalidValue);
    *graph = nullptr;
    const auto stream = stream_of(handle);
    const auto capture = capture_of(*stream);
    require(capture != nullptr, cudaErrorIllegalState);
    *graph = capture->end(*stream);
  });
}

cudaError_t capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** before, const cudaGraphEdgeData** edges,
                         std::size_t* count) {
  return entry([&](Device&) {
    require(status != nullptr && (!edges || before), cudaErrorInvalidValue);
    const auto stream = stream_of(handle);
    refuse_to_join_implicitly(*stream, false);
    const std::lock_guard lock(graphs_mutex());
    const auto capture = capture_of(*stream);
    *status = capture ? capture->status() : cudaStreamCaptureStatusNone;
    if (!capture || !capture->active()) return;
    const std::vector<GraphNode*>& last = capture->last(*stream);
    if (id) *id = capture->id();
    if (graph) *graph = reinterpret_cast<cudaGraph_t>(&capture->graph());
    if (count) *count = last.size();
    // "Valid until the next API call which operates on the stream".
    thread_local std::vector<cudaGraphNode_t> nodes;
    thread_local std::vector<cudaGraphEdgeData> plain;
    nodes.clear();
    for (const GraphNode* node : last) nodes.push_back(handle_of(*node));
    plain.assign(last.size(), cudaGraphEdgeData{});
    if (before) *before = nodes.data();
    if (edges) *edges = plain.data();
  });
}

cudaError_t is_capturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t update_dependencies(cudaStream_t handle, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges,
                                std::size_t count, unsigned flags) {
  return entry([&](Device&) {
    require(flags <= cudaStreamSetCaptureDependencies && (nodes || count == 0), cudaErrorInvalidValue);
    for (std::size_t i = 0; edges && i < count; ++i)
      require(edges[i].from_port == 0 && edges[i].to_port == 0 && edges[i].type == 0, cudaErrorNotSupported);
    const auto stream = stream_of(handle);
    const std::lock_guard lock(graphs_mutex());
    const auto capture = capture_of(*stream);
    require(capture != nullptr, cudaErrorIllegalState);
    std::vector<GraphNode*> last;
    if (flags == cudaStreamAddCaptureDependencies) last = capture->last(*stream);
    for (std::size_t i = 0; i < count; ++i) {
      GraphNode* const node = &node_of(nodes[i]);
      if (std::ranges::find(last, node) == last.end()) last.push_back(node);
    }
    capture->set_last(*stream, std::move(last));
  });
}

}  // namespace
}  // namespace tutti::emulated

using namespace tutti::emulated;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture(stream, mode);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) { return end_capture(stream, graph); }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return is_capturing(stream, status);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** before,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return capture_info(stream, status, id, graph, before, edges, count);
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData* edges, size_t count, unsigned flags) {
  return update_dependencies(stream, nodes, edges, count, flags);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return entry_without_device([&] {
    require(mode && is_capture_mode(*mode), cudaErrorInvalidValue);
    *mode = exchange_capture_mode(*mode);
  });
}

// What programs call that were compiled with a default stream per thread.
extern "C" {
cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture(per_thread(stream), mode);
}
cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  return end_capture(per_thread(stream), graph);
}
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return is_capturing(per_thread(stream), status);
}
cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                          cudaGraph_t* graph, const cudaGraphNode_t** before,
                                          const cudaGraphEdgeData** edges, size_t* count) {
  return capture_info(per_thread(stream), status, id, graph, before, edges, count);
}
cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                     const cudaGraphEdgeData* edges, size_t count, unsigned flags) {
  return update_dependencies(per_thread(stream), nodes, edges, count, flags);
}
}

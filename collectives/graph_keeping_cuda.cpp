#include "collectives/graph_keeping_cuda.hpp"

#include <mutex>
#include <vector>

#include "collectives/device_cuda.hpp"

namespace tutti {
namespace {

using Thing = std::shared_ptr<void>;

/// Never destroyed: a graph may end while the process does.
struct Ended {
  std::mutex mutex;
  std::vector<Thing> things;
};
Ended& ended() {
  static auto* const all = new Ended;
  return *all;
}

void graph_ended(void* thing) {
  const std::unique_ptr<Thing> kept(static_cast<Thing*>(thing));
  const std::lock_guard lock(ended().mutex);
  ended().things.push_back(std::move(*kept));
}

cudaGraph_t graph_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  detail::check_cuda(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph), "cudaStreamGetCaptureInfo");
  return graph;
}

}  // namespace

void keep_with_graph(cudaStream_t stream, Thing thing) {
  auto kept = std::make_unique<Thing>(std::move(thing));
  cudaUserObject_t object = nullptr;
  detail::check_cuda(cudaUserObjectCreate(&object, kept.get(), graph_ended, 1, cudaUserObjectNoDestructorSync),
                     "cudaUserObjectCreate");
  kept.release();  // the object's now
  const cudaError_t result = cudaGraphRetainUserObject(graph_of(stream), object, 1, cudaGraphUserObjectMove);
  if (result != cudaSuccess) cudaUserObjectRelease(object, 1);
  detail::check_cuda(result, "cudaGraphRetainUserObject");
}

void drop_what_graphs_kept() {
  std::vector<Thing> things;
  {
    const std::lock_guard lock(ended().mutex);
    things.swap(ended().things);
  }
}

}  // namespace tutti

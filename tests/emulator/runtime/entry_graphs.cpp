// The entry points of graphs as a whole: made, looked at, instantiated, launched. Their nodes: entry_graph_nodes.cpp.
#include <algorithm>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/graph_exec.hpp"
#include "tests/emulator/runtime/stream_capture.hpp"

namespace tutti::emulated {
namespace {

/// As the queries of graphs return lists: all that fit, or how many there are.
template <class Handle>
void give(const std::vector<Handle>& all, Handle* to, std::size_t* count) {
  if (!to) {
    *count = all.size();
    return;
  }
  for (std::size_t i = 0; i < *count; ++i) to[i] = i < all.size() ? all[i] : nullptr;
  *count = std::min(*count, all.size());
}

constexpr unsigned long long kKnownFlags =
    cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload | cudaGraphInstantiateFlagUseNodePriority;

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return entry([&](Device&) {
    require(exec != nullptr, cudaErrorInvalidValue);
    require((flags & ~kKnownFlags) == 0, cudaErrorNotSupported);
    const std::lock_guard lock(graphs_mutex());
    *exec = enter_graph_exec(std::make_shared<GraphExec>(*graph_of(graph), flags));
  });
}

cudaError_t instantiate_with(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphInstantiateParams* parameters) {
  if (!parameters) return noted(cudaErrorInvalidValue);
  const cudaError_t result = instantiate(exec, graph, parameters->flags);
  parameters->errNode_out = nullptr;
  parameters->result_out = result == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return result;
}

cudaError_t launch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return entry([&](Device&) {
    const auto stream = stream_of(stream_handle);
    const std::lock_guard lock(graphs_mutex());
    const auto exec = graph_exec_of(handle);
    if (const auto capture = capture_of(*stream))
      capture->append_graph(*stream, exec->graph());
    else
      submit(stream, exec->launch());
  });
}

cudaError_t upload(cudaGraphExec_t handle, cudaStream_t stream) {
  return entry([&](Device&) {
    stream_of(stream);
    const std::lock_guard lock(graphs_mutex());
    graph_exec_of(handle);  // it needs nothing
  });
}

}  // namespace
}  // namespace tutti::emulated

using namespace tutti::emulated;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return entry_without_device([&] {
    require(graph && flags == 0, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    *graph = enter_graph(std::make_shared<Graph>());
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return entry_without_device([&] {
    const std::lock_guard lock(graphs_mutex());
    remove_graph(graph);
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  return entry_without_device([&] {
    require(copy != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    *copy = enter_graph(graph_of(graph)->clone());
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t copy) {
  return entry_without_device([&] {
    require(node != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    const GraphNode* const wanted = &node_of(original);
    for (const auto& each : graph_of(copy)->nodes())
      if (each->original == wanted) {
        *node = handle_of(*each);
        return;
      }
    throw Failure(cudaErrorInvalidValue);
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return entry_without_device([&] {
    require(count != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    std::vector<cudaGraphNode_t> all;
    for (const auto& node : graph_of(graph)->nodes()) all.push_back(handle_of(*node));
    give(all, nodes, count);
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return entry_without_device([&] {
    require(count != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    std::vector<cudaGraphNode_t> roots;
    for (const auto& node : graph_of(graph)->nodes())
      if (node->before.empty()) roots.push_back(handle_of(*node));
    give(roots, nodes, count);
  });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              size_t* count) {
  return entry_without_device([&] {
    require(count && !from == !to, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    std::vector<cudaGraphNode_t> froms, tos;
    for (const auto& node : graph_of(graph)->nodes())
      for (const GraphNode* before : node->before) {
        froms.push_back(handle_of(*before));
        tos.push_back(handle_of(*node));
      }
    std::size_t room = *count;
    give(froms, from, count);
    give(tos, to, &room);
    if (from && data) std::fill_n(data, *count, cudaGraphEdgeData{});
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return instantiate_with(exec, graph, parameters);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return entry_without_device([&] {
    require(flags != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    *flags = graph_exec_of(exec)->flags();
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return entry([&](Device&) {
    require(info != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    *info = {};
    if (graph_exec_of(exec)->update(*graph_of(graph))) return;
    info->result = cudaGraphExecUpdateErrorTopologyChanged;
    throw Failure(cudaErrorGraphExecUpdateFailure);
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) { return upload(exec, stream); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { return launch(exec, stream); }

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return entry_without_device([&] {
    const std::lock_guard lock(graphs_mutex());
    remove_graph_exec(exec);  // launches that were given to streams keep it until they are over
  });
}

// What programs call that were compiled with a default stream per thread.
extern "C" {
cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                cudaGraphInstantiateParams* parameters) {
  return instantiate_with(exec, graph, parameters);
}
cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream) { return upload(exec, per_thread(stream)); }
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream) { return launch(exec, per_thread(stream)); }
}

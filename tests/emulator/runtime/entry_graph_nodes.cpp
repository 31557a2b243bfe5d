// The entry points of a graph's nodes and the edges between them.
#include <algorithm>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/events.hpp"
#include "tests/emulator/runtime/graph.hpp"
#include "tests/emulator/runtime/launch.hpp"
#include "tests/emulator/runtime/modules.hpp"

namespace tutti::emulated {
namespace {

/// Adds a node that does what `work` returns, on the current device.
template <class MakeWork>
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, std::size_t count,
                     MakeWork work) {
  return entry([&](Device& device) {
    require(node && (before || count == 0), cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    const auto to = graph_of(graph);
    std::vector<GraphNode*> earlier;
    for (std::size_t i = 0; i < count; ++i) earlier.push_back(&node_of(before[i]));
    *node = handle_of(to->add(work(), device.index(), earlier));
  });
}

cudaError_t give_nodes(cudaGraphNode_t node, cudaGraphNode_t* to, cudaGraphEdgeData* edges, std::size_t* count,
                       std::vector<GraphNode*> GraphNode::*which) {
  return entry_without_device([&] {
    require(count != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    const std::vector<GraphNode*>& all = node_of(node).*which;
    const std::size_t room = to ? *count : 0;
    for (std::size_t i = 0; i < room; ++i) {
      to[i] = i < all.size() ? handle_of(*all[i]) : nullptr;
      if (edges) edges[i] = {};
    }
    *count = to ? std::min(room, all.size()) : all.size();
  });
}

cudaError_t change_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                         const cudaGraphEdgeData* edges, std::size_t count,
                         void (Graph::*change)(GraphNode&, GraphNode&)) {
  return entry_without_device([&] {
    require((from && to) || count == 0, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    const auto changed = graph_of(graph);
    for (std::size_t i = 0; i < count; ++i) {
      require(!edges || (edges[i].from_port == 0 && edges[i].to_port == 0 && edges[i].type == 0),
              cudaErrorNotSupported);
      GraphNode& begin = node_of(from[i]);
      GraphNode& end = node_of(to[i]);
      require(changed->has(&begin) && changed->has(&end), cudaErrorInvalidValue);
      (changed.get()->*change)(begin, end);
    }
  });
}

KernelLaunch launch_of(const cudaKernelNodeParams* parameters) {
  require(parameters && !parameters->extra, cudaErrorInvalidValue);
  return make_launch(kernel_of(parameters->func), parameters->gridDim, parameters->blockDim, parameters->kernelParams,
                     parameters->sharedMemBytes);
}

KernelLaunch& launch_in(GraphNode& node) {
  auto* const operation = std::get_if<Operation>(&node.work);
  auto* const launch = operation ? std::get_if<KernelLaunch>(operation) : nullptr;
  require(launch != nullptr, cudaErrorInvalidValue);
  return *launch;
}

}  // namespace
}  // namespace tutti::emulated

using namespace tutti::emulated;

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return entry_without_device([&] {
    require(type != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    *type = node_of(node).type();
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                                         size_t* count) {
  return give_nodes(node, to, edges, count, &GraphNode::before);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                                           size_t* count) {
  return give_nodes(node, to, edges, count, &GraphNode::after);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edges, size_t count) {
  return change_edges(graph, from, to, edges, count, &Graph::connect);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* edges, size_t count) {
  return change_edges(graph, from, to, edges, count, &Graph::disconnect);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return entry_without_device([&] {
    const std::lock_guard lock(graphs_mutex());
    GraphNode& removed = node_of(node);
    removed.graph->remove(removed);
  });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                  size_t count) {
  return add_node(node, graph, before, count, [] { return Work{}; });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaKernelNodeParams* parameters) {
  return add_node(node, graph, before, count, [&] { return Work(launch_of(parameters)); });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return entry_without_device([&] {
    require(parameters != nullptr, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    GraphNode& asked = node_of(node);
    KernelLaunch& launch = launch_in(asked);
    asked.parameters.clear();
    for (const auto& each : launch.kernel->code().parameters)
      asked.parameters.push_back(launch.parameters.data() + each.offset);
    *parameters = {};
    parameters->func = const_cast<Kernel*>(launch.kernel);
    parameters->gridDim = launch.grid;
    parameters->blockDim = launch.block;
    parameters->sharedMemBytes = static_cast<unsigned>(launch.dynamic_shared);
    parameters->kernelParams = asked.parameters.data();
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return entry([&](Device&) {
    const std::lock_guard lock(graphs_mutex());
    KernelLaunch& launch = launch_in(node_of(node));
    launch = launch_of(parameters);
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return add_node(node, graph, before, count, [&] {
    require(parameters && parameters->fn, cudaErrorInvalidValue);
    return Work(HostCall{[call = parameters->fn, data = parameters->userData] { call(data); }});
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaMemsetParams* parameters) {
  return add_node(node, graph, before, count, [&] {
    require(
        parameters && (parameters->elementSize == 1 || parameters->elementSize == 2 || parameters->elementSize == 4),
        cudaErrorInvalidValue);
    Fill fill;
    fill.to = parameters->dst;
    fill.value = parameters->value;
    fill.element = parameters->elementSize;
    fill.width = parameters->width;
    fill.height = parameters->height;
    fill.pitch = parameters->height > 1 ? parameters->pitch : fill.width * fill.element;
    check(fill);
    return Work(fill);
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_node(node, graph, before, count, [&] {
    Copy copy;
    copy.to = to;
    copy.from = from;
    copy.width = copy.to_pitch = copy.from_pitch = bytes;
    copy.kind = kind;
    check(copy);
    return Work(copy);
  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                       size_t count, cudaGraph_t child) {
  return add_node(node, graph, before, count, [&] { return Work(graph_of(child)->clone()); });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                        size_t count, cudaEvent_t event) {
  return add_node(node, graph, before, count, [&] { return Work(EventRecord{event_of(event), 0}); });
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                      size_t count, cudaEvent_t event) {
  return add_node(node, graph, before, count, [&] { return Work(EventWait{event_of(event), 0}); });
}

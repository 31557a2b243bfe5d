#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "tests/emulator/runtime/operations.hpp"

namespace tutti::emulated {

class Graph;
class UserObject;

/// What a node does: nothing, one operation, or a graph of its own.
using Work = std::variant<std::monostate, Operation, std::shared_ptr<Graph>>;

struct GraphNode {
  Graph* graph = nullptr;
  Work work;
  int device = 0;  ///< on which it runs
  std::vector<GraphNode*> before, after;
  const GraphNode* original = nullptr;  ///< of which it is a copy
  std::vector<void*> parameters;        ///< what cudaGraphKernelNodeGetParams has shown

  cudaGraphNodeType type() const;
};

/// Guards all graphs, their user objects, and captures. What is below expects that the caller holds it. Recursive,
/// because whoever lets go of a graph last may hold it or not.
std::recursive_mutex& graphs_mutex();

/// Nodes and the edges between them; may be changed until it is instantiated, which copies it.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Throws Failure(cudaErrorInvalidValue) if one of `before` is of another graph.
  GraphNode& add(Work work, int device, std::span<GraphNode* const> before);
  /// Throw Failure(cudaErrorInvalidValue): of different graphs, the same twice, no such edge.
  void connect(GraphNode& from, GraphNode& to);
  void disconnect(GraphNode& from, GraphNode& to);
  void remove(GraphNode& node);

  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }
  bool has(const GraphNode* node) const;
  /// So that each comes after all that are before it; throws Failure(cudaErrorInvalidValue) if they go in a circle.
  std::vector<GraphNode*> in_order() const;
  /// A copy, which keeps the same user objects.
  std::shared_ptr<Graph> clone() const;

  /// Takes over references to the object.
  void keep(UserObject& object, unsigned references) { kept_[&object] += references; }
  /// Gives references back; throws Failure(cudaErrorInvalidValue) if it has fewer.
  void drop(UserObject& object, unsigned references);

 private:
  std::vector<std::unique_ptr<GraphNode>> nodes_;
  std::map<UserObject*, unsigned> kept_;
};

/// Throw Failure(cudaErrorInvalidValue) for a handle that is none.
std::shared_ptr<Graph> graph_of(cudaGraph_t handle);
GraphNode& node_of(cudaGraphNode_t handle);

cudaGraph_t enter_graph(std::shared_ptr<Graph> graph);
void remove_graph(cudaGraph_t handle);
inline cudaGraphNode_t handle_of(const GraphNode& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(&node));
}

}  // namespace tutti::emulated

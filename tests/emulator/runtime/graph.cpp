#include "tests/emulator/runtime/graph.hpp"

#include <algorithm>
#include <set>

#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/user_objects.hpp"

namespace tutti::emulated {
namespace {

struct Live {
  std::map<cudaGraph_t, std::shared_ptr<Graph>> graphs;  ///< that have a handle
  std::set<const GraphNode*> nodes;                      ///< of all graphs
};
Live& live() {
  static auto* const all = new Live;
  return *all;
}

struct TypeOf {
  cudaGraphNodeType operator()(const Copy&) const { return cudaGraphNodeTypeMemcpy; }
  cudaGraphNodeType operator()(const Fill&) const { return cudaGraphNodeTypeMemset; }
  cudaGraphNodeType operator()(const HostCall&) const { return cudaGraphNodeTypeHost; }
  cudaGraphNodeType operator()(const KernelLaunch&) const { return cudaGraphNodeTypeKernel; }
  cudaGraphNodeType operator()(const EventRecord&) const { return cudaGraphNodeTypeEventRecord; }
  cudaGraphNodeType operator()(const EventWait&) const { return cudaGraphNodeTypeWaitEvent; }
  cudaGraphNodeType operator()(const Task&) const { return cudaGraphNodeTypeEmpty; }
  cudaGraphNodeType operator()(std::monostate) const { return cudaGraphNodeTypeEmpty; }
  cudaGraphNodeType operator()(const Operation& operation) const { return std::visit(*this, operation); }
  cudaGraphNodeType operator()(const std::shared_ptr<Graph>&) const { return cudaGraphNodeTypeGraph; }
};

}  // namespace

std::recursive_mutex& graphs_mutex() {
  static auto* const only = new std::recursive_mutex;
  return *only;
}

cudaGraphNodeType GraphNode::type() const { return std::visit(TypeOf{}, work); }

Graph::~Graph() {
  const std::lock_guard lock(graphs_mutex());
  for (const auto& node : nodes_) live().nodes.erase(node.get());
  for (const auto& [object, references] : kept_) object->release(references);
}

GraphNode& Graph::add(Work work, int device, std::span<GraphNode* const> before) {
  for (const GraphNode* node : before) require(has(node), cudaErrorInvalidValue);
  GraphNode& added = *nodes_.emplace_back(std::make_unique<GraphNode>());
  added.graph = this;
  added.work = std::move(work);
  added.device = device;
  live().nodes.insert(&added);
  for (GraphNode* node : before) connect(*node, added);
  return added;
}

bool Graph::has(const GraphNode* node) const { return live().nodes.contains(node) && node->graph == this; }

void Graph::connect(GraphNode& from, GraphNode& to) {
  require(has(&from) && has(&to) && &from != &to && std::ranges::find(to.before, &from) == to.before.end(),
          cudaErrorInvalidValue);
  from.after.push_back(&to);
  to.before.push_back(&from);
}

void Graph::disconnect(GraphNode& from, GraphNode& to) {
  require(std::erase(to.before, &from) == 1, cudaErrorInvalidValue);
  std::erase(from.after, &to);
}

void Graph::remove(GraphNode& node) {
  require(has(&node), cudaErrorInvalidValue);
  for (GraphNode* other : node.before) std::erase(other->after, &node);
  for (GraphNode* other : node.after) std::erase(other->before, &node);
  live().nodes.erase(&node);
  std::erase_if(nodes_, [&](const auto& each) { return each.get() == &node; });
}

std::vector<GraphNode*> Graph::in_order() const {
  std::vector<GraphNode*> order;
  std::map<const GraphNode*, std::size_t> missing;
  for (const auto& node : nodes_) {
    missing[node.get()] = node->before.size();
    if (node->before.empty()) order.push_back(node.get());
  }
  for (std::size_t at = 0; at < order.size(); ++at)
    for (GraphNode* next : order[at]->after)
      if (--missing[next] == 0) order.push_back(next);
  require(order.size() == nodes_.size(), cudaErrorInvalidValue);
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes_) {
    const auto* inner = std::get_if<std::shared_ptr<Graph>>(&node->work);
    GraphNode& made = copy->add(inner ? Work((*inner)->clone()) : node->work, node->device, {});
    made.original = node.get();
    copies[node.get()] = &made;
  }
  for (const auto& node : nodes_)
    for (const GraphNode* before : node->before) copy->connect(*copies[before], *copies[node.get()]);
  for (const auto& [object, references] : kept_) {
    object->retain(references);
    copy->keep(*object, references);
  }
  return copy;
}

void Graph::drop(UserObject& object, unsigned references) {
  const auto found = kept_.find(&object);
  require(found != kept_.end() && references <= found->second, cudaErrorInvalidValue);
  found->second -= references;
  if (found->second == 0) kept_.erase(found);
  object.release(references);
}

std::shared_ptr<Graph> graph_of(cudaGraph_t handle) {
  const auto found = live().graphs.find(handle);
  require(found != live().graphs.end(), cudaErrorInvalidValue);
  return found->second;
}

GraphNode& node_of(cudaGraphNode_t handle) {
  auto* node = reinterpret_cast<GraphNode*>(handle);
  require(live().nodes.contains(node), cudaErrorInvalidValue);
  return *node;
}

cudaGraph_t enter_graph(std::shared_ptr<Graph> graph) {
  const auto handle = reinterpret_cast<cudaGraph_t>(graph.get());
  live().graphs[handle] = std::move(graph);
  return handle;
}

void remove_graph(cudaGraph_t handle) { require(live().graphs.erase(handle) == 1, cudaErrorInvalidValue); }

}  // namespace tutti::emulated

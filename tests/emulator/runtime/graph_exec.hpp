#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulator/runtime/graph.hpp"

namespace tutti::emulated {

class Device;

/// A graph as it runs: its own copy, cut into lanes. A lane is a path of the graph, so what it does one after the other
/// had to be in this order; lanes run side by side, each on a thread.
class GraphExec : public std::enable_shared_from_this<GraphExec> {
 public:
  /// The caller holds graphs_mutex(), for these three.
  GraphExec(const Graph& graph, unsigned long long flags);
  const Graph& graph() const { return *graph_; }
  /// Takes over what the nodes of a graph of the same shape do; false if it has another, and nothing is changed.
  bool update(const Graph& graph);

  unsigned long long flags() const { return flags_; }
  /// What a stream does to launch it. Launches run one after the other, in the order of these calls. Events that the
  /// graph records count as recorded from here on, and it waits for the records asked for until now.
  Operation launch();

 private:
  /// A node without the graphs in graphs; empty ones are where those begin and end.
  struct Step {
    const Operation* operation = nullptr;
    int device = 0;
    std::vector<std::size_t> before;  ///< smaller than its own index
  };
  struct Plan {
    std::shared_ptr<Graph> graph;  ///< owns the operations
    std::vector<Step> steps;
    std::vector<std::vector<std::size_t>> lanes;
  };
  class Run;
  class Launch;

  static std::shared_ptr<const Plan> plan(std::shared_ptr<Graph> graph);
  static void add_steps(const Graph& graph, const std::vector<std::size_t>& before, std::vector<Step>& steps);

  unsigned long long flags_;
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<const Plan> plan_;
  std::uint64_t launches_ = 0;  ///< asked for
  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint64_t over_ = 0;  ///< launches that have run
};

/// Throws Failure(cudaErrorInvalidValue) for a handle that is none.
std::shared_ptr<GraphExec> graph_exec_of(cudaGraphExec_t handle);
cudaGraphExec_t enter_graph_exec(std::shared_ptr<GraphExec> exec);
std::shared_ptr<GraphExec> remove_graph_exec(cudaGraphExec_t handle);

}  // namespace tutti::emulated

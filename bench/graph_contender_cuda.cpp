// Captured calls: what a call costs where nothing of the host's comes between two.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <vector>

#include "bench/contender.hpp"
#include "collectives/error.hpp"

namespace tutti::bench {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorCode::system, fmt::format("bench: {}: {}", what, cudaGetErrorString(status)));
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

struct Destroy {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy>;
using Executable = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;

class GraphContender : public Contender {
 public:
  GraphContender(Communicator& communicator, Algorithm algorithm, int calls)
      : calls_(calls), inner_(tutti_contender(communicator, algorithm, stream_)) {}

  std::string backend() const override { return inner_->backend(); }
  std::string asked_algorithm() const override { return inner_->asked_algorithm(); }
  bool plays(Operation operation) const override { return inner_->plays(operation); }
  std::string algorithm(const Case& c) const override { return inner_->algorithm(c); }
  CallCost cost(const Case& c) const override { return inner_->cost(c); }
  int calls_in_a_run() const override { return calls_; }

  void run(const Case& c, const Buffers& buffers) override {
    check(cudaGraphLaunch(graph_of(c, buffers), stream_), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream_), "a captured call");
  }

 private:
  /// Of the case that is measured now, on the buffers of one kind of memory.
  struct Captured {
    Buffers buffers;
    Executable graph;
  };

  cudaGraphExec_t graph_of(const Case& c, const Buffers& buffers) {
    if (!(c == case_)) captured_.clear();
    case_ = c;
    for (const Captured& each : captured_)
      if (each.buffers.in == buffers.in && each.buffers.out == buffers.out) return each.graph.get();
    captured_.push_back({buffers, capture(c, buffers)});
    return captured_.back().graph.get();
  }

  Executable capture(const Case& c, const Buffers& buffers) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t made = nullptr;
    try {
      for (int i = 0; i < calls_; ++i) inner_->run(c, buffers);
    } catch (const Error&) {  // refused: nothing was captured
      cudaStreamEndCapture(stream_, &made);
      const Graph dropped(made);
      throw;
    }
    check(cudaStreamEndCapture(stream_, &made), "cudaStreamEndCapture");
    const Graph graph(made);
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
    return Executable(executable);
  }

  int calls_;
  Stream stream_;
  std::unique_ptr<Contender> inner_;
  Case case_;
  std::vector<Captured> captured_;
};

}  // namespace

std::unique_ptr<Contender> graph_contender(Communicator& communicator, Algorithm algorithm, int calls) {
  return std::make_unique<GraphContender>(communicator, algorithm, calls);
}

}  // namespace tutti::bench

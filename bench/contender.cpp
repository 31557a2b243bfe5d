#include "bench/contender.hpp"

#include <algorithm>

#include "bench/algorithms.hpp"

namespace tutti::bench {
namespace {

class TuttiContender : public Contender {
 public:
  TuttiContender(Communicator& communicator, Algorithm algorithm, void* stream)
      : communicator_(communicator), native_(communicator.backend() == BackendKind::native) {
    options_.algorithm = algorithm;
    options_.stream = stream;
  }

  std::string backend() const override { return name_of(communicator_.backend()); }
  std::string asked_algorithm() const override { return native_ ? name_of(options_.algorithm) : "default"; }
  bool plays(Operation operation) const override {
    const std::vector<Algorithm> known = algorithms_of(operation);
    return options_.algorithm == Algorithm::automatic ||
           std::find(known.begin(), known.end(), options_.algorithm) != known.end();
  }
  std::string algorithm(const Case& c) const override { return native_ ? name_of(choice(c).algorithm) : "default"; }
  CallCost cost(const Case& c) const override {
    if (!native_) return {};
    const Choice chosen = choice(c);
    return {chosen.steps, chosen.wire_bytes};
  }

  void run(const Case& c, const Buffers& b) override {
    switch (c.operation) {
      case Operation::all_reduce: return communicator_.all_reduce(b.in, b.out, c.count, c.type, c.op, options_);
      case Operation::reduce_scatter: return communicator_.reduce_scatter(b.in, b.out, c.count, c.type, c.op, options_);
      case Operation::all_gather: return communicator_.all_gather(b.in, b.out, c.count, c.type, options_);
      case Operation::broadcast: return communicator_.broadcast(b.in, c.count, c.type, c.root, options_);
      case Operation::reduce: return communicator_.reduce(b.in, b.out, c.count, c.type, c.op, c.root, options_);
      case Operation::gather: return communicator_.gather(b.in, b.out, c.count, c.type, c.root, options_);
      case Operation::scatter: return communicator_.scatter(b.in, b.out, c.count, c.type, c.root, options_);
      case Operation::all_to_all: return communicator_.all_to_all(b.in, b.out, c.count, c.type, options_);
      case Operation::send_recv: return there_and_back(c, b);
      case Operation::barrier: return communicator_.barrier(options_);
    }
  }

 private:
  Choice choice(const Case& c) const {
    return communicator_.choice(collective_of(c.operation), c.bytes, c.type, c.op, options_);
  }

  void there_and_back(const Case& c, const Buffers& b) {
    const int rank = communicator_.rank(), peer = rank ^ 1;
    if (peer >= communicator_.size()) return;
    if (rank < peer) communicator_.send(b.in, c.count, c.type, peer, options_);
    communicator_.recv(b.out, c.count, c.type, peer, options_);
    if (rank > peer) communicator_.send(b.in, c.count, c.type, peer, options_);
  }

  Communicator& communicator_;
  bool native_;
  Options options_;
};

}  // namespace

std::unique_ptr<Contender> tutti_contender(Communicator& communicator, Algorithm algorithm, void* stream) {
  return std::make_unique<TuttiContender>(communicator, algorithm, stream);
}

}  // namespace tutti::bench

#include "bench/contender.hpp"

namespace tutti::bench {
namespace {

class TuttiContender : public Contender {
 public:
  TuttiContender(Communicator& communicator, Algorithm algorithm) : communicator_(communicator) {
    options_.algorithm = algorithm;
  }

  std::string backend() const override { return name_of(communicator_.backend()); }
  std::string asked_algorithm() const override {
    return communicator_.backend() == BackendKind::native ? name_of(options_.algorithm) : "default";
  }
  std::string algorithm(const Case& c) const override {
    if (communicator_.backend() != BackendKind::native) return "default";
    return name_of(communicator_.choice(collective_of(c.operation), c.bytes, c.type, c.op, options_).algorithm);
  }

  void run(const Case& c, const Buffers& b) override {
    switch (c.operation) {
      case Operation::all_reduce: return communicator_.all_reduce(b.in, b.out, c.count, c.type, c.op, options_);
      case Operation::reduce_scatter: return communicator_.reduce_scatter(b.in, b.out, c.count, c.type, c.op, options_);
      case Operation::all_gather: return communicator_.all_gather(b.in, b.out, c.count, c.type, options_);
      case Operation::broadcast: return communicator_.broadcast(b.in, c.count, c.type, c.root, options_);
      case Operation::send_recv: return there_and_back(c, b);
      case Operation::barrier: return communicator_.barrier(options_);
    }
  }

 private:
  static Collective collective_of(Operation operation) {
    switch (operation) {
      case Operation::reduce_scatter: return Collective::reduce_scatter;
      case Operation::all_gather: return Collective::all_gather;
      case Operation::broadcast: return Collective::broadcast;
      case Operation::send_recv: return Collective::send;
      case Operation::barrier: return Collective::barrier;
      default: return Collective::all_reduce;
    }
  }

  void there_and_back(const Case& c, const Buffers& b) {
    const int rank = communicator_.rank(), peer = rank ^ 1;
    if (peer >= communicator_.size()) return;
    if (rank < peer) communicator_.send(b.in, c.count, c.type, peer, options_);
    communicator_.recv(b.out, c.count, c.type, peer, options_);
    if (rank > peer) communicator_.send(b.in, c.count, c.type, peer, options_);
  }

  Communicator& communicator_;
  Options options_;
};

}  // namespace

std::unique_ptr<Contender> tutti_contender(Communicator& communicator, Algorithm algorithm) {
  return std::make_unique<TuttiContender>(communicator, algorithm);
}

}  // namespace tutti::bench

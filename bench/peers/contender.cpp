#include "bench/peers/contender.hpp"

#include <stdexcept>

namespace tutti::bench::peers {
namespace {

class PeerContender : public Contender, public Elsewhere {
 public:
  PeerContender(Bootstrap& bootstrap, const Setting& setting, std::size_t in_bytes, std::size_t out_bytes)
      : job_(bootstrap, setting, in_bytes, out_bytes) {}

  std::string backend() const override { return job_.name(); }
  std::string asked_algorithm() const override { return "default"; }
  std::string algorithm(const Case&) const override { return "default"; }
  std::string version() const override { return job_.version(); }
  void run(const Case&, const Buffers&) override { throw std::logic_error("it runs elsewhere"); }
  Elsewhere* elsewhere() override { return this; }

  std::string refusal(const Case& c, std::uint64_t* wrong) override {
    const Job::Result result = job_.run({.kind = Order::Kind::verify, .c = c});
    *wrong = result.wrong;
    return result.refusal;
  }
  Result run(const Case& c, const Batch& batch) override {
    const Job::Result result = job_.run({.kind = Order::Kind::batch, .c = c, .batch = batch});
    return {result.seconds, result.wrong};
  }

 private:
  Job job_;
};

}  // namespace

std::unique_ptr<Contender> peer_contender(Bootstrap& bootstrap, const Setting& setting, std::size_t in_bytes,
                                          std::size_t out_bytes) {
  return std::make_unique<PeerContender>(bootstrap, setting, in_bytes, out_bytes);
}

}  // namespace tutti::bench::peers

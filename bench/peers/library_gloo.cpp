// Gloo over TCP on this machine: what PyTorch uses on CPUs.
#include <fmt/core.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <stdexcept>

#include "bench/peers/library.hpp"

namespace tutti::bench::peers {
namespace {

constexpr std::chrono::minutes kTimeout{10};

/// Calls f with a value of the C++ type; f32 stands for the types that are not here.
template <class F>
void with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::f64: return f(double{});
    case DataType::i8: return f(std::int8_t{});
    case DataType::u8: return f(std::uint8_t{});
    case DataType::i32: return f(std::int32_t{});
    case DataType::i64: return f(std::int64_t{});
    case DataType::u64: return f(std::uint64_t{});
    default: return f(float{});
  }
}

bool has(DataType type) { return type != DataType::f16 && type != DataType::bf16 && type != DataType::u32; }

using Reduce = void (*)(void*, const void*, const void*, std::size_t);
template <class T>
Reduce reduce_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod: return &gloo::product<T>;
    case ReduceOp::min: return &gloo::min<T>;
    case ReduceOp::max: return &gloo::max<T>;
    default: return &gloo::sum<T>;
  }
}

class Gloo : public Library {
 public:
  Gloo(int rank, int size, const std::string& folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    context_->setTimeout(kTimeout);
    gloo::rendezvous::FileStore store(folder);
    auto device = gloo::transport::tcp::CreateDevice("localhost");
    context_->connectFullMesh(store, device);
  }

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }
  std::string version() const override { return "Gloo over TCP"; }

  std::string refusal(const Case& c) const override {
    if (c.is(Operation::reduce_scatter)) return "Gloo has none of this kind";
    if (!has(c.type)) return fmt::format("Gloo has no type {}", name_of(c.type));
    if (c.reduces() && c.op == ReduceOp::avg) return "Gloo has no operator avg";
    return "";
  }

  void run(const Case& c, const Buffers& b) override {
    with_type(c.type, [&](auto zero) { run_as<decltype(zero)>(c, b); });
  }

 private:
  template <class T>
  void run_as(const Case& c, const Buffers& b) {
    T* const in = reinterpret_cast<T*>(b.in);
    T* const out = reinterpret_cast<T*>(b.out);
    const bool root = rank() == c.root;
    // Without an input, a call takes it from its output.
    const bool apart = in != out;
    switch (c.operation) {
      case Operation::all_reduce: {
        gloo::AllreduceOptions options(context_);
        if (apart) options.setInput(in, c.count);
        options.setOutput(out, c.count);
        options.setReduceFunction(reduce_of<T>(c.op));
        return gloo::allreduce(options);
      }
      case Operation::all_gather: {
        gloo::AllgatherOptions options(context_);
        if (!c.in_place) options.setInput(in, c.count);
        options.setOutput(out, c.out_count());
        return gloo::allgather(options);
      }
      case Operation::broadcast: {
        gloo::BroadcastOptions options(context_);
        options.setOutput(in, c.count);
        options.setRoot(c.root);
        return gloo::broadcast(options);
      }
      case Operation::reduce: {
        gloo::ReduceOptions options(context_);
        if (apart) options.setInput(in, c.count);
        options.setOutput(out, c.count);
        options.setRoot(c.root);
        options.setReduceFunction(reduce_of<T>(c.op));
        return gloo::reduce(options);
      }
      case Operation::gather: {
        gloo::GatherOptions options(context_);
        options.setInput(in, c.count);
        if (root) options.setOutput(out, c.out_count());
        options.setRoot(c.root);
        return gloo::gather(options);
      }
      case Operation::scatter: {
        gloo::ScatterOptions options(context_);
        std::vector<T*> parts;
        for (int r = 0; r < size() && root; ++r) parts.push_back(in + static_cast<std::size_t>(r) * c.count);
        if (root) options.setInputs(parts, c.count);
        options.setOutput(out, c.count);
        options.setRoot(c.root);
        return gloo::scatter(options);
      }
      case Operation::all_to_all: {
        gloo::AlltoallOptions options(context_);
        options.setInput(in, c.in_count());
        options.setOutput(out, c.out_count());
        return gloo::alltoall(options);
      }
      case Operation::send_recv: return there_and_back(in, out, c.count * sizeof(T));
      case Operation::barrier: {
        gloo::BarrierOptions options(context_);
        return gloo::barrier(options);
      }
      case Operation::reduce_scatter: throw std::logic_error("refused before");
    }
  }

  void there_and_back(void* in, void* out, std::size_t bytes) {
    const int peer = rank() ^ 1;
    if (peer >= size()) return;
    constexpr std::uint64_t kSlot = 0x7475747469;
    auto from = context_->createUnboundBuffer(in, bytes), to = context_->createUnboundBuffer(out, bytes);
    const auto send = [&] { from->send(peer, kSlot), from->waitSend(kTimeout); };
    const auto receive = [&] { to->recv(peer, kSlot), to->waitRecv(kTimeout); };
    if (rank() < peer) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace

std::unique_ptr<Library> open_library(int rank, int size, const std::string& folder) {
  return std::make_unique<Gloo>(rank, size, folder);
}

}  // namespace tutti::bench::peers

// Programs drawn at random: whatever is put into a group, the end is that of one call after the other.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>

#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

constexpr int kRanks = 3;
constexpr int kBuffers = 8;
constexpr std::size_t kPart = 11;  // elements that belong to one rank
constexpr std::size_t kElements = kPart * kRanks;
constexpr int kGroups = 60;

using Element = std::uint32_t;
using Buffer = std::vector<Element>;

enum class Kind { all_reduce, broadcast, all_gather, reduce_scatter, all_to_all, shift };
constexpr int kKinds = 6;

/// A collective from buffer `from` to buffer `to`, or a message of every rank to the one `by` places on.
struct Step {
  Kind kind;
  int from, to;
  ncclRedOp_t op;
  int root;
  int by;
};

/// Steps of a group that touch different buffers.
std::vector<Step> draw_group(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<int> buffers(kBuffers);
  for (int b = 0; b < kBuffers; ++b) buffers[static_cast<std::size_t>(b)] = b;
  std::shuffle(buffers.begin(), buffers.end(), random);
  std::vector<Step> steps;
  for (int s = below(4); s >= 0; --s) {
    Step step{};
    step.kind = static_cast<Kind>(below(kKinds));
    step.from = buffers[static_cast<std::size_t>(2 * s)];
    step.to = buffers[static_cast<std::size_t>(2 * s + 1)];
    step.op = std::array{ncclSum, ncclProd, ncclMax, ncclMin}[static_cast<std::size_t>(below(4))];
    step.root = below(kRanks);
    step.by = below(kRanks);
    steps.push_back(step);
  }
  return steps;
}

class Model {
 public:
  explicit Model(std::mt19937& random) {
    for (auto& rank : buffers_)
      for (Buffer& buffer : rank) {
        buffer.resize(kElements);
        for (Element& element : buffer) element = static_cast<Element>(random());
      }
  }
  const Buffer& at(int rank, int buffer) const { return buffers_[index(rank)][index(buffer)]; }
  void run(const Step& step) {
    const auto before = buffers_;
    const auto reduced = [&](std::size_t i) {
      Element result = before[0][index(step.from)][i];
      for (int r = 1; r < kRanks; ++r) {
        const Element next = before[index(r)][index(step.from)][i];
        switch (step.op) {
          case ncclProd: result *= next; break;
          case ncclMax: result = std::max(result, next); break;
          case ncclMin: result = std::min(result, next); break;
          default: result += next;
        }
      }
      return result;
    };
    for (int r = 0; r < kRanks; ++r) {
      Buffer& to = buffers_[index(r)][index(step.to)];
      const auto from = [&](int rank) -> const Buffer& { return before[index(rank)][index(step.from)]; };
      for (std::size_t i = 0; i < kElements; ++i) {
        const auto part = static_cast<int>(i / kPart);
        switch (step.kind) {
          case Kind::all_reduce: to[i] = reduced(i); break;
          case Kind::broadcast: to[i] = from(step.root)[i]; break;
          case Kind::all_gather: to[i] = from(part)[i % kPart]; break;
          case Kind::reduce_scatter:
            if (i < kPart) to[i] = reduced(index(r) * kPart + i);
            break;
          case Kind::all_to_all: to[i] = from(part)[index(r) * kPart + i % kPart]; break;
          case Kind::shift: to[i] = from((r + kRanks - step.by) % kRanks)[i]; break;
        }
      }
    }
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::array<std::array<Buffer, kBuffers>, kRanks> buffers_;
};

ncclResult_t issue(const Step& step, int rank, const World& world, std::span<const Memory> memory) {
  const void* const from = memory[static_cast<std::size_t>(step.from)].at();
  void* const to = memory[static_cast<std::size_t>(step.to)].at();
  const ncclComm_t comm = world.comm(rank);
  const cudaStream_t stream = world.stream(rank);
  switch (step.kind) {
    case Kind::all_reduce: return ncclAllReduce(from, to, kElements, ncclUint32, step.op, comm, stream);
    case Kind::broadcast: return ncclBroadcast(from, to, kElements, ncclUint32, step.root, comm, stream);
    case Kind::all_gather: return ncclAllGather(from, to, kPart, ncclUint32, comm, stream);
    case Kind::reduce_scatter: return ncclReduceScatter(from, to, kPart, ncclUint32, step.op, comm, stream);
    case Kind::all_to_all: return ncclAlltoAll(from, to, kPart, ncclUint32, comm, stream);
    case Kind::shift: break;
  }
  check(ncclSend(from, kElements, ncclUint32, (rank + step.by) % kRanks, comm, stream), "ncclSend");
  return ncclRecv(to, kElements, ncclUint32, (rank + kRanks - step.by) % kRanks, comm, stream);
}

void run_program(unsigned seed, Callers callers) {
  if (gpus() < kRanks) GTEST_SKIP() << "needs " << kRanks << " GPUs, there are " << gpus();
  std::mt19937 random(seed);
  Model model(random);
  const World world(kRanks, callers);
  std::vector<std::vector<Memory>> memory(kRanks);
  for (int r = 0; r < kRanks; ++r)
    for (int b = 0; b < kBuffers; ++b)
      memory[static_cast<std::size_t>(r)].emplace_back(r, std::as_bytes(std::span(model.at(r, b))));

  for (int g = 0; g < kGroups; ++g) {
    const std::vector<Step> steps = draw_group(random);
    world.start([&](int rank) {
      // Every rank has its own order: collectives in that of the program, messages anywhere between.
      std::vector<Step> order = steps;
      if (rank == 1)
        std::stable_partition(order.begin(), order.end(), [](const Step& s) { return s.kind == Kind::shift; });
      if (rank == 2)
        std::stable_partition(order.begin(), order.end(), [](const Step& s) { return s.kind != Kind::shift; });
      check(ncclGroupStart(), "ncclGroupStart");
      for (const Step& step : order) check(issue(step, rank, world, memory[static_cast<std::size_t>(rank)]), "a step");
      return ncclGroupEnd();
    });
    for (const Step& step : steps) model.run(step);
    if (random() % 8 == 0) world.wait();
  }
  world.wait();

  for (int r = 0; r < kRanks; ++r)
    for (int b = 0; b < kBuffers; ++b) {
      const std::vector<std::byte> content = memory[static_cast<std::size_t>(r)][static_cast<std::size_t>(b)].content();
      Buffer got(kElements);
      std::memcpy(got.data(), content.data(), content.size());
      const auto wrong = std::mismatch(got.begin(), got.end(), model.at(r, b).begin());
      if (wrong.first != got.end())
        ADD_FAILURE() << "seed " << seed << ", rank " << r << ", buffer " << b << ", element "
                      << wrong.first - got.begin() << ": expected " << *wrong.second << ", got " << *wrong.first;
    }
}

TEST(RandomPrograms, OfOneThreadEndAsOneCallAfterTheOther) {
  for (const unsigned seed : {1u, 2u}) run_program(seed, Callers::one_thread);
}

TEST(RandomPrograms, OfAThreadForEachRankEndAsOneCallAfterTheOther) {
  for (const unsigned seed : {3u, 4u}) run_program(seed, Callers::thread_per_rank);
}

}  // namespace
}  // namespace nccl_programs

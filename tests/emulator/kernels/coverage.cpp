#include "tests/emulator/kernels/coverage.hpp"

#include <fmt/format.h>

#include <memory>

#include "tests/emulator/machine/direct_memory.hpp"

namespace tutti::emulator {
namespace {

/// Notes what is executed; everything is allowed.
class Recorder {
 public:
  Recorder(const Function* function, std::span<const MulticastWindow> windows)
      : function_(function), windows_(windows) {}

  void note(const Thread& t) {
    if (t.function == function_) executed_.insert(static_cast<std::size_t>(t.next));
  }
  void check(const Thread& t, const Instruction&, std::uint64_t, std::uint64_t, bool) { note(t); }
  template <class F>
  void for_each_replica(const Thread& t, const Instruction&, std::uint64_t address, F f) {
    note(t);
    for (const MulticastWindow& window : windows_)
      if (address - window.begin < window.bytes)
        for (const std::uint64_t replica : window.replicas) f(replica + (address - window.begin));
  }
  const std::set<std::size_t>& executed() const { return executed_; }

 private:
  const Function* function_;
  std::span<const MulticastWindow> windows_;
  std::set<std::size_t> executed_;
};

class RecordedMemory : public DirectMemory<Recorder> {
 public:
  explicit RecordedMemory(Recorder& recorder) : DirectMemory(recorder), recorder_(recorder) {}
  void barrier_arrive(Thread& t, int) { recorder_.note(t); }

 private:
  Recorder& recorder_;
};

/// A stream's blocks that run now.
struct Running {
  const Stream* stream;
  std::size_t next = 0;  // work
  std::vector<std::unique_ptr<Block>> blocks;

  bool done() const { return blocks.empty() && next == stream->work.size(); }
};

void begin(const Launch& launch, std::vector<std::unique_ptr<Block>>& blocks) {
  for (std::uint32_t z = 0; z < launch.grid.z; ++z)
    for (std::uint32_t y = 0; y < launch.grid.y; ++y)
      for (std::uint32_t x = 0; x < launch.grid.x; ++x)
        blocks.push_back(std::make_unique<Block>(launch, Dim3{x, y, z}, 0, 0));
}

}  // namespace

std::set<std::size_t> covered(std::span<const Stream> streams, const Function* function,
                              std::span<const MulticastWindow> windows) {
  constexpr std::uint32_t kBudget = 1 << 16;
  Recorder recorder(function, windows);
  RecordedMemory memory(recorder);
  Machine<RecordedMemory> machine(memory);
  std::vector<Running> all;
  for (const Stream& stream : streams) all.push_back({.stream = &stream, .next = 0, .blocks = {}});
  for (bool alive = true; alive;) {
    alive = false;
    for (std::size_t s = 0; s < all.size(); ++s) {
      Running& running = all[s];
      std::erase_if(running.blocks, [](const auto& block) { return block->done(); });
      while (running.blocks.empty() && running.next < running.stream->work.size()) {
        const Work& work = running.stream->work[running.next++];
        if (!work.host) begin(work.launch, running.blocks);
      }
      for (const auto& block : running.blocks)
        for (Thread& thread : block->threads())
          if (thread.state == Thread::State::ready) machine.run(thread, kBudget);
      alive |= !running.done();
    }
  }
  return recorder.executed();
}

}  // namespace tutti::emulator

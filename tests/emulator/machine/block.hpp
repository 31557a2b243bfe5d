// The threads of a CUDA block, as a machine runs them one by one.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t product() const { return std::uint64_t{x} * y * z; }
};

/// A module on a device.
struct Image {
  const Module* module = nullptr;
  std::vector<std::uint64_t> variables;  ///< addresses, in the order of Module::variables()
};

/// What the blocks of one launch share. Lives as long as they do.
struct Launch {
  const Image* image = nullptr;
  const Function* function = nullptr;
  Dim3 grid, block;
  std::vector<std::byte> parameters;  ///< as the function's parameters lie
  std::uint32_t dynamic_shared = 0;   ///< bytes
  std::uint64_t grid_id = 0;
  int device = 0;
  std::uint32_t multiprocessors = 1;
};

class Block;

/// A call that has not returned: where its caller goes on.
struct Frame {
  const Function* function;
  std::int32_t next;
  std::uint64_t* slots;
  std::uint32_t local;                      ///< offset of the caller's frame in the thread's local memory
  std::vector<std::byte> parameters;        ///< of the caller, if it is a function
  std::unique_ptr<std::uint64_t[]> called;  ///< slots of the function called
};

struct Thread {
  enum class State : std::uint8_t { ready, at_barrier, at_warp, done };
  std::uint64_t* slots = nullptr;
  const Function* function = nullptr;
  std::int32_t next = 0;  ///< instruction
  State state = State::ready;
  std::uint8_t barrier = 0;  ///< at which it waits
  std::uint32_t index = 0;   ///< in its block
  std::uint32_t id = 0;      ///< among all threads of the run, if the memory wants to know
  std::uint32_t local = 0;   ///< offset of the running function's frame in the thread's local memory
  std::uint32_t mask = 0;    ///< of the warp's lanes that it waits for
  Block* block = nullptr;
  std::vector<Frame> frames;
  std::vector<std::byte> parameters;  ///< of the running function, if it is no entry

  std::uint32_t lane() const { return index & 31; }
  /// The one that it is at.
  const Instruction& instruction() const { return function->code[static_cast<std::size_t>(next)]; }
};

class Block {
 public:
  static constexpr int kBarriers = 16;
  static constexpr std::size_t kStack = 64 << 10;  ///< local memory of a thread whose function calls others

  /// `index` is blockIdx; threads are numbered from `first_id`. Throws std::runtime_error if the function takes
  /// other parameters or fewer threads.
  Block(const Launch& launch, Dim3 index, std::uint32_t first_id, std::uint32_t multiprocessor);

  const Launch& launch() const { return *launch_; }
  Dim3 index() const { return index_; }
  std::uint64_t linear() const {
    return index_.x + std::uint64_t{launch_->grid.x} * (index_.y + std::uint64_t{launch_->grid.y} * index_.z);
  }
  std::vector<Thread>& threads() { return threads_; }
  const std::vector<Thread>& threads() const { return threads_; }
  std::span<Thread> warp(const Thread& thread);
  std::uint32_t running() const { return running_; }
  bool done() const { return running_ == 0; }

  std::span<std::byte> shared() { return shared_; }
  /// The local memory of a thread.
  std::span<std::byte> local(const Thread& thread);
  std::span<std::byte> stack() { return stack_; }  ///< of all threads

  /// Fills the thread's slots with what a function finds there when it begins.
  void begin(Thread& thread, const Function& function);
  void end(Thread& thread) { thread.state = Thread::State::done, --running_; }

  struct Barrier {
    std::uint32_t arrived = 0;
    std::uint32_t needed = 0;  ///< 0: all that have not ended
    BarrierReduction reduction = BarrierReduction::none;
    std::uint32_t ones = 0, votes = 0;
  };
  std::array<Barrier, kBarriers> barriers{};

 private:
  void fill_special(Thread& thread, std::uint32_t multiprocessor);

  const Launch* launch_;
  Dim3 index_;
  std::uint32_t multiprocessor_;
  std::uint32_t running_;
  std::size_t local_bytes_ = 0;
  std::vector<std::byte> shared_storage_, stack_;
  std::span<std::byte> shared_;
  std::vector<std::uint64_t> slots_;
  std::vector<Thread> threads_;
};

/// An error of the program that runs: what and, for messages, where.
class Fault : public std::runtime_error {
 public:
  Fault(const Thread& thread, const std::string& what) : std::runtime_error(describe(thread, what)) {}

 private:
  static std::string describe(const Thread& thread, const std::string& what);
};

/// assert() in the program did not hold.
class AssertionFailed : public Fault {
 public:
  AssertionFailed(const Thread& thread, std::string_view condition, std::string_view file, std::uint32_t line,
                  std::string_view function);
  /// The line that CUDA prints for it.
  const std::string& report() const { return report_; }

 private:
  std::string report_;
};

/// "block 3 thread 17 of tutti::collective<...> at PTX line 1234 (ring.hpp:42 ...): st.release..."
std::string where(const Thread& thread);

}  // namespace tutti::emulator

// Fibers: several blocks in one thread of the CPU executor, all blocks of all ranks in one thread of the model.
#pragma once
#include <cstddef>
#include <exception>
#include <functional>

namespace tutti {

/// What ThreadSanitizer takes a switch between fibers for.
enum class Switches {
  unordered,  ///< nothing: only flags order fibers, as blocks on a GPU; creation and end order, as a launch does
  ordered,    ///< all that one thread does is in order, whichever fiber does it
};

/// A function that can stop in the middle and go on later, on its own stack with a guard page below it.
/// One thread at a time may use a fiber, not always the same. A fiber must not yield while an exception is being
/// handled, nor keep the address of a thread-local variable across a yield.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body, std::size_t stack_bytes = std::size_t{128} << 10,
                 Switches switches = Switches::unordered);
  /// An unfinished fiber is unwound first: the yield that it stands in throws, its destructors run.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs it until it yields or ends; throws what the body let out. Not after it is done.
  void resume();
  /// Inside a fiber: back to whoever resumed it.
  static void yield();
  static bool inside();
  bool done() const { return state_ == State::done; }

 private:
  enum class State { fresh, suspended, running, done };
  struct Entry;
  void enter();
  void leave(bool for_good);

  std::function<void()> body_;
  Switches switches_;
  State state_ = State::fresh;
  bool unwinding_ = false;
  std::exception_ptr escaped_;
  char* stack_ = nullptr;  // its lowest byte; the guard page stands below
  std::size_t stack_bytes_ = 0;
  void* own_ = nullptr;      // where the fiber goes on
  void* resumer_ = nullptr;  // where whoever resumed it goes on
  Fiber* outer_ = nullptr;   // the fiber that resumed this one
  // What the sanitizers are told.
  const void* resumer_stack_ = nullptr;
  std::size_t resumer_stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
  void* tsan_own_ = nullptr;
  void* tsan_resumer_ = nullptr;
};

}  // namespace tutti

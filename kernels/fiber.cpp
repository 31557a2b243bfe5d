#include "kernels/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cassert>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
// The fields of a fiber are handed over by the switch itself, which the checker is not told of.
#define TUTTI_SWITCHES __attribute__((noinline, no_sanitize("thread")))
#else
#define TUTTI_SWITCHES __attribute__((noinline))
#endif

namespace tutti {
namespace {

namespace context = boost::context::detail;

/// Thrown by the yield of a fiber that is destroyed; never leaves the fiber.
struct Unwind {};

thread_local Fiber* running = nullptr;

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Stacks that wait for their next fiber: mapping one costs more than a small collective.
class Stacks {
 public:
  ~Stacks() {
    for (auto& [bytes, stacks] : free_)
      for (char* stack : stacks) munmap(stack - page(), bytes + page());
  }
  char* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      auto& stacks = free_[bytes];
      if (!stacks.empty()) {
        char* const stack = stacks.back();
        stacks.pop_back();
        return stack;
      }
    }
    void* const at = mmap(nullptr, bytes + page(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(at, page(), PROT_NONE) != 0) {
      munmap(at, bytes + page());
      throw std::bad_alloc();
    }
    return static_cast<char*>(at) + page();
  }
  void give(char* stack, std::size_t bytes) noexcept {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack, bytes);
#endif
    const std::lock_guard lock(mutex_);
    auto& stacks = free_[bytes];
    if (stacks.size() < kKept) {
      stacks.push_back(stack);
    } else {
      munmap(stack - page(), bytes + page());
    }
  }

 private:
  static constexpr std::size_t kKept = 256;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<char*>> free_;
};

Stacks& stacks() {
  static Stacks all;
  return all;
}

}  // namespace

struct Fiber::Entry {
  TUTTI_SWITCHES static void run(context::transfer_t from) {
    auto& fiber = *static_cast<Fiber*>(from.data);
    fiber.resumer_ = from.fctx;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &fiber.resumer_stack_, &fiber.resumer_stack_bytes_);
#endif
    fiber.enter();
    fiber.leave(true);
  }
};

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes, Switches switches)
    : body_(std::move(body)), switches_(switches), stack_bytes_((stack_bytes + page() - 1) / page() * page()) {
  stack_ = stacks().take(stack_bytes_);
  own_ = context::make_fcontext(stack_ + stack_bytes_, stack_bytes_, &Entry::run);
#ifdef __SANITIZE_THREAD__
  tsan_own_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  assert(state_ != State::running);
  if (state_ == State::suspended) {
    unwinding_ = true;
    try {
      resume();
    } catch (...) {
      // A destructor of the body threw; there is nobody to tell.
    }
    assert(done());
  }
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(tsan_own_);
#endif
  stacks().give(stack_, stack_bytes_);
}

bool Fiber::inside() { return running != nullptr; }

TUTTI_SWITCHES void Fiber::enter() {
  try {
    body_();
  } catch (const Unwind&) {
  } catch (...) {
    escaped_ = std::current_exception();
  }
}

TUTTI_SWITCHES void Fiber::resume() {
  assert(state_ == State::fresh || state_ == State::suspended);
  outer_ = running;
  running = this;
  state_ = State::running;
#ifdef __SANITIZE_ADDRESS__
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_, stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  tsan_resumer_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_own_, switches_ == Switches::ordered ? 0 : __tsan_switch_to_fiber_no_sync);
#endif
  const context::transfer_t back = context::jump_fcontext(own_, this);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  own_ = back.fctx;
  running = outer_;
  if (state_ == State::done && escaped_) std::rethrow_exception(std::exchange(escaped_, nullptr));
}

// Nothing here may touch `running` after the jump: another thread may have resumed the fiber.
TUTTI_SWITCHES void Fiber::leave(bool for_good) {
  state_ = for_good ? State::done : State::suspended;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, resumer_stack_, resumer_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  // The end of a fiber is the end of a kernel: what it did comes before what its resumer does next.
  __tsan_switch_to_fiber(tsan_resumer_,
                         for_good || switches_ == Switches::ordered ? 0 : __tsan_switch_to_fiber_no_sync);
#endif
  const context::transfer_t again = context::jump_fcontext(resumer_, nullptr);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack_, &resumer_stack_, &resumer_stack_bytes_);
#endif
  resumer_ = again.fctx;
  if (unwinding_) throw Unwind{};
}

TUTTI_SWITCHES void Fiber::yield() {
  assert(running);
  running->leave(false);
}

}  // namespace tutti

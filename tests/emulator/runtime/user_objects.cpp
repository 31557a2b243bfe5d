#include "tests/emulator/runtime/user_objects.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/graph.hpp"
#include "tests/emulator/runtime/signals_blocked.hpp"

namespace tutti::emulated {
namespace {

std::set<UserObject*>& live_objects() {
  static auto* const all = new std::set<UserObject*>;
  return *all;
}

/// The thread that ends things: who gives the last reference back may hold locks that the end wants.
class Undertaker {
 public:
  static Undertaker& instance() {
    static auto* const only = new Undertaker;
    return *only;
  }

  void end(std::function<void()> thing) {
    const std::lock_guard lock(mutex_);
    things_.push_back(std::move(thing));
    more_.notify_one();
  }

 private:
  Undertaker() {
    const SignalsBlocked blocked;
    std::thread([this] { work(); }).detach();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      more_.wait(lock, [&] { return !things_.empty(); });
      const std::function<void()> next = std::move(things_.front());
      things_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> things_;
};

}  // namespace

UserObject& UserObject::make(void* thing, cudaHostFn_t end, unsigned references) {
  Undertaker::instance();  // where it can still be refused
  auto* object = new UserObject(thing, end, references);
  live_objects().insert(object);
  return *object;
}

void UserObject::release(unsigned references) {
  require(references <= references_, cudaErrorInvalidValue);
  references_ -= references;
  if (references_ != 0) return;
  live_objects().erase(this);
  Undertaker::instance().end([end = end_, thing = thing_] { end(thing); });
  delete this;
}

UserObject& user_object_of(cudaUserObject_t handle) {
  auto* object = reinterpret_cast<UserObject*>(handle);
  require(live_objects().contains(object), cudaErrorInvalidValue);
  return *object;
}

}  // namespace tutti::emulated

using namespace tutti::emulated;

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* thing, cudaHostFn_t end, unsigned references,
                                 unsigned flags) {
  return entry_without_device([&] {
    require(object && end && references != 0 && flags == cudaUserObjectNoDestructorSync, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    *object = reinterpret_cast<cudaUserObject_t>(&UserObject::make(thing, end, references));
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned references) {
  return entry_without_device([&] {
    require(references != 0, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    user_object_of(object).retain(references);
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned references) {
  return entry_without_device([&] {
    require(references != 0, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    user_object_of(object).release(references);
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned references, unsigned flags) {
  return entry_without_device([&] {
    require(references != 0 && (flags == 0 || flags == cudaGraphUserObjectMove), cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    const auto keeper = graph_of(graph);
    UserObject& kept = user_object_of(object);
    if (flags != cudaGraphUserObjectMove) kept.retain(references);
    keeper->keep(kept, references);
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned references) {
  return entry_without_device([&] {
    require(references != 0, cudaErrorInvalidValue);
    const std::lock_guard lock(graphs_mutex());
    graph_of(graph)->drop(user_object_of(object), references);
  });
}

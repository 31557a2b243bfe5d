#include "tests/emulator/runtime/graph_exec.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/events.hpp"

namespace tutti::emulated {
namespace {

std::map<cudaGraphExec_t, std::shared_ptr<GraphExec>>& live_execs() {
  static auto* const all = new std::map<cudaGraphExec_t, std::shared_ptr<GraphExec>>;
  return *all;
}

}  // namespace

/// One launch under way.
class GraphExec::Run {
 public:
  /// `tickets`: of the records and waits among the steps.
  Run(const Plan& plan, const std::vector<std::uint64_t>& tickets)
      : plan_(plan), tickets_(tickets), done_(plan.steps.size()) {}

  void all_lanes() {
    std::vector<std::thread> others;
    for (std::size_t lane = 1; lane < plan_.lanes.size(); ++lane) try {
        others.emplace_back([this, lane] { run(plan_.lanes[lane]); });
      } catch (const std::system_error&) {
        give_up(fmt::format("the system gives no thread for branch {} of a graph", lane));
      }
    if (!plan_.lanes.empty()) run(plan_.lanes[0]);
    for (std::thread& other : others) other.join();
  }

 private:
  void run(const std::vector<std::size_t>& lane) {
    for (const std::size_t index : lane) {
      const Step& step = plan_.steps[index];
      wait_for(step.before);
      // After a fault nothing runs, but who waits for a record must hear of it.
      if (step.operation && (!stopped_ || std::holds_alternative<EventRecord>(*step.operation)))
        perform_on_device(step, tickets_[index]);
      const std::lock_guard lock(mutex_);
      done_[index] = true;
      changed_.notify_all();
    }
  }

  void perform_on_device(const Step& step, std::uint64_t ticket) {
    Device& device = device_at(step.device);
    const OnDevice current(step.device);
    try {
      if (const auto* record = std::get_if<EventRecord>(step.operation))
        perform(EventRecord{record->event, ticket}, device);
      else if (const auto* wait = std::get_if<EventWait>(step.operation)) {
        // For an event that nobody had recorded nothing waits.
        if (ticket != 0) perform(EventWait{wait->event, ticket}, device);
      } else
        perform(*step.operation, device);
    } catch (const DeviceFault& fault) {
      device.fail(fault);
    } catch (const Failure& failure) {
      device.fail(DeviceFault(failure.code(), failure.what()));
    }
    if (device.failed()) stopped_ = true;
  }

  void wait_for(const std::vector<std::size_t>& before) {
    std::unique_lock lock(mutex_);
    for (const std::size_t index : before) changed_.wait(lock, [&] { return static_cast<bool>(done_[index]); });
  }

  const Plan& plan_;
  const std::vector<std::uint64_t>& tickets_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<char> done_;
};

/// One launch, from the call on. It is over with its operation, whether that ran or not.
class GraphExec::Launch {
 public:
  Launch(std::shared_ptr<GraphExec> exec, std::uint64_t number)
      : exec_(std::move(exec)), number_(number), plan_(exec_->plan_), tickets_(plan_->steps.size()) {
    for (std::size_t index = 0; index < tickets_.size(); ++index) {
      const Operation* const operation = plan_->steps[index].operation;
      if (!operation) continue;
      if (const auto* record = std::get_if<EventRecord>(operation)) tickets_[index] = record->event->ask();
      if (const auto* wait = std::get_if<EventWait>(operation)) tickets_[index] = wait->event->asked();
    }
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() {
    for (std::size_t index = 0; index < tickets_.size(); ++index)
      if (const Operation* const operation = plan_->steps[index].operation)
        if (const auto* record = std::get_if<EventRecord>(operation)) record->event->complete(tickets_[index]);
    wait_for_turn();
    const std::lock_guard lock(exec_->mutex_);
    exec_->over_ = number_;
    exec_->ended_.notify_all();
  }

  void run() {
    wait_for_turn();
    Run(*plan_, tickets_).all_lanes();
  }

 private:
  void wait_for_turn() {
    std::unique_lock lock(exec_->mutex_);
    exec_->ended_.wait(lock, [&] { return exec_->over_ + 1 == number_; });
  }

  std::shared_ptr<GraphExec> exec_;
  std::uint64_t number_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::uint64_t> tickets_;
};

GraphExec::GraphExec(const Graph& graph, unsigned long long flags)
    : flags_(flags), graph_(graph.clone()), plan_(plan(graph_)) {}

void GraphExec::add_steps(const Graph& graph, const std::vector<std::size_t>& before, std::vector<Step>& steps) {
  std::map<const GraphNode*, std::size_t> last;  // the step that a node ends with
  for (const GraphNode* node : graph.in_order()) {
    Step step;
    step.device = node->device;
    step.operation = std::get_if<Operation>(&node->work);
    if (node->before.empty()) step.before = before;
    for (const GraphNode* earlier : node->before) step.before.push_back(last.at(earlier));
    steps.push_back(std::move(step));
    last[node] = steps.size() - 1;
    if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&node->work)) {
      const std::size_t begin = steps.size() - 1;
      add_steps(**inner, {begin}, steps);
      Step end;
      end.device = node->device;
      for (std::size_t index = begin; index < steps.size(); ++index) end.before.push_back(index);
      steps.push_back(std::move(end));
      last[node] = steps.size() - 1;
    }
  }
}

std::shared_ptr<const GraphExec::Plan> GraphExec::plan(std::shared_ptr<Graph> graph) {
  auto made = std::make_shared<Plan>();
  add_steps(*graph, {}, made->steps);
  made->graph = std::move(graph);
  std::vector<std::size_t> lane_of(made->steps.size());
  for (std::size_t index = 0; index < made->steps.size(); ++index) {
    std::size_t lane = made->lanes.size();
    for (const std::size_t before : made->steps[index].before)
      if (made->lanes[lane_of[before]].back() == before) lane = lane_of[before];
    if (lane == made->lanes.size()) made->lanes.emplace_back();
    made->lanes[lane].push_back(index);
    lane_of[index] = lane;
  }
  return made;
}

bool GraphExec::update(const Graph& graph) {
  std::shared_ptr<Graph> copy = graph.clone();
  std::shared_ptr<const Plan> next = plan(copy);
  const auto same = [](const Step& one, const Step& other) {
    return one.before == other.before && one.device == other.device && !one.operation == !other.operation &&
           (!one.operation || one.operation->index() == other.operation->index());
  };
  if (next->steps.size() != plan_->steps.size()) return false;
  for (std::size_t index = 0; index < next->steps.size(); ++index)
    if (!same(next->steps[index], plan_->steps[index])) return false;
  graph_ = std::move(copy);
  plan_ = std::move(next);
  return true;
}

Operation GraphExec::launch() {
  auto launch = std::make_shared<Launch>(shared_from_this(), ++launches_);
  return Task{[launch = std::move(launch)](Device&) { launch->run(); }, "the launch of a graph"};
}

std::shared_ptr<GraphExec> graph_exec_of(cudaGraphExec_t handle) {
  const auto found = live_execs().find(handle);
  require(found != live_execs().end(), cudaErrorInvalidValue);
  return found->second;
}

cudaGraphExec_t enter_graph_exec(std::shared_ptr<GraphExec> exec) {
  const auto handle = reinterpret_cast<cudaGraphExec_t>(exec.get());
  live_execs()[handle] = std::move(exec);
  return handle;
}

std::shared_ptr<GraphExec> remove_graph_exec(cudaGraphExec_t handle) {
  std::shared_ptr<GraphExec> exec = graph_exec_of(handle);
  live_execs().erase(handle);
  return exec;
}

}  // namespace tutti::emulated

#include "collectives/nccl_interface/group.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace tutti::nccl_interface {
namespace {

struct Group {
  int depth = 0;
  ncclResult_t spoilt = ncclSuccess;  ///< the first error of its calls: nothing of it happens then
  std::vector<Job> jobs;
  std::vector<Call> calls;
  std::vector<std::function<ncclResult_t()>> last;
};
thread_local Group group;

/// Jobs that one thread does, in their order.
struct Lane {
  std::vector<Job> jobs;
  CommunicatorPointer through;  ///< of all of them

  /// Who waits for it, if nobody does who asked for it.
  const CommunicatorPointer& owner() const { return through ? through : jobs[0].makes; }
  bool is_background() const {
    return std::none_of(jobs.begin(), jobs.end(),
                        [](const Job& job) { return (job.makes ? job.makes : job.through)->blocking; });
  }
};

std::vector<Lane> lanes_of(std::vector<Job> jobs) {
  std::vector<Lane> lanes;
  for (Job& job : jobs) {
    const auto same = [&](const Lane& lane) { return lane.through && lane.through == job.through; };
    auto lane = std::find_if(lanes.begin(), lanes.end(), same);
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), {{}, job.through});
    lane->jobs.push_back(std::move(job));
  }
  return lanes;
}

/// The first error of its jobs.
ncclResult_t perform(const Lane& lane) {
  ncclResult_t first = ncclSuccess;
  for (const Job& job : lane.jobs) {
    ncclResult_t result = ncclSuccess;
    std::string trouble;
    try {
      job.work();
    } catch (const std::exception& exception) {
      result = report_exception(job.function);
      trouble = exception.what();
    }
    if (job.makes) job.makes->settle(result, trouble);
    if (first == ncclSuccess) first = result;
  }
  return first;
}

/// `pointer`, unless it is of `owner`: then one that does not keep it alive.
CommunicatorPointer without(const CommunicatorPointer& pointer, const ncclComm* owner) {
  return pointer.get() == owner ? CommunicatorPointer(CommunicatorPointer(), pointer.get()) : pointer;
}

void perform_in_background(Lane lane) {
  const CommunicatorPointer owner = lane.owner();
  if (lane.through) lane.through->begin();
  // The owner waits for the thread before it ends, so must not end in it.
  for (Job& job : lane.jobs) {
    job.makes = without(job.makes, owner.get());
    job.through = without(job.through, owner.get());
  }
  lane.through = without(lane.through, owner.get());
  owner->in_background([lane = std::move(lane)] {
    perform(lane);
    if (lane.through) lane.through->settle(ncclSuccess, "");
  });
}

/// What jobs of a group should have made, and did not, is gone.
void unmake(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    if (!job.makes || job.makes->outcome() == ncclSuccess) continue;
    *job.place = nullptr;
    remove_communicator(job.makes.get());
  }
}

ncclResult_t run(std::vector<Job> jobs) {
  std::vector<Lane> lanes = lanes_of(std::move(jobs)), waited_for;
  ncclResult_t result = ncclSuccess;
  for (Lane& lane : lanes) {
    if (!lane.is_background()) {
      waited_for.push_back(std::move(lane));
      continue;
    }
    result = ncclInProgress;
    perform_in_background(std::move(lane));
  }
  std::vector<ncclResult_t> results(waited_for.size());
  if (waited_for.size() == 1) {
    results[0] = perform(waited_for[0]);
  } else {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < waited_for.size(); ++i)
      threads.emplace_back([&, i] { results[i] = perform(waited_for[i]); });
    for (std::thread& thread : threads) thread.join();
  }
  for (const Lane& lane : waited_for) unmake(lane.jobs);
  const auto failed = std::find_if(results.begin(), results.end(), [](ncclResult_t r) { return r != ncclSuccess; });
  return failed == results.end() ? result : *failed;
}

ncclResult_t finish(const char* function, Group ended) {
  if (ended.spoilt != ncclSuccess) {
    for (const Job& job : ended.jobs)
      if (job.makes) job.makes->settle(ended.spoilt, "another call of the group failed");
    unmake(ended.jobs);
    return ended.spoilt;
  }
  const ncclResult_t jobs = run(std::move(ended.jobs));
  if (jobs != ncclSuccess && jobs != ncclInProgress) return jobs;
  const ncclResult_t calls = answer(function, [&] {
    launch(ended.calls);
    return ncclSuccess;
  });
  ncclResult_t result = calls != ncclSuccess ? calls : jobs;
  for (const auto& work : ended.last)
    if (const ncclResult_t its = work(); result == ncclSuccess) result = its;
  return result;
}

}  // namespace

void start_group() { ++group.depth; }

ncclResult_t end_group(const char* function) {
  if (group.depth == 0) return report(function, ncclInvalidUsage, "no group has been started on this thread");
  if (--group.depth > 0) return ncclSuccess;
  return finish(function, std::exchange(group, Group()));
}

void spoil_group(ncclResult_t result) {
  if (group.spoilt == ncclSuccess) group.spoilt = result;
}

void drop_group() {
  if (group.depth == 0) throw Refusal(ncclInvalidUsage, "no group has been started on this thread");
  if (--group.depth > 0) return;
  group.spoilt = ncclInvalidUsage;
  finish("", std::exchange(group, Group()));
}

void add(Call call) { group.calls.push_back(std::move(call)); }

void add(Job job) {
  if (job.makes) job.makes->begin();
  group.jobs.push_back(std::move(job));
}

void add_last(std::function<ncclResult_t()> work) { group.last.push_back(std::move(work)); }

}  // namespace tutti::nccl_interface

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclGroupStart() {
  start_group();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return end_group(__func__); }

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*) {
  return answer(__func__, []() -> ncclResult_t {
    drop_group();
    throw Refusal(ncclInvalidUsage, "tutti does not simulate groups of NCCL calls; the group is dropped");
  });
}

}  // extern "C"

#include "collectives/nccl_interface/group.hpp"

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

void perform(const Job& job) {
  ncclResult_t result = ncclSuccess;
  std::string trouble;
  try {
    job.work();
  } catch (const std::exception& exception) {
    result = report_exception(job.function);
    trouble = exception.what();
  }
  job.communicator->settle(result, trouble);
}

/// The communicator that a job should have made is gone.
void unmake(const Job& job) {
  if (!job.made) return;
  *job.made = nullptr;
  remove_communicator(job.communicator.get());
}

ncclResult_t run(std::vector<Job> jobs) {
  std::vector<Job*> waited_for;
  ncclResult_t result = ncclSuccess;
  for (Job& job : jobs) {
    if (job.communicator->blocking) {
      waited_for.push_back(&job);
      continue;
    }
    result = ncclInProgress;
    // The communicator outlives its background, so the job does not hold it.
    job.communicator->in_background(
        [function = job.function, its = job.communicator.get(), work = std::move(job.work)]() mutable {
          perform({function, CommunicatorPointer(CommunicatorPointer(), its), std::move(work)});
        });
  }
  if (waited_for.size() == 1) {
    perform(*waited_for[0]);
  } else {
    std::vector<std::thread> threads;
    for (const Job* const job : waited_for) threads.emplace_back([job] { perform(*job); });
    for (std::thread& thread : threads) thread.join();
  }
  ncclResult_t failed = ncclSuccess;
  for (const Job* const job : waited_for) {
    const ncclResult_t its = job->communicator->outcome();
    if (its == ncclSuccess) continue;
    if (failed == ncclSuccess) failed = its;
    unmake(*job);
  }
  return failed != ncclSuccess ? failed : result;
}

ncclResult_t finish(const char* function, Group ended) {
  if (ended.spoilt != ncclSuccess) {
    for (const Job& job : ended.jobs) {
      job.communicator->settle(job.made ? ended.spoilt : ncclSuccess, "another call of the group failed");
      unmake(job);
    }
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
  job.communicator->begin();
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

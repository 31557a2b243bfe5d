// The order of work in streams and between them, and events. Holds of CUDA's own runtime as well.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

/// A kernel that keeps a stream busy until it is opened.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) { launch_wait(gate_.get(), 1, passed_.get(), 1, stream); }
  ~Gate() { open(); }
  void open() { gate_.put(1); }

 private:
  HostInts gate_{1};
  HostInts passed_{1};
};

TEST(Streams, DoTheirWorkInOrder) {
  const Ints values(1000);
  const OwnedStream stream;
  for (int i = 0; i < 5; ++i) {
    launch_add(values.get(), 1000, 1, stream.get());
    ASSERT_EQ(cudaMemsetAsync(values.get(), 0, i == 3 ? 2000 : 0, stream.get()), cudaSuccess);
  }
  const std::vector<int> there = values.read();
  EXPECT_EQ(there[0], 1);
  EXPECT_EQ(there[999], 5);
}

TEST(Streams, RunBesideEachOther) {
  const Ints flag(1), seen(1);
  const OwnedStream first, second;
  // The first to be launched needs the second.
  launch_wait(flag.get(), 1, seen.get(), 1, first.get());
  launch_set(flag.get(), 1, second.get());
  ASSERT_EQ(cudaStreamSynchronize(first.get()), cudaSuccess);
  EXPECT_EQ(seen.read()[0], 1);
}

TEST(Streams, SayWhetherTheyAreDone) {
  const OwnedStream stream;
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
  {
    Gate gate(stream.get());
    EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady);
    cudaGetLastError();
    gate.open();
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
}

TEST(Streams, TakeCopiesIntoMemoryThatAKernelPolls) {
  const Ints flag(1), seen(1);
  const OwnedStream polling, copying;
  launch_wait(flag.get(), 7, seen.get(), 1, polling.get());
  const int seven = 7;
  ASSERT_EQ(cudaMemcpyAsync(flag.get(), &seven, sizeof seven, cudaMemcpyHostToDevice, copying.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(polling.get()), cudaSuccess);
  EXPECT_EQ(seen.read()[0], 1);
}

TEST(Streams, FinishWhatTheyWereGivenWhenDestroyed) {
  const Ints values(10);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    Gate gate(stream);
    launch_add(values.get(), 10, 3, stream);
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    gate.open();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(values.read(), std::vector<int>(10, 3));
}

TEST(Streams, HaveFlagsAndPriorities) {
  int least = 1, greatest = 1, priority = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LT(greatest, least);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), cudaSuccess);
  ASSERT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  unsigned flags = 0;
  ASSERT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(DefaultStream, WaitsForBlockingStreamsAndTheyForIt) {
  const Ints values(100);
  const OwnedStream blocking(cudaStreamDefault);
  std::vector<int> seen(100);
  Gate gate(blocking.get());
  launch_add(values.get(), 100, 1, blocking.get());
  launch_add(values.get(), 100, 10, nullptr);
  launch_add(values.get(), 100, 100, blocking.get());
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  ASSERT_EQ(cudaMemcpy(seen.data(), values.get(), 400, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(seen, std::vector<int>(100, 111)) << "the copy is of the default stream, so it comes last";
}

TEST(DefaultStream, DoesNotWaitForTheOthers) {
  const Ints values(10);
  const OwnedStream apart(cudaStreamNonBlocking);
  Gate gate(apart.get());
  launch_add(values.get(), 10, 1, nullptr);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(apart.get()), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(DefaultStream, PerThreadIsEachThreadsOwn) {
  const Ints values(10);
  Gate gate(cudaStreamPerThread);
  cudaError_t other = cudaErrorUnknown;
  std::thread([&] {
    launch_add(values.get(), 10, 2, cudaStreamPerThread);
    other = cudaStreamSynchronize(cudaStreamPerThread);
  }).join();
  EXPECT_EQ(other, cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(values.read(), std::vector<int>(10, 2));
}

TEST(HostFunctions, RunInTheOrderOfTheStreamAndMayNotCallCuda) {
  struct Seen {
    std::vector<int> values = std::vector<int>(2);
    int first = 0;
    cudaError_t call = cudaSuccess;
  } seen;
  const HostInts shared(1);
  const OwnedStream stream;
  launch_add(shared.get(), 1, 5, stream.get());
  static int* place = nullptr;
  place = shared.get();
  ASSERT_EQ(cudaLaunchHostFunc(
                stream.get(),
                [](void* data) {
                  auto& into = *static_cast<Seen*>(data);
                  into.first = *place;
                  void* memory = nullptr;
                  into.call = cudaMalloc(&memory, 4);
                },
                &seen),
            cudaSuccess);
  launch_add(shared.get(), 1, 5, stream.get());
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(seen.first, 5);
  EXPECT_EQ(seen.call, cudaErrorNotPermitted);
  EXPECT_EQ(*shared.get(), 10);
}

// ---- Events
// ----------------------------------------------------------------------------------------------------------

class OwnedEvent {
 public:
  explicit OwnedEvent(unsigned flags = cudaEventDefault) { check(cudaEventCreateWithFlags(&event_, flags)); }
  ~OwnedEvent() { cudaEventDestroy(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

TEST(Events, NeverRecordedHaveHappened) {
  const OwnedEvent event;
  EXPECT_EQ(cudaEventQuery(event.get()), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event.get()), cudaSuccess);
  const OwnedStream stream;
  EXPECT_EQ(cudaStreamWaitEvent(stream.get(), event.get(), 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

TEST(Events, HappenWhenTheWorkBeforeThemIsDone) {
  const OwnedEvent event;
  const OwnedStream stream;
  Gate gate(stream.get());
  ASSERT_EQ(cudaEventRecord(event.get(), stream.get()), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event.get()), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  EXPECT_EQ(cudaEventSynchronize(event.get()), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event.get()), cudaSuccess);
}

TEST(Events, HoldOtherStreamsBackAsOfTheCall) {
  const Ints values(100);
  const OwnedStream first, second;
  const OwnedEvent event;
  Gate gate(first.get());
  launch_add(values.get(), 100, 1, first.get());
  ASSERT_EQ(cudaEventRecord(event.get(), first.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second.get(), event.get(), 0), cudaSuccess);
  // Recorded again, behind a gate that opens only later: the second stream waits for the first record alone.
  Gate later(first.get());
  ASSERT_EQ(cudaEventRecord(event.get(), first.get()), cudaSuccess);
  launch_add(values.get(), 100, 1, second.get());
  EXPECT_EQ(cudaStreamQuery(second.get()), cudaErrorNotReady);
  cudaGetLastError();
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(second.get()), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event.get()), cudaErrorNotReady);
  cudaGetLastError();
  later.open();
  EXPECT_EQ(values.read(), std::vector<int>(100, 2));
}

TEST(Events, MeasureTimeIfTheyMay) {
  const OwnedEvent begin, end, untimed(cudaEventDisableTiming);
  const OwnedStream stream;
  {
    Gate gate(stream.get());
    ASSERT_EQ(cudaEventRecord(begin.get(), stream.get()), cudaSuccess);
    gate.open();
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  }
  Gate gate(stream.get());
  ASSERT_EQ(cudaEventRecord(end.get(), stream.get()), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed.get(), stream.get()), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), cudaErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  gate.open();
  ASSERT_EQ(cudaEventSynchronize(end.get()), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), cudaSuccess);
  EXPECT_GE(milliseconds, 29.0f);
  EXPECT_LT(milliseconds, 60000.0f);
  ASSERT_EQ(cudaEventSynchronize(untimed.get()), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin.get(), untimed.get()), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Events, ForOtherProcessesHaveNoTimes) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
  cudaGetLastError();
}

}  // namespace
}  // namespace tutti::emulated::test

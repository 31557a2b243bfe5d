// Capture and replay.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

class OwnedEvent {
 public:
  OwnedEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~OwnedEvent() { cudaEventDestroy(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

template <class Calls>
cudaGraph_t captured(cudaStream_t stream, Calls calls) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  calls();
  check(cudaStreamEndCapture(stream, &graph));
  return graph;
}

cudaGraphExec_t instantiated(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}

TEST(Graphs, RunOnlyWhenLaunchedAndAsOftenAsLaunched) {
  const Ints values(4);
  const OwnedStream stream;
  const cudaGraph_t graph = captured(stream.get(), [&] {
    launch_add(values.get(), 4, 5, stream.get());
    launch_add(values.get(), 2, 1, stream.get());
  });
  EXPECT_EQ(values.read(), (std::vector<int>{0, 0, 0, 0}));
  const cudaGraphExec_t exec = instantiated(graph);
  check(cudaGraphDestroy(graph));
  for (int launch = 0; launch < 3; ++launch) check(cudaGraphLaunch(exec, stream.get()));
  EXPECT_EQ(values.read(), (std::vector<int>{18, 18, 15, 15}));
  check(cudaGraphExecDestroy(exec));
}

TEST(Graphs, TakeLaunchesOnTwoStreamsOneAfterTheOther) {
  const Ints values(1000);
  const OwnedStream one, two;
  const cudaGraph_t graph = captured(one.get(), [&] { launch_add(values.get(), 1000, 1, one.get()); });
  const cudaGraphExec_t exec = instantiated(graph);
  // Adds are no atomics: two at a time would lose some.
  for (int launch = 0; launch < 10; ++launch) check(cudaGraphLaunch(exec, launch % 2 ? one.get() : two.get()));
  EXPECT_EQ(values.read(), std::vector<int>(1000, 10));
  check(cudaGraphExecDestroy(exec));
  check(cudaGraphDestroy(graph));
}

TEST(Graphs, RunTheirBranchesSideBySide) {
  const Ints flag(1), seen(1);
  const OwnedStream main, side;
  const OwnedEvent fork, join;
  const cudaGraph_t graph = captured(main.get(), [&] {
    check(cudaEventRecord(fork.get(), main.get()));
    check(cudaStreamWaitEvent(side.get(), fork.get(), 0));
    // The first branch ends only if the second one runs beside it.
    launch_wait(flag.get(), 1, seen.get(), 7, main.get());
    launch_set(flag.get(), 1, side.get());
    check(cudaEventRecord(join.get(), side.get()));
    check(cudaStreamWaitEvent(main.get(), join.get(), 0));
    launch_add(seen.get(), 1, 100, main.get());
  });
  std::size_t nodes = 0, edges = 0;
  check(cudaGraphGetNodes(graph, nullptr, &nodes));
  check(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(edges, 2u);
  const cudaGraphExec_t exec = instantiated(graph);
  check(cudaGraphLaunch(exec, main.get()));
  EXPECT_EQ(seen.read(), std::vector<int>{107});
  check(cudaGraphExecDestroy(exec));
  check(cudaGraphDestroy(graph));
}

TEST(Graphs, RecordExternalEventsAtEachLaunchAndWaitForThem) {
  const Ints flag(1), seen(1);
  const OwnedStream stream, other;
  const OwnedEvent done;
  const cudaGraph_t graph = captured(stream.get(), [&] {
    launch_wait(flag.get(), 1, seen.get(), 3, stream.get());
    check(cudaEventRecordWithFlags(done.get(), stream.get(), cudaEventRecordExternal));
  });
  const cudaGraphExec_t exec = instantiated(graph);
  EXPECT_EQ(cudaEventQuery(done.get()), cudaSuccess) << "nobody has recorded it";
  check(cudaGraphLaunch(exec, stream.get()));
  EXPECT_EQ(cudaEventQuery(done.get()), cudaErrorNotReady) << "recorded from the launch on";
  check(cudaStreamWaitEvent(other.get(), done.get(), 0));
  launch_add(seen.get(), 1, 10, other.get());
  const OwnedStream third;
  launch_set(flag.get(), 1, third.get());
  EXPECT_EQ(seen.read(), std::vector<int>{13});
  EXPECT_EQ(cudaEventQuery(done.get()), cudaSuccess);
  check(cudaGraphExecDestroy(exec));
  check(cudaGraphDestroy(graph));
}

TEST(Graphs, TakeNewParametersByAnUpdateIfTheirShapeIsTheSame) {
  const Ints values(2);
  const OwnedStream stream;
  const auto adding = [&](int what, int times) {
    return captured(stream.get(), [&] {
      for (int i = 0; i < times; ++i) launch_add(values.get(), 2, what, stream.get());
    });
  };
  const cudaGraph_t first = adding(1, 2), second = adding(10, 2), longer = adding(1, 3);
  const cudaGraphExec_t exec = instantiated(first);
  cudaGraphExecUpdateResultInfo info{};
  check(cudaGraphExecUpdate(exec, second, &info));
  EXPECT_EQ(cudaGraphExecUpdate(exec, longer, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  check(cudaGraphLaunch(exec, stream.get()));
  EXPECT_EQ(values.read(), (std::vector<int>{20, 20}));
  check(cudaGraphExecDestroy(exec));
  for (const cudaGraph_t graph : {first, second, longer}) check(cudaGraphDestroy(graph));
}

TEST(Graphs, KeepUserObjectsUntilTheLastOfThemEnds) {
  static std::atomic<int> ended{0};
  ended = 0;
  const OwnedStream stream;
  const Ints values(1);
  const cudaGraph_t graph = captured(stream.get(), [&] {
    launch_add(values.get(), 1, 1, stream.get());
    cudaStreamCaptureStatus status{};
    cudaGraph_t under_way = nullptr;
    check(cudaStreamGetCaptureInfo(stream.get(), &status, nullptr, &under_way));
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    cudaUserObject_t object = nullptr;
    check(cudaUserObjectCreate(
        &object, nullptr, [](void*) { ++ended; }, 1, cudaUserObjectNoDestructorSync));
    check(cudaGraphRetainUserObject(under_way, object, 1, cudaGraphUserObjectMove));
  });
  const cudaGraphExec_t exec = instantiated(graph);
  check(cudaGraphDestroy(graph));
  check(cudaGraphLaunch(exec, stream.get()));
  check(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(ended, 0);
  check(cudaGraphExecDestroy(exec));
  for (int i = 0; i < 5000 && ended == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(ended, 1);
}

/// What the calls and the end of the capture that they are in give.
template <class Calls>
cudaError_t spoilt(cudaStream_t stream, Calls calls, cudaError_t* end) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const cudaError_t result = calls();
  *end = cudaStreamEndCapture(stream, &graph);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
  return result;
}

TEST(Captures, AreSpoiltByWhatTheyForbid) {
  const OwnedStream stream, other;
  const OwnedEvent before;
  check(cudaEventRecord(before.get(), other.get()));
  cudaError_t end = cudaSuccess;
  EXPECT_EQ(spoilt(
                stream.get(), [&] { return cudaStreamSynchronize(stream.get()); }, &end),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end, cudaErrorStreamCaptureInvalidated);
  void* memory = nullptr;
  EXPECT_EQ(spoilt(
                stream.get(), [&] { return cudaMalloc(&memory, 4); }, &end),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end, cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(spoilt(
                stream.get(), [&] { return cudaStreamWaitEvent(stream.get(), before.get(), 0); }, &end),
            cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end, cudaErrorStreamCaptureInvalidated);
  const OwnedStream blocking(cudaStreamDefault);
  EXPECT_EQ(spoilt(
                blocking.get(), [&] { return cudaEventRecord(before.get(), cudaStreamLegacy); }, &end),
            cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end, cudaErrorStreamCaptureInvalidated);
  // And the streams are free again.
  const Ints values(1);
  launch_add(values.get(), 1, 1, stream.get());
  EXPECT_EQ(values.read(), std::vector<int>{1});
}

TEST(Captures, WantEveryForkJoined) {
  const Ints values(1);
  const OwnedStream stream, side;
  const OwnedEvent fork;
  cudaError_t end = cudaSuccess;
  EXPECT_EQ(spoilt(
                stream.get(),
                [&] {
                  check(cudaEventRecord(fork.get(), stream.get()));
                  check(cudaStreamWaitEvent(side.get(), fork.get(), 0));
                  launch_add(values.get(), 1, 1, side.get());
                  return cudaSuccess;
                },
                &end),
            cudaSuccess);
  EXPECT_EQ(end, cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaStreamWaitEvent(side.get(), fork.get(), 0), cudaErrorCapturedEvent);
  cudaGetLastError();
}

TEST(Captures, LetAThreadDoWhatItLikesBesideThem) {
  const OwnedStream stream;
  const cudaGraph_t graph = captured(stream.get(), [&] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode));
    { const Ints elsewhere(10); }
    check(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  });
  check(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace tutti::emulated::test

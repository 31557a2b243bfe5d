// Memory and events of several processes, and which devices each of them sees. Holds of CUDA's own runtime as well.
#include "tests/emulator/runtime/processes.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

cudaIpcMemHandle_t handle_of(void* memory) {
  cudaIpcMemHandle_t handle;
  check(cudaIpcGetMemHandle(&handle, memory));
  return handle;
}

int* open(const cudaIpcMemHandle_t& handle) {
  void* memory = nullptr;
  check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess));
  return static_cast<int*>(memory);
}

int first_of(const int* memory) {
  int value = 0;
  check(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

TEST(Processes, ShareMemoryByItsHandle) {
  constexpr int n = 1 << 16;
  run_together(
      [](const Wire& wire) {
        const Ints mine(n);
        launch_add(mine.get(), n, 5, nullptr);
        check(cudaDeviceSynchronize());
        wire.send(handle_of(mine.get()));
        wire.receive<char>();
        expect(mine.read()[n - 1] == 12, "what the other process added is seen");
        wire.send('e');
      },
      [](const Wire& wire) {
        int* const theirs = open(wire.receive<cudaIpcMemHandle_t>());
        expect(first_of(theirs) == 5, "what the other process wrote is seen");
        cudaPointerAttributes attributes;
        check(cudaPointerGetAttributes(&attributes, theirs));
        expect(attributes.type == cudaMemoryTypeDevice, "it is device memory");
        launch_add(theirs, n, 7, nullptr);
        check(cudaDeviceSynchronize());
        wire.send('d');
        wire.receive<char>();
        check(cudaIpcCloseMemHandle(theirs));
      });
}

TEST(Processes, HaveKernelsThatWaitForEachOther) {
  const auto part = [](const Wire& wire) {
    const Ints flags(2), seen(1);
    const OwnedStream stream;
    wire.send(handle_of(flags.get()));
    int* const theirs = open(wire.receive<cudaIpcMemHandle_t>());
    for (int round = 1; round <= 3; ++round) {
      launch_set(theirs, round, stream.get());
      launch_wait(flags.get(), round, seen.get(), round, stream.get());
    }
    check(cudaStreamSynchronize(stream.get()));
    expect(seen.read()[0] == 3, "the last signal has come");
    wire.meet();
    check(cudaIpcCloseMemHandle(theirs));
    wire.meet();
  };
  run_together(part, part);
}

TEST(Processes, OpenAHandleTwiceAtOneAddress) {
  run_together(
      [](const Wire& wire) {
        const Ints mine(10);
        wire.send(handle_of(mine.get()));
        wire.receive<char>();
      },
      [](const Wire& wire) {
        const auto handle = wire.receive<cudaIpcMemHandle_t>();
        int* const once = open(handle);
        int* const again = open(handle);
        expect(once == again, "one address");
        check(cudaIpcCloseMemHandle(once));
        expect(first_of(again) == 0, "still mapped");
        check(cudaIpcCloseMemHandle(again));
        expect(cudaIpcCloseMemHandle(again) != cudaSuccess, "closed for the last time");
        wire.send('e');
      });
}

TEST(Processes, CannotOpenWhatIsFreedOrTheirOwn) {
  run_together(
      [](const Wire& wire) {
        void* memory = nullptr;
        check(cudaMalloc(&memory, 4096));
        const auto handle = handle_of(memory);
        void* mine = nullptr;
        expect(cudaIpcOpenMemHandle(&mine, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess, "its own");
        check(cudaFree(memory));
        wire.send(handle);
        wire.receive<char>();
      },
      [](const Wire& wire) {
        const auto handle = wire.receive<cudaIpcMemHandle_t>();
        void* memory = nullptr;
        expect(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess, "freed");
        cudaGetLastError();
        check(cudaMalloc(&memory, 16));  // and nothing is the worse for it
        wire.send('e');
      });
}

TEST(Processes, ThatAreKilledTakeTheirMemoryWithThem) {
  run_together(
      [](const Wire& wire) {
        // A process of its own that shares memory and is killed.
        int ends[2];
        expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket");
        const pid_t victim = start(
            [](const Wire& to_parent) {
              const Ints memory(1000);
              to_parent.send(handle_of(memory.get()));
              to_parent.receive<char>();  // until it is killed, or its parent is gone
            },
            ends[1], ends[0]);
        close(ends[1]);
        wire.send(Wire(ends[0]).receive<cudaIpcMemHandle_t>());
        wire.receive<char>();
        expect(kill(victim, SIGKILL) == 0 && waitpid(victim, nullptr, 0) == victim, "killed");
        wire.send('k');
      },
      [](const Wire& wire) {
        const auto handle = wire.receive<cudaIpcMemHandle_t>();
        int* const theirs = open(handle);
        check(cudaIpcCloseMemHandle(theirs));
        wire.send('o');
        wire.receive<char>();
        void* memory = nullptr;
        expect(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess, "gone");
      });
}

TEST(Processes, WaitForEachOthersEvents) {
  run_together(
      [](const Wire& wire) {
        const HostInts gate(1), passed(1);
        const Ints values(100);
        const OwnedStream stream;
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
        cudaIpcEventHandle_t handle;
        check(cudaIpcGetEventHandle(&handle, event));
        launch_wait(gate.get(), 1, passed.get(), 1, stream.get());
        launch_add(values.get(), 100, 1, stream.get());
        check(cudaEventRecord(event, stream.get()));
        wire.send(handle);
        wire.send(handle_of(values.get()));
        wire.receive<char>();  // it waits
        gate.put(1);
        wire.receive<char>();
        check(cudaStreamSynchronize(stream.get()));
      },
      [](const Wire& wire) {
        const auto handle = wire.receive<cudaIpcEventHandle_t>();
        int* const values = open(wire.receive<cudaIpcMemHandle_t>());
        cudaEvent_t event = nullptr;
        check(cudaIpcOpenEventHandle(&event, handle));
        expect(cudaEventQuery(event) == cudaErrorNotReady, "not yet");
        const OwnedStream stream;
        int seen = 0;
        check(cudaStreamWaitEvent(stream.get(), event, 0));
        wire.send('w');
        check(cudaStreamSynchronize(stream.get()));
        check(cudaMemcpy(&seen, values, sizeof seen, cudaMemcpyDeviceToHost));
        expect(seen == 1, "the work before the event is done");
        check(cudaEventDestroy(event));
        check(cudaIpcCloseMemHandle(values));
        wire.send('e');
      });
}

TEST(Processes, ThatForkAfterwardsLoseTheirDevices) {
  run_alone([] {
    check(cudaFree(nullptr));
    const pid_t child = fork();
    if (child == 0) {
      void* memory = nullptr;
      _exit(cudaMalloc(&memory, 16) == cudaErrorInitializationError ? 0 : 1);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child is told that it cannot use CUDA");
  });
}

// ---- CUDA_VISIBLE_DEVICES
// --------------------------------------------------------------------------------------------

using Uuids = std::vector<std::array<char, 16>>;

/// What a process sees for a value of the variable; null: not set.
Uuids seen_with(const char* value) {
  Uuids found;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("no socket");
  const pid_t process = start(
      [&](const Wire& wire) {
        if (value) setenv("CUDA_VISIBLE_DEVICES", value, 1);
        int count = 0;
        const cudaError_t result = cudaGetDeviceCount(&count);
        if (result == cudaErrorNoDevice) count = 0;
        wire.send(count);
        for (int d = 0; d < count; ++d) {
          cudaDeviceProp properties;
          check(cudaGetDeviceProperties(&properties, d));
          wire.send(properties.uuid);
        }
      },
      ends[1], ends[0]);
  close(ends[1]);
  const Wire wire(ends[0]);
  const int count = wire.receive<int>();
  for (int d = 0; d < count; ++d) found.push_back(wire.receive<std::array<char, 16>>());
  close(ends[0]);
  waitpid(process, nullptr, 0);
  return found;
}

std::string text_of(const std::array<char, 16>& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid[i]));
    text += digits;
  }
  return text;
}

TEST(VisibleDevices, AreChosenAndOrderedByNumberAndUuid) {
  const Uuids all = seen_with(nullptr);
  if (all.size() < 2) GTEST_SKIP() << "one device";
  EXPECT_EQ(seen_with("1"), Uuids{all[1]});
  EXPECT_EQ(seen_with("1,0"), (Uuids{all[1], all[0]}));
  EXPECT_EQ(seen_with(text_of(all[1]).c_str()), Uuids{all[1]});
  EXPECT_EQ(seen_with((text_of(all[1]) + ",0").c_str()), (Uuids{all[1], all[0]}));
  EXPECT_EQ(seen_with("0,77,1"), Uuids{all[0]}) << "what comes after a number that is none is not seen";
  EXPECT_EQ(seen_with(""), Uuids{});
  EXPECT_EQ(seen_with("-1"), Uuids{});
}

}  // namespace
}  // namespace tutti::emulated::test

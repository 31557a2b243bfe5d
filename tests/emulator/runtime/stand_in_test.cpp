// What is the stand-in's own: these tests do not hold of CUDA's runtime.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

class StandIn : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StandIn, SaysByItsNameThatItIsNoGpu) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "tutti emulated GPU (no NVIDIA hardware)");
}

TEST_F(StandIn, SaysOnceThatItEmulates) {
  EXPECT_EXIT(
      {
        unsetenv("TUTTI_EMULATION_QUIET");
        int count = 0;
        cudaGetDeviceCount(&count);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "stand-in CUDA runtime: emulating [0-9]+ GPU");
}

TEST_F(StandIn, AbortsByNameAtWhatItDoesNotKnow) {
  const auto unknown = [] {
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaMallocArray(&array, &format, 4, 4, 0);
  };
  EXPECT_EXIT(unknown(), testing::KilledBySignal(SIGABRT), "stand-in CUDA runtime does not know cudaMallocArray");
}

TEST_F(StandIn, KeepsTheHostFromDeviceMemory) {
  const Ints memory(4);
  EXPECT_EXIT({ *static_cast<volatile int*>(memory.get()) = 1; }, testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(StandIn, NamesTheSettingThatItDoesNotUnderstand) {
  EXPECT_EXIT(
      {
        setenv("TUTTI_EMULATED_GPUS", "many", 1);
        int count = 0;
        cudaGetDeviceCount(&count);
      },
      testing::KilledBySignal(SIGABRT), "TUTTI_EMULATED_GPUS is 'many': give a number from 0 to 64");
}

TEST_F(StandIn, HasTheDevicesThatAreAskedFor) {
  for (const int wanted : {0, 3, 64})
    EXPECT_EXIT(
        {
          setenv("TUTTI_EMULATED_GPUS", std::to_string(wanted).c_str(), 1);
          int count = -1;
          const cudaError_t result = cudaGetDeviceCount(&count);
          std::exit(count == wanted && result == (wanted == 0 ? cudaErrorNoDevice : cudaSuccess) ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << wanted;
}

TEST_F(StandIn, HasTheMeasuresThatAreAskedFor) {
  EXPECT_EXIT(
      {
        setenv("TUTTI_EMULATED_SMS", "7", 1);
        setenv("TUTTI_EMULATED_ARCHITECTURE", "100", 1);
        setenv("TUTTI_EMULATED_MEMORY", "64", 1);
        cudaDeviceProp is;
        cudaGetDeviceProperties(&is, 0);
        void* memory = nullptr;
        const bool fits = cudaMalloc(&memory, 64 << 20) == cudaSuccess;
        const bool no_more = cudaMalloc(&memory, 1) == cudaErrorMemoryAllocation;
        std::exit(is.multiProcessorCount == 7 && is.major == 10 && is.minor == 0 && fits && no_more ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StandIn, RunsNoPtxOfANewerArchitecture) {
  EXPECT_EXIT(
      {
        setenv("TUTTI_EMULATED_ARCHITECTURE", "75", 1);
        launch_print(1, nullptr);
        std::exit(cudaGetLastError() == cudaErrorNoKernelImageForDevice ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StandIn, SaysWhereAKernelWentWrong) {
  EXPECT_EXIT(
      {
        int* memory = nullptr;
        cudaMalloc(&memory, 400);
        launch_store(memory + 100, nullptr);
        cudaDeviceSynchronize();
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "cudaErrorIllegalAddress: writes 4 bytes at 0x[0-9a-f]+: 0 bytes beyond the end of 400 bytes.*"
      "block 0 thread 0 of .*store.*test_kernels.cu:[0-9]+.*: st.global");
}

}  // namespace
}  // namespace tutti::emulated::test

#include "tests/nccl_programs/world_cuda.hpp"

#include <exception>
#include <thread>

namespace nccl_programs {

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}

void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(call)
                                 .append(": ")
                                 .append(ncclGetErrorString(result))
                                 .append(": ")
                                 .append(ncclGetLastError(nullptr)));
}

int gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

Memory::Memory(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaMalloc(&memory_, bytes_ + 1), "cudaMalloc");
  check(cudaMemset(memory_, 0xa5, bytes_ + 1), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Memory::Memory(int device, std::span<const std::byte> content) : Memory(device, content.size()) {
  check(cudaMemcpy(memory_, content.data(), content.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

Memory::Memory(Memory&& other) noexcept : device_(other.device_), bytes_(other.bytes_), memory_(other.memory_) {
  other.memory_ = nullptr;
}

Memory::~Memory() {
  if (memory_) cudaFree(memory_);
}

std::vector<std::byte> Memory::content() const {
  std::vector<std::byte> bytes(bytes_);
  check(cudaSetDevice(device_), "cudaSetDevice");
  check(cudaMemcpy(bytes.data(), memory_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return bytes;
}

World::World(int ranks, Callers callers) : callers_(callers), comms_(static_cast<std::size_t>(ranks)) {
  check(ncclCommInitAll(comms_.data(), ranks, nullptr), "ncclCommInitAll");
  for (int rank = 0; rank < ranks; ++rank) {
    check(cudaSetDevice(rank), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
}

World::~World() {
  for (const ncclComm_t comm : comms_) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
}

void World::start(const std::function<ncclResult_t(int rank)>& call) const {
  if (callers_ == Callers::one_thread) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < size(); ++rank) check(call(rank), "a call of a group");
    return check(ncclGroupEnd(), "ncclGroupEnd");
  }
  std::vector<std::exception_ptr> errors(comms_.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        check(cudaSetDevice(rank), "cudaSetDevice");
        check(call(rank), "a call");
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

void World::wait() const {
  for (int rank = 0; rank < size(); ++rank) {
    check(cudaSetDevice(rank), "cudaSetDevice");
    check(cudaStreamSynchronize(stream(rank)), "cudaStreamSynchronize");
    ncclResult_t error = ncclSuccess;
    check(ncclCommGetAsyncError(comm(rank), &error), "ncclCommGetAsyncError");
    check(error, "a kernel");
  }
}

void World::run(const std::function<ncclResult_t(int rank)>& call) const {
  start(call);
  wait();
}

void expect_values(const Memory& memory, ncclDataType_t type, std::size_t first, std::span<const double> expected,
                   const std::string& what) {
  const std::vector<double> got = decode(type, memory.content());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(got[first + i], expected[i]) << what << ", " << name_of(type) << ", element " << first + i;
    if (got[first + i] != expected[i]) return;
  }
}

}  // namespace nccl_programs

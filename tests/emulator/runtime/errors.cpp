#include "tests/emulator/runtime/errors.hpp"

#include <unistd.h>

#include <cstdlib>

namespace tutti::emulated {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t noted(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

cudaError_t peek_last_error() { return last_error; }
cudaError_t take_last_error() { return std::exchange(last_error, cudaSuccess); }

void say(const std::string& line) {
  std::string whole = "tutti's stand-in CUDA runtime: ";
  whole += line;
  whole += '\n';
  // One write, so that the lines of several processes do not mix.
  if (write(STDERR_FILENO, whole.data(), whole.size()) < 0) return;
}

void give_up(const std::string& line) {
  say(line);
  std::abort();
}

}  // namespace tutti::emulated

cudaError_t cudaGetLastError() { return tutti::emulated::take_last_error(); }
cudaError_t cudaPeekAtLastError() { return tutti::emulated::peek_last_error(); }

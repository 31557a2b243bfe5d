#pragma once

#include <cuda_runtime_api.h>

#include <exception>
#include <string>
#include <utility>

namespace tutti::emulated {

/// Thrown by everything below the entry points, which return its code.
class Failure : public std::exception {
 public:
  explicit Failure(cudaError_t code) : code_(code) {}
  cudaError_t code() const { return code_; }
  const char* what() const noexcept override { return cudaGetErrorName(code_); }

 private:
  cudaError_t code_;
};

/// What a kernel or a copy did wrong on a device: every later call there returns the code. `what` is printed once.
class DeviceFault : public std::exception {
 public:
  DeviceFault(cudaError_t code, std::string what) : code_(code), what_(std::move(what)) {}
  cudaError_t code() const { return code_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  cudaError_t code_;
  std::string what_;
};

inline void require(bool holds, cudaError_t otherwise) {
  if (!holds) throw Failure(otherwise);
}

/// Remembers an error for cudaGetLastError of this thread, and returns it.
cudaError_t noted(cudaError_t code);
/// What cudaPeekAtLastError says, and cudaGetLastError.
cudaError_t peek_last_error();
cudaError_t take_last_error();

/// One line on stderr that begins with who speaks.
void say(const std::string& line);
/// Says it and aborts: for what the stand-in does not know and for what it finds broken in itself.
[[noreturn]] void give_up(const std::string& line);

}  // namespace tutti::emulated

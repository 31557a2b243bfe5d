#include "trainers/cublas_cuda.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "collectives/tutti.hpp"

namespace tutti::trainers {
namespace {

// Values of cuBLAS's enumerations.
constexpr int kNotTransposed = 0, kTransposed = 1;
constexpr int kDefaultMath = 0;  // arithmetic at least as precise as the operands: no TF32

void check(int status, const char* call) {
  if (status != 0)
    throw Error(ErrorCode::system, fmt::format("{} failed with cuBLAS status {}; the GPU may lack memory, or the "
                                               "library may not fit the driver",
                                               call, status));
}

template <class Entry>
void find(void* library, const std::string& from, const char* name, Entry& entry) {
  entry = reinterpret_cast<Entry>(dlsym(library, name));
  if (!entry) throw Error(ErrorCode::unsupported, fmt::format("{} has no {}", from, name));
}

CublasEntries open_library() {
  // The release that belongs to the runtime this was built with, else whatever is there.
  const std::string first = fmt::format("libcublas.so.{}", CUDART_VERSION / 1000), second = "libcublas.so";
  std::string from = first;
  void* library = dlopen(first.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const why = library ? "" : dlerror();
  const std::string trouble = why ? why : "";
  if (!library) {
    from = second;
    library = dlopen(second.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!library)
    throw Error(ErrorCode::unsupported,
                fmt::format("training on a GPU needs cuBLAS: neither {} nor {} can be opened ({}); install it or add "
                            "its folder to LD_LIBRARY_PATH, or train on the CPU with TUTTI_DEVICE=cpu",
                            first, second, trouble));
  CublasEntries entries{};
  find(library, from, "cublasCreate_v2", entries.create);
  find(library, from, "cublasDestroy_v2", entries.destroy);
  find(library, from, "cublasSetStream_v2", entries.set_stream);
  find(library, from, "cublasSetMathMode", entries.set_math_mode);
  find(library, from, "cublasSgemm_v2", entries.sgemm);
  find(library, from, "cublasDgemm_v2", entries.dgemm);
  return entries;
}

}  // namespace

const CublasEntries& cublas() {
  static const CublasEntries entries = open_library();
  return entries;
}

Cublas::Cublas(cudaStream_t stream) : entries_(cublas()) {
  check(entries_.create(&handle_), "cublasCreate");
  try {
    check(entries_.set_stream(handle_, stream), "cublasSetStream");
    check(entries_.set_math_mode(handle_, kDefaultMath), "cublasSetMathMode");
  } catch (...) {
    entries_.destroy(handle_);
    throw;
  }
}

Cublas::~Cublas() { entries_.destroy(handle_); }

void Cublas::multiply(bool a_transposed, bool b_transposed, int m, int n, int k, const float* a, int lda,
                      const float* b, int ldb, float beta, float* c, int ldc) {
  const float alpha = 1;
  check(entries_.sgemm(handle_, a_transposed ? kTransposed : kNotTransposed,
                       b_transposed ? kTransposed : kNotTransposed, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc),
        "cublasSgemm");
}
void Cublas::multiply(bool a_transposed, bool b_transposed, int m, int n, int k, const double* a, int lda,
                      const double* b, int ldb, double beta, double* c, int ldc) {
  const double alpha = 1;
  check(entries_.dgemm(handle_, a_transposed ? kTransposed : kNotTransposed,
                       b_transposed ? kTransposed : kNotTransposed, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc),
        "cublasDgemm");
}

}  // namespace tutti::trainers

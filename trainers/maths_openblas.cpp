#include <cblas.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "trainers/maths_host.hpp"

// OPENBLAS_CORETYPE is left alone. Forcing another kernel gains up to 15 % on one processor (0.3.21, Zen 4), but the
// variable is also how machines work around kernels that compute wrong results.

namespace tutti::trainers::maths {

void set_threads(int threads) { openblas_set_num_threads(threads); }

void share_cores(int ranks_here) {
  if (std::getenv("OPENBLAS_NUM_THREADS")) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int usable = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  set_threads(std::max(1, usable / std::max(1, ranks_here)));
}

template <class T>
void multiply(Operand a_is, Operand b_is, int m, int n, int k, const T* a, const T* b, bool accumulate, T* c) {
  if (m == 0 || n == 0) return;
  const auto flag = [](Operand o) { return o == Operand::plain ? CblasNoTrans : CblasTrans; };
  const int lda = std::max(1, a_is == Operand::plain ? k : m);
  const int ldb = std::max(1, b_is == Operand::plain ? n : k);
  const T beta = accumulate ? 1 : 0;
  if constexpr (sizeof(T) == sizeof(float)) {
    cblas_sgemm(CblasRowMajor, flag(a_is), flag(b_is), m, n, k, 1, a, lda, b, ldb, beta, c, n);
  } else {
    cblas_dgemm(CblasRowMajor, flag(a_is), flag(b_is), m, n, k, 1, a, lda, b, ldb, beta, c, n);
  }
}

template void multiply<float>(Operand, Operand, int, int, int, const float*, const float*, bool, float*);
template void multiply<double>(Operand, Operand, int, int, int, const double*, const double*, bool, double*);

}  // namespace tutti::trainers::maths

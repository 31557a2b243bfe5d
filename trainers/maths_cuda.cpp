// The GPU's Maths: cuBLAS for products, maths_kernels_cuda.cu for the rest.
#include <cstdlib>

#include "trainers/cublas_cuda.hpp"
#include "trainers/device_cuda.hpp"
#include "trainers/maths.hpp"
#include "trainers/maths_kernels_cuda.hpp"

namespace tutti::trainers {
namespace {

template <class T>
class GpuMaths final : public Maths<T> {
 public:
  GpuMaths() : blas_(device_.stream()), partials_(device_, kernels::kPartials) {
    check_cuda(kernels::load(), "loading the kernels");
    device_.wait();
  }
  Device& device() override { return device_; }

  void multiply(Operand a_is, Operand b_is, int m, int n, int k, const T* a, const T* b, bool accumulate,
                T* c) override {
    if (m == 0 || n == 0) return;
    if (k == 0) {  // a sum of nothing; what the library makes of it is not told
      if (!accumulate) device_.zero(c, sizeof(T) * static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
      return;
    }
    // Read as column-major, each matrix is its own transpose: C' = B' * A'.
    const int lda = a_is == Operand::plain ? k : m, ldb = b_is == Operand::plain ? n : k;
    blas_.multiply(b_is == Operand::transposed, a_is == Operand::transposed, n, m, k, b, ldb, a, lda,
                   accumulate ? T{1} : T{0}, c, n);
  }
  void activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes) override {
    check(kernels::activate(activation, bias, features, rows, values, slopes, stream()), "activate");
  }
  void activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count,
                         T* gradients) override {
    check(kernels::activate_backward(activation, outputs, slopes, count, gradients, stream()), "activate_backward");
  }
  void sum_rows(const T* values, int features, int rows, bool accumulate, T* sums) override {
    check(kernels::sum_rows(values, features, rows, accumulate, sums, stream()), "sum_rows");
  }
  void loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale, T* gradients,
            double* value) override {
    check(kernels::loss(kind, outputs, labels, features, rows, scale, gradients, value, partials_.data(), stream()),
          "loss");
  }
  void store(const double* value, T* to) override { check(kernels::store(value, to, stream()), "store"); }
  void correct(const T* outputs, const std::int32_t* labels, int features, int rows, std::int64_t* hits) override {
    check(kernels::correct(outputs, labels, features, rows, hits, stream()), "correct");
  }
  void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values) override {
    check(kernels::sgd(spec, count, gradients, velocity, values, stream()), "sgd");
  }
  void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second,
             T* values) override {
    check(kernels::adamw(spec, step, count, gradients, first, second, values, stream()), "adamw");
  }
  void gather(const T* set, int features, const std::uint32_t* samples, int count, T* rows) override {
    check(kernels::gather(set, features, samples, count, rows, stream()), "gather");
  }
  void gather_labels(const std::int32_t* set, const std::uint32_t* samples, int count, std::int32_t* labels) override {
    check(kernels::gather(set, 1, samples, count, labels, stream()), "gather_labels");
  }

 private:
  static void check(int result, const char* call) { check_cuda(result, call); }
  void* stream() const { return device_.stream(); }

  GpuDevice device_;
  Cublas blas_;
  Memory<double> partials_;
};

}  // namespace

template <class T>
std::unique_ptr<Maths<T>> gpu_maths() {
  return std::make_unique<GpuMaths<T>>();
}
template std::unique_ptr<Maths<float>> gpu_maths();
template std::unique_ptr<Maths<double>> gpu_maths();

void prepare_for_gpu() { setenv("CUDA_MODULE_LOADING", "EAGER", 0); }

}  // namespace tutti::trainers

#include "trainers/maths_host.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace tutti::trainers {
namespace {

class HostDevice final : public Device {
 public:
  bool on_gpu() const override { return false; }
  std::string name() const override { return "the CPU"; }
  Options options() const override { return {}; }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    constexpr std::align_val_t line{64};
    std::shared_ptr<void> memory(::operator new(bytes, line), [](void* at) { ::operator delete(at, line); });
    zero(memory.get(), bytes);
    return memory;
  }
  void zero(void* to, std::size_t bytes) override { std::memset(to, 0, bytes); }
  void upload(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void wait() override {}

  Options fork(int) override { return {}; }
  void set(Mark&, int) override {}
  void join(const Mark&) override {}

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

template <class T>
class HostMaths final : public Maths<T> {
 public:
  Device& device() override { return device_; }
  void multiply(Operand a_is, Operand b_is, int m, int n, int k, const T* a, const T* b, bool accumulate,
                T* c) override {
    maths::multiply(a_is, b_is, m, n, k, a, b, accumulate, c);
  }
  void activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes) override {
    maths::activate(activation, bias, features, rows, values, slopes);
  }
  void activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count,
                         T* gradients) override {
    maths::activate_backward(activation, outputs, slopes, count, gradients);
  }
  void sum_rows(const T* values, int features, int rows, bool accumulate, T* sums) override {
    maths::sum_rows(values, features, rows, accumulate, sums);
  }
  void loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale, T* gradients,
            double* value) override {
    *value += maths::loss(kind, outputs, labels, features, rows, scale, gradients);
  }
  void store(const double* value, T* to) override { *to = static_cast<T>(*value); }
  void correct(const T* outputs, const std::int32_t* labels, int features, int rows, std::int64_t* hits) override {
    *hits += maths::correct(outputs, labels, features, rows);
  }
  void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values) override {
    maths::sgd(spec, count, gradients, velocity, values);
  }
  void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second,
             T* values) override {
    maths::adamw(spec, step, count, gradients, first, second, values);
  }
  void gather(const T* set, int features, const std::uint32_t* samples, int count, T* rows) override {
    const auto width = static_cast<std::size_t>(features);
    for (int i = 0; i < count; ++i) rows = std::copy_n(set + samples[i] * width, width, rows);
  }
  void gather_labels(const std::int32_t* set, const std::uint32_t* samples, int count, std::int32_t* labels) override {
    for (int i = 0; i < count; ++i) labels[i] = set[samples[i]];
  }

 private:
  HostDevice device_;
};

}  // namespace

template <class T>
Maths<T>& host_maths() {
  static HostMaths<T> maths;
  return maths;
}

template Maths<float>& host_maths();
template Maths<double>& host_maths();

}  // namespace tutti::trainers

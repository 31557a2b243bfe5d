// The GPU's kernels behind Maths: elementwise loops and sums. They are bound by memory, so they are written to be read;
// what the products do not take of a step is theirs. Every sum has an order that depends on the shapes alone.
#include <algorithm>

#include "trainers/maths_kernels_cuda.hpp"

namespace tutti::trainers::kernels {
namespace {

constexpr int kThreads = 256;
/// Enough to fill any GPU; loops take the rest.
constexpr std::size_t kMostBlocks = 1024;

/// Blocks for `count` threads.
unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>(std::clamp<std::size_t>((count + kThreads - 1) / kThreads, 1, kMostBlocks));
}

__device__ std::size_t thread_of_all() { return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::size_t all_threads() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

template <class T, class F>
__device__ void for_each_value(const T* bias, int features, int rows, T* values, F&& f) {
  const std::size_t count = static_cast<std::size_t>(features) * static_cast<std::size_t>(rows);
  for (std::size_t i = thread_of_all(); i < count; i += all_threads())
    f(i, values[i] + (bias ? bias[i / static_cast<std::size_t>(rows)] : T{0}));
}

template <class T>
__global__ void activate_kernel(Activation activation, const T* bias, int features, int rows, T* values, T* slopes) {
  if (activation == Activation::relu)
    for_each_value(bias, features, rows, values, [=](std::size_t i, T x) { values[i] = arithmetic::relu(x); });
  else if (activation == Activation::gelu)
    for_each_value(bias, features, rows, values, [=](std::size_t i, T x) {
      T slope;
      arithmetic::gelu(x, slope);
      values[i] = x;
      slopes[i] = slope;
    });
  else
    for_each_value(bias, features, rows, values, [=](std::size_t i, T x) { values[i] = x; });
}

template <class T>
__global__ void activate_backward_kernel(Activation activation, const T* outputs, const T* slopes, std::size_t count,
                                         T* gradients) {
  for (std::size_t i = thread_of_all(); i < count; i += all_threads())
    gradients[i] =
        activation == Activation::relu ? arithmetic::relu_backward(outputs[i], gradients[i]) : gradients[i] * slopes[i];
}

/// kRowSums threads per feature, in the order that arithmetic.hpp gives.
template <class T>
__global__ void sum_rows_kernel(const T* values, int features, int rows, bool accumulate, T* sums) {
  constexpr int lanes = arithmetic::kRowSums, at_once = kThreads / lanes;
  __shared__ T parts[at_once][lanes];
  const int lane = static_cast<int>(threadIdx.x) % lanes, mine = static_cast<int>(threadIdx.x) / lanes;
  const int whole = rows - rows % lanes;
  // All threads of a block go around together: they meet at barriers.
  for (std::size_t first = static_cast<std::size_t>(blockIdx.x) * at_once; first < static_cast<std::size_t>(features);
       first += static_cast<std::size_t>(gridDim.x) * at_once) {
    const std::size_t f = first + static_cast<std::size_t>(mine);
    const bool exists = f < static_cast<std::size_t>(features);
    const T* const row = values + f * static_cast<std::size_t>(rows);
    T part = 0;
    if (exists)
      for (int i = lane; i < whole; i += lanes) part += row[i];
    parts[mine][lane] = part;
    __syncthreads();
    if (exists && lane == 0) {
      T sum = 0;
      for (int j = 0; j < lanes; ++j) sum += parts[mine][j];
      for (int i = whole; i < rows; ++i) sum += row[i];
      sums[f] = accumulate ? sums[f] + sum : sum;
    }
    __syncthreads();
  }
}

/// The sum of the block's `part`s, halves onto halves; thread 0 has it.
template <class A>
__device__ A sum_of_block(A part) {
  __shared__ A parts[kThreads];
  parts[threadIdx.x] = part;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

template <class T>
__global__ void cross_entropy_kernel(const T* outputs, const std::int32_t* labels, int classes, int rows, T scale,
                                     T* gradients, double* partials) {
  double part = 0;
  for (std::size_t r = thread_of_all(); r < static_cast<std::size_t>(rows); r += all_threads())
    part += arithmetic::cross_entropy(outputs + r, labels[r], classes, static_cast<std::size_t>(rows), scale,
                                      gradients + r);
  const double sum = sum_of_block(part);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

template <class T>
__global__ void mean_square_kernel(const T* outputs, std::size_t count, T factor, T* gradients, double* partials) {
  double part = 0;
  for (std::size_t i = thread_of_all(); i < count; i += all_threads()) {
    const T x = outputs[i];
    part += static_cast<double>(x) * static_cast<double>(x);
    gradients[i] = factor * x;
  }
  const double sum = sum_of_block(part);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// One block.
__global__ void add_partials_kernel(const double* partials, unsigned count, double scale, double* value) {
  const double sum = sum_of_block(threadIdx.x < count ? partials[threadIdx.x] : 0.0);
  if (threadIdx.x == 0) *value += sum * scale;
}
static_assert(kPartials <= kThreads, "a thread for each partial sum");

template <class T>
__global__ void store_kernel(const double* value, T* to) {
  *to = static_cast<T>(*value);
}

/// One block.
template <class T>
__global__ void correct_kernel(const T* outputs, const std::int32_t* labels, int classes, int rows,
                               std::int64_t* hits) {
  std::int64_t part = 0;
  for (std::size_t r = threadIdx.x; r < static_cast<std::size_t>(rows); r += blockDim.x)
    part += arithmetic::answer(outputs + r, classes, static_cast<std::size_t>(rows)) == labels[r];
  const std::int64_t sum = sum_of_block(part);
  if (threadIdx.x == 0) *hits += sum;
}

template <class T>
__global__ void sgd_kernel(T rate, T momentum, std::size_t count, const T* gradients, T* velocity, T* values) {
  for (std::size_t i = thread_of_all(); i < count; i += all_threads())
    arithmetic::sgd(rate, momentum, gradients[i], velocity[i], values[i]);
}

template <class T>
__global__ void adamw_kernel(const arithmetic::AdamFactors<T> factors, std::size_t count, const T* gradients, T* first,
                             T* second, T* values) {
  for (std::size_t i = thread_of_all(); i < count; i += all_threads())
    arithmetic::adamw(factors, gradients[i], first[i], second[i], values[i]);
}

template <class T>
__global__ void gather_kernel(const T* set, std::size_t features, const std::uint32_t* samples, std::size_t elements,
                              T* rows) {
  for (std::size_t i = thread_of_all(); i < elements; i += all_threads())
    rows[i] = set[samples[i / features] * features + i % features];
}

template <class... Kernels>
cudaError_t load_each(Kernels... kernels) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaSuccess;
  ((error == cudaSuccess ? void(error = cudaFuncGetAttributes(&attributes, kernels)) : void()), ...);
  return error;
}
template <class T>
cudaError_t load_for() {
  return load_each(activate_kernel<T>, activate_backward_kernel<T>, sum_rows_kernel<T>, cross_entropy_kernel<T>,
                   mean_square_kernel<T>, add_partials_kernel, store_kernel<T>, correct_kernel<T>, sgd_kernel<T>,
                   adamw_kernel<T>, gather_kernel<T>);
}

cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }
std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

}  // namespace

int load() {
  cudaError_t error = load_for<float>();
  if (error == cudaSuccess) error = load_for<double>();
  return error == cudaSuccess ? load_each(gather_kernel<std::int32_t>) : error;
}

template <class T>
int activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes, void* stream) {
  const std::size_t count = product(features, rows);
  if (count == 0) return cudaSuccess;
  activate_kernel<<<blocks_for(count), kThreads, 0, of(stream)>>>(activation, bias, features, rows, values, slopes);
  return cudaGetLastError();
}

template <class T>
int activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count, T* gradients,
                      void* stream) {
  if (count == 0 || activation == Activation::none) return cudaSuccess;
  activate_backward_kernel<<<blocks_for(count), kThreads, 0, of(stream)>>>(activation, outputs, slopes, count,
                                                                           gradients);
  return cudaGetLastError();
}

template <class T>
int sum_rows(const T* values, int features, int rows, bool accumulate, T* sums, void* stream) {
  if (features == 0) return cudaSuccess;
  const unsigned blocks = blocks_for(product(features, arithmetic::kRowSums));
  sum_rows_kernel<<<blocks, kThreads, 0, of(stream)>>>(values, features, rows, accumulate, sums);
  return cudaGetLastError();
}

template <class T>
int loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale, T* gradients,
         double* value, double* partials, void* stream) {
  const std::size_t count = product(features, rows);
  if (count == 0) return cudaSuccess;
  const bool by_row = kind == Loss::cross_entropy;
  const unsigned blocks = std::min<unsigned>(kPartials, blocks_for(by_row ? static_cast<std::size_t>(rows) : count));
  if (by_row)
    cross_entropy_kernel<<<blocks, kThreads, 0, of(stream)>>>(outputs, labels, features, rows, static_cast<T>(scale),
                                                              gradients, partials);
  else
    mean_square_kernel<<<blocks, kThreads, 0, of(stream)>>>(outputs, count, static_cast<T>(2 * scale), gradients,
                                                            partials);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  add_partials_kernel<<<1, kThreads, 0, of(stream)>>>(partials, blocks, scale, value);
  return cudaGetLastError();
}

template <class T>
int store(const double* value, T* to, void* stream) {
  store_kernel<<<1, 1, 0, of(stream)>>>(value, to);
  return cudaGetLastError();
}

template <class T>
int correct(const T* outputs, const std::int32_t* labels, int features, int rows, std::int64_t* hits, void* stream) {
  if (rows == 0) return cudaSuccess;
  correct_kernel<<<1, kThreads, 0, of(stream)>>>(outputs, labels, features, rows, hits);
  return cudaGetLastError();
}

template <class T>
int sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values, void* stream) {
  if (count == 0) return cudaSuccess;
  sgd_kernel<<<blocks_for(count), kThreads, 0, of(stream)>>>(static_cast<T>(spec.rate), static_cast<T>(spec.momentum),
                                                             count, gradients, velocity, values);
  return cudaGetLastError();
}

template <class T>
int adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second, T* values,
          void* stream) {
  if (count == 0) return cudaSuccess;
  adamw_kernel<<<blocks_for(count), kThreads, 0, of(stream)>>>(arithmetic::AdamFactors<T>(spec, step), count, gradients,
                                                               first, second, values);
  return cudaGetLastError();
}

template <class T>
int gather(const T* set, int features, const std::uint32_t* samples, int count, T* rows, void* stream) {
  const std::size_t elements = product(features, count);
  if (elements == 0) return cudaSuccess;
  gather_kernel<<<blocks_for(elements), kThreads, 0, of(stream)>>>(set, static_cast<std::size_t>(features), samples,
                                                                   elements, rows);
  return cudaGetLastError();
}

#define FOR_TYPE(T)                                                                                         \
  template int activate<T>(Activation, const T*, int, int, T*, T*, void*);                                  \
  template int activate_backward<T>(Activation, const T*, const T*, std::size_t, T*, void*);                \
  template int sum_rows<T>(const T*, int, int, bool, T*, void*);                                            \
  template int loss<T>(Loss, const T*, const std::int32_t*, int, int, double, T*, double*, double*, void*); \
  template int store<T>(const double*, T*, void*);                                                          \
  template int correct<T>(const T*, const std::int32_t*, int, int, std::int64_t*, void*);                   \
  template int sgd<T>(const OptimizerSpec&, std::size_t, const T*, T*, T*, void*);                          \
  template int adamw<T>(const OptimizerSpec&, int, std::size_t, const T*, T*, T*, T*, void*);               \
  template int gather<T>(const T*, int, const std::uint32_t*, int, T*, void*);
FOR_TYPE(float)
FOR_TYPE(double)
template int gather<std::int32_t>(const std::int32_t*, int, const std::uint32_t*, int, std::int32_t*, void*);

}  // namespace tutti::trainers::kernels

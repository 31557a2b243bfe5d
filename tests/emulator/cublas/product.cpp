#include "tests/emulator/cublas/product.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/half.hpp"
#include "tests/emulator/runtime/host_view.hpp"

namespace tutti::emulated {
namespace {

std::size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_32F: return 4;
    default: return 2;
  }
}

/// One matrix of the batch, as the host finds it.
class Operand {
 public:
  Operand(const Product& product, const Matrix& matrix, int rows, int columns, int index, const char* name)
      : matrix_(matrix), rows_(rows), columns_(columns) {
    const auto element = static_cast<long long>(bytes_of(matrix.type));
    const auto* const begin = static_cast<const std::byte*>(matrix.data) + index * matrix.stride * element;
    if (rows == 0 || columns == 0) return;
    const auto bytes =
        static_cast<unsigned long>((static_cast<long long>(matrix.leading) * (columns - 1) + rows) * element);
    place_ = static_cast<std::byte*>(tutti_emulated_host_view(begin, bytes));
    if (place_) return;
    const std::string line = fmt::format("tutti's stand-in cuBLAS: {}: {} of {} x {} at {} reaches beyond memory\n",
                                         product.call, name, rows, columns, static_cast<const void*>(begin));
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) std::abort();
    std::abort();
  }

  /// As a matrix of T: itself if it is one, else a copy.
  template <class T>
  T* as(std::vector<T>& copy) const {
    if (matrix_.type == type_of<T>()) return reinterpret_cast<T*>(place_);
    copy.resize(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_));
    std::size_t to = 0;
    for (int column = 0; column < columns_; ++column)
      for (int row = 0; row < rows_; ++row) copy[to++] = static_cast<T>(value(row, column));
    return copy.data();
  }
  template <class T>
  int leading() const {
    return matrix_.type == type_of<T>() ? matrix_.leading : std::max(rows_, 1);
  }
  /// Rounds what `as` gave back into the matrix.
  template <class T>
  void take(const std::vector<T>& copy) {
    if (matrix_.type == type_of<T>()) return;
    std::size_t from = 0;
    for (int column = 0; column < columns_; ++column)
      for (int row = 0; row < rows_; ++row) put(row, column, copy[from++]);
  }

 private:
  template <class T>
  static constexpr cudaDataType type_of() {
    return sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  }
  std::byte* at(int row, int column) const {
    return place_ + (static_cast<std::size_t>(column) * static_cast<std::size_t>(matrix_.leading) +
                     static_cast<std::size_t>(row)) *
                        bytes_of(matrix_.type);
  }
  template <class T>
  static T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  double value(int row, int column) const {
    const std::byte* const from = at(row, column);
    switch (matrix_.type) {
      case CUDA_R_16F: return to_float(read<f16>(from));
      case CUDA_R_16BF: return to_float(read<bf16>(from));
      case CUDA_R_32F: return read<float>(from);
      default: return read<double>(from);
    }
  }
  template <class T>
  void put(int row, int column, T value) const {
    std::byte* const to = at(row, column);
    const auto store = [to](auto rounded) { std::memcpy(to, &rounded, sizeof rounded); };
    switch (matrix_.type) {
      case CUDA_R_16F: return store(from_float<f16>(static_cast<float>(value)));
      case CUDA_R_16BF: return store(from_float<bf16>(static_cast<float>(value)));
      case CUDA_R_32F: return store(static_cast<float>(value));
      default: return store(static_cast<double>(value));
    }
  }

  const Matrix& matrix_;
  int rows_, columns_;
  std::byte* place_ = nullptr;
};

void multiply(CBLAS_TRANSPOSE a_is, CBLAS_TRANSPOSE b_is, int m, int n, int k, double alpha, const float* a, int lda,
              const float* b, int ldb, double beta, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, a_is, b_is, m, n, k, static_cast<float>(alpha), a, lda, b, ldb, static_cast<float>(beta),
              c, ldc);
}
void multiply(CBLAS_TRANSPOSE a_is, CBLAS_TRANSPOSE b_is, int m, int n, int k, double alpha, const double* a, int lda,
              const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, a_is, b_is, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
double scalar(const void* at, double otherwise) {
  if (!at) return otherwise;
  const void* const place = tutti_emulated_host_view(at, sizeof(T));
  if (!place) std::abort();
  T value;
  std::memcpy(&value, place, sizeof value);
  return static_cast<double>(value);
}

template <class T>
void compute_as(const Product& p) {
  const double alpha = scalar<T>(p.alpha_at, p.alpha), beta = scalar<T>(p.beta_at, p.beta);
  const auto form = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  for (int index = 0; index < p.batch; ++index) {
    const Operand a(p, p.a, p.a_transposed ? p.inner : p.rows, p.a_transposed ? p.rows : p.inner, index, "A");
    const Operand b(p, p.b, p.b_transposed ? p.columns : p.inner, p.b_transposed ? p.inner : p.columns, index, "B");
    Operand c(p, p.c, p.rows, p.columns, index, "C");
    if (p.rows == 0 || p.columns == 0) continue;
    std::vector<T> a_copy, b_copy, c_copy;
    T* const result = c.as<T>(c_copy);
    multiply(form(p.a_transposed), form(p.b_transposed), p.rows, p.columns, p.inner, alpha, a.as<T>(a_copy),
             a.leading<T>(), b.as<T>(b_copy), b.leading<T>(), beta, result, c.leading<T>());
    c.take(c_copy);
  }
}

}  // namespace

void compute(const Product& product) {
  if (product.in_double)
    compute_as<double>(product);
  else
    compute_as<float>(product);
}

}  // namespace tutti::emulated

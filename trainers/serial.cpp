#include "trainers/serial.hpp"

namespace tutti::trainers {

template <class T>
SerialTrainer<T>::SerialTrainer(Maths<T>& maths, const TrainerSpec& spec)
    : Trainer<T>(maths, spec, pieces_of(spec.mlp, Parallel::serial, 0, 1),
                 Memory<T>(maths.device(), static_cast<std::size_t>(spec.mlp.parameters()))),
      feed_(maths, spec.batch),
      stack_(maths, *this->parameters_, spec.batch),
      pass_(stack_.make_pass()),
      inputs_(maths.device(), elements(spec.mlp.widths.front(), spec.batch)),
      labels_(maths.device(), static_cast<std::size_t>(spec.batch)),
      result_gradients_(maths.device(), elements(spec.mlp.widths.back(), spec.batch)),
      loss_(maths.device(), 1),
      hits_(maths.device(), 1) {}

template <class T>
void SerialTrainer<T>::forward(const Batch<T>& batch) {
  feed_.read(*batch.data, batch.samples, inputs_.data());
  feed_.read_labels(*batch.data, batch.samples, labels_.data());
  stack_.forward(pass_, {inputs_.data(), true}, batch.rows());
}

template <class T>
void SerialTrainer<T>::enqueue_gradients(const Batch<T>& batch) {
  const int features = stack_.features();
  forward(batch);
  this->device().zero(loss_.data(), sizeof(double));
  this->maths_.loss(this->spec_.loss, pass_.result(), labels_.data(), features, batch.rows(),
                    loss_scale(this->spec_.loss, batch.rows(), features), result_gradients_.data(), loss_.data());
  stack_.backward(pass_, false, result_gradients_.data(), nullptr);
}

template <class T>
std::int64_t SerialTrainer<T>::correct(const Batch<T>& batch) {
  forward(batch);
  this->device().zero(hits_.data(), sizeof(std::int64_t));
  this->maths_.correct(pass_.result(), labels_.data(), stack_.features(), batch.rows(), hits_.data());
  return this->download(hits_.data());
}

template class SerialTrainer<float>;
template class SerialTrainer<double>;

}  // namespace tutti::trainers
